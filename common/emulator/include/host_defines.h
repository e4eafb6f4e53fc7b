/// \file
/// CUDA's qualifiers, as they mean something to a C++ compiler.
#pragma once

#define CUDARTAPI
#define CUDART_CB

#ifdef __clang__
// The compiler pass reads the annotations: what is called from where, and which arithmetic is a GPU's.
#define __host__ __attribute__((annotate("warpbook-host")))
#define __device__ __attribute__((annotate("warpbook-device")))
#define __global__ __attribute__((annotate("warpbook-global")))
#define WARPBOOK_SHARED __attribute__((annotate("warpbook-shared")))
#define WARPBOOK_CONSTANT __attribute__((annotate("warpbook-constant")))
#define WARPBOOK_MANAGED __attribute__((annotate("warpbook-managed")))
#define __launch_bounds__(...) __attribute__((annotate("warpbook-bounds", __VA_ARGS__)))
#define __cluster_dims__(...) __attribute__((annotate("warpbook-cluster", __VA_ARGS__)))
#else
#define WARPBOOK_MANAGED
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define WARPBOOK_SHARED
#define WARPBOOK_CONSTANT
#define __host__
#define __device__
#define __global__
#endif
#define __forceinline__ inline __attribute__((always_inline))
// libstdc++ says __attribute__((__noinline__)): the name has to stay a word that may stand there.
#define __noinline__
#define __maxnreg__(...)
// nvcc with --extended-lambda answers these; here such a lambda is as any other.
#define __nv_is_extended_device_lambda_closure_type(...) false
#define __nv_is_extended_device_lambda_with_preserved_return_type(...) false
#define __nv_is_extended_host_device_lambda_closure_type(...) false
#define __block_size__(threads)  // One argument: a second one would be a cluster, and launches would count those.
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
// No destructor: it would run with the block's thread, and nvcc takes none.
/// A block never leaves its operating system thread, so what each thread has of its own is what a block shares.
#define __shared__ __attribute__((no_destroy)) static thread_local WARPBOOK_SHARED
#ifdef WARPBOOK_WHOLE_PROGRAM  // Without -rdc, a file has constants of its own, whatever their names are elsewhere.
#define __constant__ __device__ WARPBOOK_CONSTANT __attribute__((internal_linkage, used))
#else
#define __constant__ __device__ WARPBOOK_CONSTANT
#endif
#define __managed__ __device__ WARPBOOK_MANAGED
#define __builtin_align__(bytes) __align__(bytes)
