/// \file
/// Take-away headers on arrays beyond 2^31 elements and 4 GiB: what the checks share.
///
/// A check makes its inputs on the device from a formula of the element's place, calls the header, and compares every
/// element of the result on the device with what the formula says, in 64-bit arithmetic and by the simplest kernel
/// there can be. Parts of the result (both ends, around 2^31 and 2^32, random places) are compared on the host as well.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/cuda/error.hpp"
#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"
#include "tests/chapters/size/checks.hpp"

namespace warpbook::size {

/// Splitmix64's finisher: 64 bits that look random, from a place.
__host__ __device__ inline std::uint64_t mix(std::int64_t place) {
  std::uint64_t z = static_cast<std::uint64_t>(place) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

/// Random bits of a type.
template <class T> struct Bits {
  __host__ __device__ T operator()(std::int64_t i) const { return static_cast<T>(mix(i) >> 24U); }
};

/// -1, 0 or 1: sums of any billions of them in any order stay below 2^24 for as good as certain, where floats are
/// exact.
struct SmallValue {
  std::int64_t salt = 0;
  __host__ __device__ int operator()(std::int64_t i) const { return static_cast<int>((mix(i ^ salt) >> 20U) % 3) - 1; }
};

constexpr int kThreads = 256;

inline std::int64_t blocks_for(std::int64_t count) {
  return std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, 1 << 16);
}

template <class T, class Value> __global__ void fill_kernel(T* out, std::int64_t count, Value value) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = static_cast<T>(value(i));
  }
}

/// result[0]: how many differ; result[1]: the first of them.
template <class T, class Expect>
__global__ void compare_kernel(unsigned long long* result, const T* actual, std::int64_t count, Expect expect) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (actual[i] == static_cast<T>(expect(i))) continue;
    atomicAdd(result, 1ULL);
    atomicMin(result + 1, static_cast<unsigned long long>(i));
  }
}

/// An array on the device. Its bytes are 0xff at first: what nobody writes is wrong.
template <class T> class Array {
public:
  explicit Array(std::int64_t count) : count_(count), bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    check(cudaMemset(bytes_.data(), 0xff, bytes_.bytes()), "poisoning an array");
  }
  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  std::int64_t count() const { return count_; }
  void zero() const { check(cudaMemset(bytes_.data(), 0, bytes_.bytes()), "clearing an array"); }
  template <class Value> const Array& fill(Value value) const {
    check(launch(fill_kernel<T, Value>, {.grid = blocks_for(count_), .block = kThreads}, data(), count_, value),
          "filling an array");
    return *this;
  }

private:
  std::int64_t count_;
  DeviceBuffer bytes_;
};

/// Begins of parts that the host looks at: both ends, around 2^31 and 2^32, and random ones.
inline std::vector<std::int64_t> sampled_parts(std::int64_t count, std::int64_t part) {
  std::vector<std::int64_t> begins{0, count - part};
  for (const std::int64_t edge : {std::int64_t{1} << 31U, std::int64_t{1} << 32U}) begins.push_back(edge - part / 2);
  for (std::int64_t i = 0; i < 60; ++i) begins.push_back(static_cast<std::int64_t>(mix(-i - 1) >> 1U) % count);
  for (std::int64_t& begin : begins)
    begin = std::clamp<std::int64_t>(begin, 0, std::max<std::int64_t>(count - part, 0));
  return begins;
}

/// Compares on the device.
template <class T, class Expect> void compare_all(Outcome& outcome, const Array<T>& actual, Expect expect) {
  const Array<unsigned long long> result(2);
  check(cudaMemset(result.data(), 0, 8), "clearing a counter");
  check(launch(compare_kernel<T, Expect>, {.grid = blocks_for(actual.count()), .block = kThreads}, result.data(),
               static_cast<const T*>(actual.data()), actual.count(), expect),
        "comparing");
  unsigned long long found[2] = {};
  check(cudaMemcpy(found, result.data(), sizeof(found), cudaMemcpyDeviceToHost), "reading what was found");
  outcome.wrong += static_cast<std::int64_t>(found[0]);
  if (found[0] > 0) outcome.first = static_cast<std::int64_t>(found[1]);
  if (actual.count() > outcome.elements) {
    outcome.elements = actual.count();
    outcome.bytes = actual.count() * static_cast<std::int64_t>(sizeof(T));
  }
}

/// Compares parts on the host.
template <class T, class Expect> void compare_parts(Outcome& outcome, const Array<T>& actual, Expect expect) {
  const std::int64_t part = std::min<std::int64_t>(4096, actual.count());
  std::vector<T> elements(static_cast<std::size_t>(part));
  for (const std::int64_t begin : sampled_parts(actual.count(), part)) {
    check(cudaMemcpy(elements.data(), actual.data() + begin, elements.size() * sizeof(T), cudaMemcpyDeviceToHost),
          "reading a part");
    for (std::int64_t i = 0; i < part; ++i) {
      outcome.wrong_samples += elements[static_cast<std::size_t>(i)] == static_cast<T>(expect(begin + i)) ? 0 : 1;
    }
    outcome.sampled += part;
  }
}

}  // namespace warpbook::size
