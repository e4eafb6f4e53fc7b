/// \file
/// How many instructions a multiprocessor issues in a clock, how many of them an integer division is worth, and what
/// idle lanes, idle warps and idle multiprocessors save of it.
#include <cstdint>

#include "tests/emulator/measured_kernels.cuh"
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr unsigned kRounds = 256;
constexpr unsigned kChains = 4;  // independent of each other, in each thread; also measured: one

struct Add {
  template <class T> __device__ T operator()(T x, T y) const { return x + y; }
};
/// Two instructions.
struct LogicAndAdd {
  template <class T> __device__ T operator()(T x, T y) const { return x + (x ^ y); }
};
struct MultiplyAdd {
  template <class T> __device__ T operator()(T x, T y) const { return x * y + x; }
};
/// Not twice the same divisor: what depends on it alone must not leave the loop.
template <class T> __device__ T vary(T x, T y) { return y + (x & 1); }
struct Divide {
  template <class T> __device__ T operator()(T x, T y) const { return x / vary(x, y) + y; }
};
struct Remainder {
  template <class T> __device__ T operator()(T x, T y) const { return x % vary(x, y) + y; }
};
/// Both, as an index is taken apart.
struct DivideAndRemainder {
  template <class T> __device__ T operator()(T x, T y) const { return x / vary(x, y) + x % vary(x, y); }
};
/// A division by a divisor that the host prepared: the high half of a product, and a shift.
struct MultiplyHigh {
  __device__ unsigned operator()(unsigned x, unsigned y) const { return (__umulhi(x, y) + x >> 3) + 0x12345; }
};
template <class T, class F, unsigned chains> __global__ void repeat(T* out, T x, T y, long long* clocks) {
  T values[chains];
  for (unsigned i = 0; i < chains; ++i) values[i] = x + static_cast<T>(threadIdx.x * chains + i);
  __syncthreads();
  const long long start = clock64();
  for (unsigned round = 0; round < kRounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < chains; ++i) values[i] = F{}(values[i], y);
  }
  T sum{};
  for (unsigned i = 0; i < chains; ++i) sum = sum + values[i];
  if (sum == static_cast<T>(0x5eed5eed)) *out = sum;  // before the clock is read: the compiler moves what nobody needs
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) *clocks = clock64() - start;
}

class Table {
public:
  explicit Table(const Bench& bench) : bench_(bench), result_(64) {}

  /// Clocks of a multiprocessor for one operation of a warp, with enough warps to hide latencies and with one alone;
  /// and where, besides, each operation waits for the one before.
  template <class T, class F> void add(const char* operation, const char* type, double x, double y) {
    rows_.push_back({{"operation", operation},
                     {"type", type},
                     {"clocks_a_warp", clocks<T, F, kChains>(1024, x, y) / (kRounds * kChains * 32.0)},
                     {"clocks_one_warp_alone", clocks<T, F, kChains>(32, x, y) / (kRounds * kChains)},
                     {"clocks_one_after_another", clocks<T, F, 1>(32, x, y) / kRounds}});
  }
  const Json& rows() const { return rows_; }

private:
  template <class T, class F, unsigned chains> double clocks(unsigned threads, double x, double y) {
    auto* const taken = reinterpret_cast<long long*>(result_.data());
    check(launch(repeat<T, F, chains>,
                 {.grid = bench_.multiprocessors(), .block = threads, .stream = bench_.stream().get()},
                 reinterpret_cast<T*>(result_.data() + 32), static_cast<T>(x), static_cast<T>(y), taken),
          "computing");
    bench_.stream().synchronize();
    return static_cast<double>(*taken);
  }

  const Bench& bench_;
  PinnedBuffer result_;
  Json rows_;
};

constexpr unsigned kDivisions = 1024;  // a thread

double division_seconds(const Bench& bench, unsigned blocks, unsigned threads, unsigned busy) {
  const DeviceBuffer out = bench.buffer(sizeof(unsigned));
  return bench.seconds([&](cudaStream_t stream) {
    return launch(measured::divide_in_some, {.grid = blocks, .block = threads, .stream = stream},
                  reinterpret_cast<unsigned*>(out.data()), busy, kDivisions, 37U);
  });
}

/// One block a multiprocessor, of whose threads only the first ones work.
Json busy_threads(const Bench& bench) {
  Json rows;
  for (const unsigned busy : {1U, 8U, 32U, 128U, 256U})
    rows.push_back({{"threads", 256}, {"busy", busy}, {"seconds", division_seconds(bench, 132, 256, busy)}});
  return rows;
}

/// Blocks that keep a multiprocessor's issue slots busy by themselves.
Json busy_blocks(const Bench& bench) {
  Json rows;
  for (const unsigned blocks : {1U, 66U, 132U, 133U, 198U, 264U, 265U, 396U, 528U})
    rows.push_back({{"blocks", blocks}, {"seconds", division_seconds(bench, blocks, 1024, 1024)}});
  return rows;
}

}  // namespace

Json measure_instructions(const Bench& bench) {
  Table table(bench);
  table.add<unsigned, LogicAndAdd>("logic and add", "uint32", 7, 3);
  table.add<unsigned, MultiplyAdd>("multiply and add", "uint32", 7, 3);
  table.add<float, MultiplyAdd>("multiply and add", "float", 7, 3);
  table.add<float, Add>("add", "float", 7, 3);
  table.add<double, Add>("add", "double", 7, 3);
  table.add<std::uint64_t, LogicAndAdd>("logic and add", "uint64", 7, 3);
  table.add<std::uint64_t, MultiplyAdd>("multiply and add", "uint64", 7, 3);
  table.add<unsigned, MultiplyHigh>("multiply high, add, shift, add", "uint32", 1e9, 0x9e3779b9);
  table.add<unsigned, Divide>("divide", "uint32", 1e9, 37);
  table.add<int, Divide>("divide", "int32", 1e9, 37);
  table.add<unsigned, Remainder>("remainder", "uint32", 1e9, 37);
  table.add<int, Remainder>("remainder", "int32", 1e9, 37);
  table.add<unsigned, DivideAndRemainder>("divide and remainder", "uint32", 1e9, 37);
  table.add<int, DivideAndRemainder>("divide and remainder", "int32", 1e9, 37);
  // nvcc's 64-bit division looks whether both numbers fit 32 bits, and is quick then.
  table.add<std::uint64_t, Divide>("divide, small numbers", "uint64", 1e9, 37);
  table.add<std::int64_t, Divide>("divide, small numbers", "int64", 1e9, 37);
  table.add<std::int64_t, Remainder>("remainder, small numbers", "int64", 1e9, 37);
  table.add<std::int64_t, DivideAndRemainder>("divide and remainder, small numbers", "int64", 1e9, 37);
  table.add<std::uint64_t, Divide>("divide, large divisor", "uint64", 1e18, 5e9);
  table.add<std::int64_t, Divide>("divide, large divisor", "int64", 1e18, 5e9);
  table.add<std::int64_t, Remainder>("remainder, large divisor", "int64", 1e18, 5e9);
  return {{"chains_a_thread", kChains},
          {"rows", table.rows()},
          {"divisions_a_thread", kDivisions},
          {"busy_threads", busy_threads(bench)},
          {"busy_blocks", busy_blocks(bench)}};
}

}  // namespace warpbook::microbenchmarks
