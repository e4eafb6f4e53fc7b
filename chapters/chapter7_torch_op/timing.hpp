/// \file
/// Ways to time a kernel, right and wrong ones: chapter 7's steps.
///
/// Each takes its samples as a program would that knows no better: ten launches to warm up, and then one sample after
/// the other. What a way reads is compared with what the device needs for a launch, found by graphs of many launches.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/harness/results.hpp"

namespace warpbook::chapter7 {

/// What add2 adds.
enum class Type { float32, half, bfloat16 };

/// c = a + b on the stream: chapter 1's kernel. `count` elements each, in device memory.
cudaError_t launch_add2(void* c, const void* a, const void* b, Type type, std::int64_t count, cudaStream_t stream);

/// One way to time.
struct Way {
  std::string version;   ///< "v1".
  std::string name;      ///< "synchronize_twice".
  std::string base;      ///< The way that it was made from; empty for the first.
  std::string idea;      ///< One sentence: what is done.
  std::string measures;  ///< What the reading is made of.
  bool host_clock;       ///< It reads the host's clock, not the device's.
  bool cold;             ///< The arrays are not in the L2 beforehand.
};

/// All of them, in the chapter's order.
const std::vector<Way>& ways();

/// What one way read.
struct Reading {
  const Way* way = nullptr;
  std::vector<double> seconds;  ///< One after the other, as they came.
};

/// One input, timed in every way.
struct Study {
  std::int64_t count = 0;
  Type type = Type::float32;
  std::vector<Reading> readings;
  double warm_seconds = 0;     ///< Of one launch whose arrays are in the L2, by a graph of many.
  double cold_seconds = 0;     ///< Of one launch whose arrays are not.
  std::int64_t wrong = 0;      ///< Elements of c that are not a + b afterwards.
  std::int64_t bytes() const;  ///< That the operation moves.
};

/// Times add2 of `count` elements. \throws CudaError, TooLittleMemory
Study study(std::int64_t count, Type type, int samples, std::uint64_t seed, const DeviceInfo& device);

}  // namespace warpbook::chapter7
