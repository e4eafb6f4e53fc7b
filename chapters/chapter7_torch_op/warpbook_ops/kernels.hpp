/// \file
/// The kernels as the operators see them: functions of a library with a C interface, which is loaded when asked for.
///
/// There are two such libraries, made of the same sources: one for CUDA tensors, made by nvcc, and one for CPU tensors,
/// in which the emulator runs the kernels. Both define the same names, and the emulator defines CUDA's own besides, so
/// each is loaded into a scope of its own and asked for its functions one by one.
#pragma once

#include <c10/core/DeviceType.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace warpbook_ops {

/// A library's functions: see tests/chapters/peers/*_c.cu and ../kernels.cu. Each int is a cudaError_t.
struct Kernels {
  int (*add)(void* z, const void* x, const void* y, int type, std::int64_t count, void* stream);
  int (*multiply)(void* z, const void* x, const void* y, int type, std::int64_t count, void* stream);
  int (*multiply_add)(void* z, const void* x, const void* y, const void* w, int type, std::int64_t count, void* stream);
  int (*scale)(void* z, const void* x, const void* factor, int type, std::int64_t count, void* stream);
  int (*make_contiguous)(void* dst, const void* src, int dims, const std::int64_t* sizes, const std::int64_t* strides,
                         std::int64_t offset, int element_bytes, void* stream);
  int (*write_into_view)(void* dst, const void* src, int dims, const std::int64_t* sizes, const std::int64_t* strides,
                         std::int64_t offset, int element_bytes, void* stream);
  int (*permute)(void* dst, const void* src, int rank, const std::int64_t* shape, const int* permutation,
                 int element_bytes, void* stream);
  int (*scatter_add)(void* workspace, std::size_t* workspace_bytes, void* dst, const void* value, const void* index,
                     std::int64_t count, std::int64_t places, int type, int index_bytes, void* stream);
  int (*inner_product)(void* workspace, std::size_t* workspace_bytes, void* dst, const void* a, const void* b,
                       std::int64_t count, int type, void* stream);
  int (*index_add)(void* workspace, std::size_t* workspace_bytes, void* dst, const std::int64_t* index, const void* src,
                   int type, int dims, const std::int64_t* sizes, const std::int64_t* dst_strides,
                   const std::int64_t* src_strides, int dim, std::int64_t entries, double alpha,
                   std::int64_t alpha_integer, void* stream);
  int (*upsample_nearest)(void* out, const void* in, const std::int64_t* sizes, const double* scales, int channels_last,
                          int backward, int type, void* stream);
  const char* (*error_text)(int error);
  int (*register_host)(void* memory, std::size_t bytes);
  int (*release_host)(void* memory);
  int (*synchronize)();
};

/// Loads the library for tensors of "cuda" or "cpu". \throws c10::Error
void load_kernels(const std::string& device, const std::string& path);

/// The functions for tensors of a type of device. \throws c10::Error with one line where they are not loaded.
const Kernels& kernels_for(c10::DeviceType device);

}  // namespace warpbook_ops
