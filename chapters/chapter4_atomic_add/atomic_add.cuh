/// \file
/// atomic_add: sums into chosen places, and the inner product. The take-away of chapter 4.
///
/// On the device, `fast_atomic_add(base, index, length, value)`: see common/cuda/fast_atomic_add.cuh. From the host:
///
///     std::size_t bytes = 0;
///     warpbook::scatter_add(nullptr, bytes, dst, value, index, count, places, stream);         // how much workspace?
///     cudaMallocAsync(&workspace, bytes, stream);                                               // or any other way
///     warpbook::scatter_add(workspace, bytes, dst, value, index, count, places, stream);
#pragma once

#include "chapters/chapter4_atomic_add/v9_dispatch.cuh"
#include "common/cuda/fast_atomic_add.cuh"

namespace warpbook {

namespace detail {

template <class T> inline constexpr bool kIsSummed = false;
template <> inline constexpr bool kIsSummed<float> = true;
template <> inline constexpr bool kIsSummed<__half> = true;
template <> inline constexpr bool kIsSummed<__nv_bfloat16> = true;

template <class T> constexpr chapter4::ElementType element_type() {
  using chapter4::ElementType;
  return std::is_same_v<T, float>    ? ElementType::float32
         : std::is_same_v<T, __half> ? ElementType::half
                                     : ElementType::bfloat16;
}

/// Whether `needed` bytes are there, aligned.
inline bool workspace_suffices(const void* workspace, std::size_t bytes, std::size_t needed) {
  return bytes >= needed && reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
}

template <class T> bool usable(const T* array, std::int64_t elements) {
  return elements == 0 || (array != nullptr && reinterpret_cast<std::uintptr_t>(array) % sizeof(T) == 0);
}

}  // namespace detail

/// dst[index[i]] += value[i] for i from 0 to count - 1, as `dst.scatter_add_(0, index, value)` of one dimension.
///
/// Few values for many places, and values for more places than two blocks' shared memory has room for, are added by an
/// atomic operation in T each; others are added up in float, and for half and bfloat16 rounded once (the table
/// `chapter4::v9::kRules`). The order of additions is not fixed, so that the last bits may change from run to run, and
/// denormal floats may count as zero. An index outside 0 to places - 1 is left out: nothing outside dst changes.
///
/// \tparam T half, bfloat16 or float. \tparam Index int32 or int64.
/// \param workspace device memory, aligned to 256 bytes; what it holds does not matter, before or after. nullptr: only
///        workspace_bytes is set, to what the other arguments need, 1 at least; arrays are not looked at.
/// \param workspace_bytes size of the workspace: at least what the call with nullptr set. At most 4 bytes per
///        place, for half and bfloat16 and up to 112,000 places.
/// \param dst `places` elements. \param value, index `count` elements. Device memory, aligned to the element at least,
///        not overlapping one another or the workspace.
/// \param count values and indices. \param places elements of dst; both 0 to 2^40.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
/// \return cudaErrorInvalidValue for a negative size or one above 2^40, a null or misaligned array with elements, and a
///         workspace that is too small or misaligned; else what CUDA says of the launches.
template <class T, class Index>
cudaError_t scatter_add(void* workspace, std::size_t& workspace_bytes, T* dst, const T* value, const Index* index,
                        std::int64_t count, std::int64_t places, cudaStream_t stream) {
  static_assert(detail::kIsSummed<T>, "half, bfloat16 and float can be added");
  static_assert(std::is_integral_v<Index> && std::is_signed_v<Index> && (sizeof(Index) == 4 || sizeof(Index) == 8),
                "an index has 32 or 64 bits and a sign");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (count < 0 || places < 0 || count > kMost || places > kMost) return cudaErrorInvalidValue;
  const chapter4::ScatterProblem problem{detail::element_type<T>(), static_cast<int>(sizeof(Index)), count, places};
  const std::size_t needed = chapter4::v9::scatter_scratch_bytes(problem);
  if (workspace == nullptr) {
    workspace_bytes = needed > 1 ? needed : 1;
    return cudaSuccess;
  }
  if (!detail::workspace_suffices(workspace, workspace_bytes, needed) || !detail::usable(dst, places) ||
      !detail::usable(value, count) || !detail::usable(index, count)) {
    return cudaErrorInvalidValue;
  }
  using Signed = std::conditional_t<sizeof(Index) == 4, std::int32_t, std::int64_t>;
  return chapter4::v9::run_scatter<T, Signed>(problem, {dst, value, index, workspace}, stream);
}

/// dst[0] = a[0] * b[0] + ... + a[count - 1] * b[count - 1], as `torch.dot`: products and sum in float, rounded to T
/// once. The same arrays give the same bits each time on one device.
///
/// \tparam T half, bfloat16 or float.
/// \param workspace, workspace_bytes as for `scatter_add`; 16 KiB are always enough.
/// \param dst one element. \param a, b `count` elements; may be one array. Device memory, aligned to the element at
///        least (to 16 bytes for the most speed).
/// \param count products, 0 to 2^40.
/// \param stream where the work is queued. The call does not wait, allocates nothing, and can be captured in a graph.
/// \return cudaErrorInvalidValue for a negative count or one above 2^40, a null or misaligned array with elements, and
///         a workspace that is too small or misaligned; else what CUDA says of the launches.
template <class T>
cudaError_t inner_product(void* workspace, std::size_t& workspace_bytes, T* dst, const T* a, const T* b,
                          std::int64_t count, cudaStream_t stream) {
  static_assert(detail::kIsSummed<T>, "half, bfloat16 and float can be added");
  if (count < 0 || count > std::int64_t{1} << 40) return cudaErrorInvalidValue;
  if (workspace == nullptr) {
    workspace_bytes = chapter4::kInnerScratchBytes;
    return cudaSuccess;
  }
  if (!detail::workspace_suffices(workspace, workspace_bytes, chapter4::kInnerScratchBytes) ||
      !detail::usable(dst, 1) || !detail::usable(a, count) || !detail::usable(b, count)) {
    return cudaErrorInvalidValue;
  }
  const chapter4::InnerProblem problem{detail::element_type<T>(), count, alignment_of(a, b)};
  return chapter4::v8::inner_product_as<T>(problem, {dst, a, b, workspace}, false, stream);
}

}  // namespace warpbook
