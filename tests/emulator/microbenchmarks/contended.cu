/// \file
/// Atomic additions to types that the hardware cannot add to: half and bfloat16 alone. They are loops that read the
/// word around the element, add, and try to swap it in; a try fails if somebody changed the word in between.
///
/// So what counts is how many meet at a word, and how long a try takes. Every addition here changes the sum: a sum
/// that has no room for what is added (2048 + 1 in half) stays as it is, no try fails, and the loop looks quick.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/emulator/measured_kernels.cuh"
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr std::size_t kBytes = 8 * kMiB;
constexpr unsigned kThreads = 256;

using measured::change;
using measured::hashed;

__device__ void add(__half* at, float value) { atomicAdd(at, __float2half(value)); }
__device__ void add(__half2* at, float value) { atomicAdd(at, __float2half2_rn(value)); }
__device__ void add(__nv_bfloat16* at, float value) {
#if __CUDA_ARCH__ >= 800
  atomicAdd(at, __float2bfloat16(value));
#endif
}
/// The same loop, written down, on a word that never has the same value twice.
__device__ void add(unsigned* at, float) {
  unsigned seen = *reinterpret_cast<volatile unsigned*>(at);
  for (unsigned expected = ~seen; seen != expected;) {
    expected = seen;
    seen = atomicCAS(at, expected, expected + 1);
  }
}

/// One addition a thread, at hashed places among `addresses` (a power of two), 2^`apart_log2` elements apart. Only
/// lanes below `lanes` of each warp take part.
template <class T>
__global__ void add_changing(T* data, unsigned addresses, unsigned apart_log2, unsigned lanes, unsigned seed) {
  if (threadIdx.x % 32 >= lanes) return;
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned hash = hashed(thread + seed);
  add(data + (static_cast<std::size_t>(hash & (addresses - 1)) << apart_log2), change(hashed(hash)));
}

class Table {
public:
  explicit Table(const Bench& bench) : bench_(bench), buffer_(bench.buffer(kBytes)) {}

  template <class T>
  void add(const char* type, unsigned addresses, unsigned apart_log2, unsigned warps, unsigned lanes = 32) {
    unsigned seed = 0;
    check(cudaMemset(buffer_.data(), 0, kBytes), "clearing the sums");
    const unsigned threads = std::min(warps * 32, kThreads);
    const double seconds = bench_.seconds(
        [&](cudaStream_t stream) {
          const LaunchConfig config{.grid = warps * 32 / threads, .block = threads, .stream = stream};
          return launch(add_changing<T>, config, reinterpret_cast<T*>(buffer_.data()), addresses, apart_log2, lanes,
                        seed += 0x51ed27U);
        },
        L2::warm, 3);
    rows_.push_back({{"type", type},
                     {"addresses", addresses},
                     {"bytes_apart", sizeof(T) << apart_log2},
                     {"warps", warps},
                     {"lanes", lanes},
                     {"operations", warps * lanes},
                     {"seconds", seconds}});
  }
  /// Some at one address, some or none wherever they disturb nobody.
  void add_mixed(unsigned hot_of, unsigned others, unsigned warps) {
    check(cudaMemset(buffer_.data(), 0, kBytes), "clearing the sums");
    const double seconds = bench_.seconds(
        [&](cudaStream_t stream) {
          const LaunchConfig config{.grid = warps * 32 / kThreads, .block = kThreads, .stream = stream};
          return launch(measured::add_mixed, config, reinterpret_cast<__half*>(buffer_.data()), hot_of, others);
        },
        L2::warm, 3);
    rows_.push_back({{"type", "half, mixed"},
                     {"one_hot_of", hot_of},
                     {"other_addresses", others},
                     {"warps", warps},
                     {"seconds", seconds}});
  }
  /// Whole warps at neighbouring halves.
  void add_rows(unsigned rows, unsigned warps) {
    check(cudaMemset(buffer_.data(), 0, kBytes), "clearing the sums");
    const double seconds = bench_.seconds(
        [&](cudaStream_t stream) {
          const LaunchConfig config{.grid = warps * 32 / kThreads, .block = kThreads, .stream = stream};
          return launch(measured::add_rows, config, reinterpret_cast<__half*>(buffer_.data()), rows);
        },
        L2::warm, 3);
    rows_.push_back({{"type", "half, rows"}, {"rows_of_32", rows}, {"warps", warps}, {"seconds", seconds}});
  }
  const Json& rows() const { return rows_; }

private:
  const Bench& bench_;
  DeviceBuffer buffer_;
  Json rows_;
};

/// One address; a few within a line; each with a line to itself; many.
template <class T> void measure(Table& table, const char* type, bool all) {
  for (const unsigned warps : {1U, 32U, 256U, 2048U}) table.add<T>(type, 1, 0, warps);
  for (const unsigned warps : {32U, 256U}) table.add<T>(type, 16, 0, warps);
  for (const unsigned warps : {256U, 2048U, 8192U}) table.add<T>(type, 1024, 0, warps);
  for (const unsigned warps : {2048U, 8192U, 32768U}) table.add<T>(type, 65536, 0, warps);
  table.add<T>(type, 1U << 20, 0, 32768);
  if (!all) return;
  for (const unsigned warps : {32U, 256U, 2048U}) table.add<T>(type, 1, 0, warps, 1);
  for (const unsigned warps : {32U, 256U}) table.add<T>(type, 16, 6, warps);
  for (const unsigned warps : {256U, 2048U}) table.add<T>(type, 1024, 6, warps);
  for (const unsigned warps : {256U, 2048U}) table.add<T>(type, 256, 0, warps);
  for (const unsigned warps : {2048U, 8192U, 32768U}) table.add<T>(type, 4096, 0, warps);
}

}  // namespace

Json measure_contended(const Bench& bench) {
  Table table(bench);
  measure<__half>(table, "half", true);
  for (const unsigned hot_of : {512U, 4096U})
    for (const unsigned others : {0U, 1U << 20}) table.add_mixed(hot_of, others, 16384);
  for (const unsigned rows : {1U, 16U, 2048U, 65536U})
    table.add_rows(rows, rows == 1 ? 256 : rows == 16 ? 2048 : 32768);
  measure<__half2>(table, "half2", false);
  measure<unsigned>(table, "uint32, compare and swap", true);
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking for the compute capability");
  if (major >= 8) measure<__nv_bfloat16>(table, "bfloat16", false);
  return table.rows();
}

}  // namespace warpbook::microbenchmarks
