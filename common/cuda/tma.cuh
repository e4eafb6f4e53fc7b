/// \file
/// Hopper's tensor copies (TMA): a thread names a box of a tensor, and the copy engine fetches it into shared memory.
///
/// Needs compute capability 9.0 and a driver that knows `cuTensorMapEncodeTiled`; `tensor_copies_missing` says why a
/// device has none. They are not emulated. Source: CUDA C++ Programming Guide, "Tensor Memory Access".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#ifndef WARPBOOK_EMULATED
#include <cudaTypedefs.h>
#endif

namespace warpbook {

#ifdef WARPBOOK_EMULATED

/// Why the current device has no tensor copies; nullptr where it has.
inline const char* tensor_copies_missing() { return "tensor copies (TMA) are not emulated"; }

#else

namespace detail {

/// The driver's encoder, or nullptr. It is asked for at run time, so that nobody has to link the driver's library.
inline PFN_cuTensorMapEncodeTiled_v12000 tensor_map_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

}  // namespace detail

/// Why the current device has no tensor copies; nullptr where it has.
inline const char* tensor_copies_missing() {
  int device = 0;
  int major = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 9) {
    return "tensor copies (TMA) need compute capability 9.0";
  }
  return detail::tensor_map_encoder() == nullptr ? "the driver knows no tensor maps" : nullptr;
}

/// Describes a batch of row-major matrices as bytes, and boxes of it that land in shared memory in rows of 128 bytes,
/// whose 16-byte chunks are swizzled: chunk c of row r stands at c XOR (r mod 8). What lies outside the tensor arrives
/// as zeros.
/// \param map is set. \param base aligned to 16 bytes. \param row_bytes, rows, batch the tensor's extents, rows a
/// multiple of 16 bytes.
/// \param box_rows rows of a box, at most 256.
/// \return cudaErrorInvalidValue where the driver refuses the tensor, cudaErrorNotSupported where there is no encoder.
inline cudaError_t make_swizzled_row_map(CUtensorMap& map, const void* base, std::uint64_t row_bytes,
                                         std::uint64_t rows, std::uint64_t batch, std::uint32_t box_rows) {
  const auto encode = detail::tensor_map_encoder();
  if (encode == nullptr) return cudaErrorNotSupported;
  const cuuint64_t extents[3] = {row_bytes, rows, batch};
  const cuuint64_t strides[2] = {row_bytes, row_bytes * rows};
  const cuuint32_t box[3] = {128, box_rows, 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<void*>(base), extents, strides, box,
                                 steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

/// A barrier in shared memory on which threads wait for copied bytes (`mbarrier`).
using CopyBarrier = std::uint64_t;

/// Prepares the barrier for one phase. One thread calls it; the block synchronises before anyone uses the barrier.
__device__ __forceinline__ void init_copy_barrier(CopyBarrier* barrier) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Says how many bytes the phase waits for. One thread calls it, before the copies.
__device__ __forceinline__ void expect_copied_bytes(CopyBarrier* barrier, std::uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
#endif
}

/// Starts the copy of the box at (byte, row, batch) to `destination`, aligned to 1024 bytes. One thread calls it.
__device__ __forceinline__ void copy_box(void* destination, const CUtensorMap* map, int byte, int row, int batch,
                                         CopyBarrier* barrier) {
#if __CUDA_ARCH__ >= 900
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(destination));
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(map), "r"(address), "r"(byte), "r"(row), "r"(batch)
      : "memory");
#endif
}

/// Waits until phase 0's bytes have arrived.
__device__ __forceinline__ void wait_for_copies(CopyBarrier* barrier) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(barrier));
  std::uint32_t done = 0;
  while (done == 0) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(done)
                 : "r"(address)
                 : "memory");
  }
#endif
}

#endif

}  // namespace warpbook
