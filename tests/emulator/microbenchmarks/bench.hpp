/// \file
/// What the microbenchmarks measure with: medians of event times around launches, on a stream that is held busy until
/// the host has enqueued everything.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/cuda/launch.cuh"
#include "common/cuda/resources.hpp"

namespace warpbook::microbenchmarks {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

/// What is in the L2 before a sample.
enum class L2 {
  cold,  ///< nothing of the benchmark's: another buffer was written over all of it
  warm   ///< what the launch before left there
};

/// The device and the means to time it.
class Bench {
public:
  Bench();

  /// Seconds of what `enqueue(cudaStream_t)`, which returns a cudaError_t, puts on the stream: a median.
  template <class F> double seconds(F&& enqueue, L2 l2 = L2::cold, int samples = 9) const {
    check(enqueue(stream_.get()), "warming up");
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
      prepare(l2);
      start_.record(stream_);
      check(enqueue(stream_.get()), "launching");
      stop_.record(stream_);
      stream_.synchronize();
      times.push_back(stop_.seconds_since(start_));
    }
    return median(times);
  }

  /// Seconds of one of `launches` launches in a graph, made by `enqueue(i, cudaStream_t)`.
  template <class F> double graph_seconds(int launches, F&& enqueue, L2 l2 = L2::warm) const {
    const Graph graph = Graph::capture(stream_, [&](cudaStream_t stream) {
      cudaError_t error = cudaSuccess;
      for (int i = 0; i < launches && error == cudaSuccess; ++i) error = enqueue(i, stream);
      return error;
    });
    const auto launch_graph = [&](cudaStream_t) {
      graph.launch(stream_);
      return cudaSuccess;
    };
    return seconds(launch_graph, l2) / launches;
  }

  /// Device memory, every word of it set to `word`.
  DeviceBuffer buffer(std::size_t bytes, unsigned word = 0) const;

  int multiprocessors() const { return multiprocessors_; }
  /// Clocks a second of the multiprocessors while they are busy: measured.
  double clock_hertz() const { return clock_hertz_; }
  const Stream& stream() const { return stream_; }

private:
  static double median(std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
  void prepare(L2 l2) const;

  Stream stream_;
  Event start_;
  Event stop_;
  DeviceBuffer flush_;
  int multiprocessors_ = 0;
  double clock_hertz_ = 0;
};

/// True of a word that no benchmark reads, which the compiler cannot know: what was read has to be read.
__device__ inline bool never(unsigned word) { return word == 0x5eed5eedU; }
/// A word made of all that was read.
__device__ inline unsigned fold(unsigned word) { return word; }
__device__ inline unsigned fold(uint2 word) { return word.x ^ word.y; }
__device__ inline unsigned fold(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }

/// DRAM, L2: bandwidth, latency, bytes in flight, strides, partial sectors, the turnover of blocks.
Json measure_memory(const Bench& bench);
/// Shared memory and L1: bandwidth, latency, bank conflicts, barriers.
Json measure_on_chip(const Bench& bench);
/// Instruction issue, integer division.
Json measure_instructions(const Bench& bench);
/// Atomics by type, collisions and spread.
Json measure_atomics(const Bench& bench);
/// Atomics that are loops of compare and swap, by how many meet at a word.
Json measure_contended(const Bench& bench);
/// Loops over loads, over exchanges and over additions to one address; scattered additions.
Json measure_loops(const Bench& bench);
/// The toolkit's sort of pairs, by their number and their bits.
Json measure_sorts(const Bench& bench);
/// Launches by themselves and inside a graph, empty blocks.
Json measure_launches(const Bench& bench);

}  // namespace warpbook::microbenchmarks
