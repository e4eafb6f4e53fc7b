/// \file
/// clocks: four ways to ask how long a launch takes, on a timeline that two_clocks.hpp draws. The kernel below is what
/// the launches stand for.
#pragma once

#include "chapters/chapter7_torch_op/practice/two_clocks.hpp"
#include "common/cuda/launch.cuh"

namespace warpbook::chapter7::clocks {

/// By the host's clock: what one launch keeps the host busy for.
inline double time_of_launch(Timeline& t) {
  //! [exercise time_of_launch]
  const double begin = t.now();
  t.launch();
  return t.now() - begin;
  //! [exercise time_of_launch]
}

/// By the host's clock: from before one launch until the host knows that its kernel is done, and nobody else's work.
inline double time_until_done(Timeline& t) {
  //! [exercise time_until_done]
  t.synchronize();
  const double begin = t.now();
  t.launch();
  t.synchronize();
  return t.now() - begin;
  //! [exercise time_until_done]
}

/// By two events: what one launch takes on the device.
inline double time_of_kernel(Timeline& t) {
  //! [exercise time_of_kernel]
  const int begin = t.record();
  t.launch();
  const int end = t.record();
  t.synchronize();
  return t.elapsed(begin, end);
  //! [exercise time_of_kernel]
}

/// By the clock around the operator, as Python's: what one call keeps the host busy for.
inline double time_of_call(Timeline& t) {
  //! [exercise time_of_call]
  const double begin = t.now();
  t.call();
  return t.now() - begin;
  //! [exercise time_of_call]
}

template <class T>
__global__ void add_kernel(T* __restrict__ c, const T* __restrict__ a, const T* __restrict__ b, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <class T> cudaError_t run(T* c, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  return launch(add_kernel<T>, {.grid = ceil_div<std::int64_t>(n, 256), .block = 256, .stream = stream}, c, a, b, n);
}

}  // namespace warpbook::chapter7::clocks
