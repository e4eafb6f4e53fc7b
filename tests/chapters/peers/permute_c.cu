/// \file
/// The amalgamated permute.cuh as a shared library with a C interface, for peers.py.
#include "permute.cuh"

#include <cstddef>
#include <cstdint>
#include <new>

/// \param shape,permutation `rank` values each, as in `torch.permute` of a contiguous tensor.
/// \param stream a cudaStream_t.
/// \return a cudaError_t.
extern "C" int warpbook_permute(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,
                                int element_bytes, void* stream) {
  return static_cast<int>(
      warpbook::permute(dst, src, rank, shape, permutation, element_bytes, static_cast<cudaStream_t>(stream)));
}

/// Bytes of a plan.
extern "C" int warpbook_permute_plan_bytes() { return static_cast<int>(sizeof(warpbook::PermutePlan)); }

/// Makes a plan.
/// \param plan warpbook_permute_plan_bytes() of memory, aligned to 16.
/// \param flush `flush_bytes` of device memory that is overwritten.
/// \return a cudaError_t.
extern "C" int warpbook_permute_plan(void* plan, void* dst, const void* src, int rank, const std::int64_t* shape,
                                     const int* permutation, int element_bytes, void* flush, std::size_t flush_bytes,
                                     void* stream) {
  auto* made = new (plan) warpbook::PermutePlan;
  return static_cast<int>(warpbook::plan_permute(*made, dst, src, rank, shape, permutation, element_bytes, flush,
                                                 flush_bytes, static_cast<cudaStream_t>(stream)));
}

/// The name of a plan's kernel, or nullptr where it is the one that warpbook_permute takes.
extern "C" const char* warpbook_permute_planned_kernel(const void* plan) {
  const auto* candidate = static_cast<const warpbook::PermutePlan*>(plan)->choice.candidate;
  return candidate == nullptr ? nullptr : candidate->name.c_str();
}

/// Permutes as planned. \return a cudaError_t.
extern "C" int warpbook_permute_planned(void* dst, const void* src, const void* plan, void* stream) {
  return static_cast<int>(
      warpbook::permute(*static_cast<const warpbook::PermutePlan*>(plan), dst, src, static_cast<cudaStream_t>(stream)));
}
