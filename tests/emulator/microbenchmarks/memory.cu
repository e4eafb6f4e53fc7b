/// \file
/// DRAM and L2.
#include <numeric>
#include <random>

#include "tests/emulator/measured_kernels.cuh"
#include "tests/emulator/microbenchmarks/bench.hpp"

namespace warpbook::microbenchmarks {
namespace {

constexpr unsigned kThreads = 256;

/// Four words a thread, a block's apart.
__global__ void read_all(uint4* out, const uint4* __restrict__ in) {
  const std::size_t first = std::size_t{blockIdx.x} * (4 * kThreads) + threadIdx.x;
  uint4 words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = in[first + i * kThreads];
  if (never(fold(words[0]) ^ fold(words[1]) ^ fold(words[2]) ^ fold(words[3]))) *out = words[0];
}

__global__ void write_all(uint4* out) {
  const std::size_t first = std::size_t{blockIdx.x} * (4 * kThreads) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 4; ++i) out[first + i * kThreads] = make_uint4(1, 2, 3, 4);
}

__global__ void copy_all(uint4* __restrict__ out, const uint4* __restrict__ in) {
  const std::size_t first = std::size_t{blockIdx.x} * (4 * kThreads) + threadIdx.x;
  uint4 words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = in[first + i * kThreads];
#pragma unroll
  for (int i = 0; i < 4; ++i) out[first + i * kThreads] = words[i];
}

__global__ void copy_words(unsigned* __restrict__ out, const unsigned* __restrict__ in, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

/// Copies inside a graph, each on arrays that the L2 no longer holds.
Json cold_in_graph(const Bench& bench) {
  Json rows;
  const std::size_t span = 256 * kMiB;
  const DeviceBuffer from = bench.buffer(span);
  const DeviceBuffer to = bench.buffer(span);
  for (const std::size_t mebibytes : {1, 2, 4, 8, 16}) {
    const std::size_t bytes = mebibytes * kMiB;
    const auto sets = static_cast<int>(span / bytes);
    const auto blocks = static_cast<unsigned>(bytes / (4 * kThreads * sizeof(uint4)));
    const auto place = [&](const DeviceBuffer& buffer, int i) {
      return buffer.data() + static_cast<std::size_t>(i % sets) * bytes;
    };
    const double kernel = bench.graph_seconds(100, [&](int i, cudaStream_t s) {
      return launch(copy_all, {.grid = blocks, .block = kThreads, .stream = s}, reinterpret_cast<uint4*>(place(to, i)),
                    reinterpret_cast<const uint4*>(place(from, i)));
    });
    const double copy = bench.graph_seconds(100, [&](int i, cudaStream_t s) {
      return cudaMemcpyAsync(place(to, i), place(from, i), bytes, cudaMemcpyDeviceToDevice, s);
    });
    rows.push_back({{"bytes", bytes}, {"copy_seconds", kernel}, {"memcpy_seconds", copy}});
  }
  return rows;
}

/// Copies of little inside a graph, each on memory that the L2 does not hold.
Json small_copies(const Bench& bench) {
  Json rows;
  const DeviceBuffer from = bench.buffer(128 * kMiB);
  const DeviceBuffer to = bench.buffer(128 * kMiB);
  for (const std::size_t bytes : {std::size_t{64}, 4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB}) {
    const auto place = [](const DeviceBuffer& buffer, int i) {
      return buffer.data() + static_cast<std::size_t>(i) * kMiB;
    };
    const double copy = bench.graph_seconds(
        100,
        [&](int i, cudaStream_t s) {
          return cudaMemcpyAsync(place(to, i), place(from, i), bytes, cudaMemcpyDeviceToDevice, s);
        },
        L2::cold);
    // The same by a kernel: a word of 4 bytes a thread.
    const auto words = static_cast<unsigned>(bytes / sizeof(unsigned));
    const double kernel = bench.graph_seconds(
        100,
        [&](int i, cudaStream_t s) {
          return launch(copy_words, {.grid = (words + 255) / 256, .block = 256, .stream = s},
                        reinterpret_cast<unsigned*>(place(to, i)), reinterpret_cast<const unsigned*>(place(from, i)),
                        words);
        },
        L2::cold);
    rows.push_back({{"bytes", bytes}, {"copy_seconds", kernel}, {"memcpy_seconds", copy}});
  }
  return rows;
}

Json bandwidth_by_size(const Bench& bench) {
  Json rows;
  for (const std::size_t mebibytes : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    const std::size_t bytes = mebibytes * kMiB;
    const DeviceBuffer from = bench.buffer(bytes);
    const DeviceBuffer to = bench.buffer(bytes);
    auto* const in = reinterpret_cast<uint4*>(from.data());
    auto* const out = reinterpret_cast<uint4*>(to.data());
    const auto blocks = static_cast<unsigned>(bytes / (4 * kThreads * sizeof(uint4)));
    const auto config = [=](cudaStream_t stream) {
      return LaunchConfig{.grid = blocks, .block = kThreads, .stream = stream};
    };
    rows.push_back(
        {{"bytes", bytes},
         {"read_seconds", bench.seconds([&](cudaStream_t s) { return launch(read_all, config(s), out, in); })},
         {"write_seconds", bench.seconds([&](cudaStream_t s) { return launch(write_all, config(s), out); })},
         {"copy_seconds", bench.seconds([&](cudaStream_t s) { return launch(copy_all, config(s), out, in); })},
         {"memcpy_seconds", bench.seconds([&](cudaStream_t s) {
            return cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, s);
          })}});
  }
  return rows;
}

/// Every thread of the grid reads words a grid apart, `rounds` times over a buffer, past the L1.
__global__ void read_l2(unsigned* out, const uint4* in, unsigned words, unsigned rounds) {
  unsigned sum = 0;
  const unsigned step = gridDim.x * blockDim.x;
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll 4
    for (unsigned i = first; i < words; i += step) sum ^= fold(__ldcg(in + i));
  }
  if (never(sum)) *out = sum;
}

__global__ void write_l2(uint4* out, unsigned words, unsigned rounds) {
  const unsigned step = gridDim.x * blockDim.x;
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll 4
    for (unsigned i = first; i < words; i += step) __stcg(out + i, make_uint4(round, 1, 2, 3));
  }
}

Json l2_bandwidth(const Bench& bench) {
  Json rows;
  const DeviceBuffer buffer = bench.buffer(128 * kMiB);
  const LaunchConfig grid{.grid = bench.multiprocessors() * 2, .block = 1024};
  for (const std::size_t mebibytes : {4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128}) {
    const std::size_t bytes = mebibytes * kMiB;
    const unsigned words = static_cast<unsigned>(bytes / sizeof(uint4));
    const auto rounds = static_cast<unsigned>(512 / mebibytes);
    auto* const data = reinterpret_cast<uint4*>(buffer.data());
    LaunchConfig config = grid;
    // The first round brings it in: the difference between many rounds and fewer is the L2's.
    const auto reads = [&](unsigned n) {
      return bench.seconds(
          [&](cudaStream_t s) {
            config.stream = s;
            return launch(read_l2, config, reinterpret_cast<unsigned*>(buffer.data()), data, words, n);
          },
          L2::warm, 5);
    };
    const auto writes = [&](unsigned n) {
      return bench.seconds(
          [&](cudaStream_t s) {
            config.stream = s;
            return launch(write_l2, config, data, words, n);
          },
          L2::warm, 5);
    };
    const double moved = static_cast<double>(bytes) * rounds;
    rows.push_back({{"bytes", bytes},
                    {"read_bytes_per_second", moved / (reads(2 * rounds) - reads(rounds))},
                    {"write_bytes_per_second", moved / (writes(2 * rounds) - writes(rounds))}});
  }
  return rows;
}

/// One thread follows a chain of indices.
__global__ void chase(unsigned* out, const unsigned* next, unsigned steps, long long* clocks) {
  unsigned at = 0;
  for (unsigned i = 0; i < steps; ++i) at = next[at];  // brings it in, and the translation of its addresses
  const long long start = clock64();
  for (unsigned i = 0; i < steps; ++i) at = next[at];
  *clocks = clock64() - start;
  *out = at;
}

__global__ void chase_l2(unsigned* out, const unsigned* next, unsigned steps, long long* clocks) {
  unsigned at = 0;
  for (unsigned i = 0; i < steps; ++i) at = __ldcg(next + at);
  const long long start = clock64();
  for (unsigned i = 0; i < steps; ++i) at = __ldcg(next + at);
  *clocks = clock64() - start;
  *out = at;
}

Json latencies(const Bench& bench) {
  Json rows;
  constexpr std::size_t kStride = 128;
  const PinnedBuffer out(64);
  auto* const clocks = reinterpret_cast<long long*>(out.data());
  auto* const sink = reinterpret_cast<unsigned*>(out.data() + 32);
  struct Ring {
    const char* name;
    std::size_t bytes;
    bool past_l1;
  };
  for (const Ring& ring : {Ring{"l1", 16 * kKiB, false},
                           {"l2", 4 * kMiB, true},
                           {"l2_far", 24 * kMiB, true},
                           {"dram", 1024 * kMiB, true}}) {
    const std::size_t places = ring.bytes / kStride;
    std::vector<unsigned> order(places);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 engine(7);
    std::shuffle(order.begin() + 1, order.end(), engine);
    std::vector<unsigned> next(ring.bytes / sizeof(unsigned));
    constexpr std::size_t kWords = kStride / sizeof(unsigned);
    for (std::size_t i = 0; i < places; ++i)
      next[order[i] * kWords] = static_cast<unsigned>(order[(i + 1) % places] * kWords);
    const DeviceBuffer chain(ring.bytes);
    check(cudaMemcpy(chain.data(), next.data(), ring.bytes, cudaMemcpyHostToDevice), "uploading a chain");
    // The L2 rings fit and are gone round once first; of the large one only what nobody has touched is timed.
    const auto steps = static_cast<unsigned>(std::min<std::size_t>(places, 65536));
    check(launch(ring.past_l1 ? chase_l2 : chase, {.stream = bench.stream().get()}, sink,
                 reinterpret_cast<const unsigned*>(chain.data()), steps, clocks),
          "chasing");
    bench.stream().synchronize();
    rows[ring.name] = {{"bytes", ring.bytes},
                       {"clocks", static_cast<double>(*clocks) / steps},
                       {"seconds", static_cast<double>(*clocks) / steps / bench.clock_hertz()}};
  }
  return rows;
}

/// Each thread keeps `unroll` words in flight; the grid is what fits on the device, and walks over the buffer.
template <class T, int unroll> __global__ void in_flight(unsigned* out, const T* in, std::size_t words) {
  unsigned sum = 0;
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i + (unroll - 1) * step < words;
       i += unroll * step) {
    T kept[unroll];
#pragma unroll
    for (int k = 0; k < unroll; ++k) kept[k] = in[i + k * step];
#pragma unroll
    for (int k = 0; k < unroll; ++k) sum += fold(kept[k]);
  }
  if (never(sum)) *out = sum;
}

Json bytes_in_flight(const Bench& bench) {
  Json rows;
  const DeviceBuffer buffer = bench.buffer(512 * kMiB);
  auto* const out = reinterpret_cast<unsigned*>(buffer.data());
  const auto measure = [&]<class T, int unroll>(std::integral_constant<int, unroll>, T, const char* where,
                                                std::size_t bytes, L2 l2) {
    for (const int warps : {1, 2, 4, 8, 16, 32, 64}) {
      const int threads = std::min(warps, 16) * 32;
      const LaunchConfig config{
          .grid = bench.multiprocessors() * std::max(1, warps / 16), .block = threads, .stream = bench.stream().get()};
      const double seconds = bench.seconds(
          [&](cudaStream_t) {
            return launch(in_flight<T, unroll>, config, out, reinterpret_cast<const T*>(buffer.data()),
                          bytes / sizeof(T));
          },
          l2, 5);
      rows.push_back({{"from", where},
                      {"bytes_an_access", sizeof(T)},
                      {"accesses_in_flight_a_thread", unroll},
                      {"warps_a_multiprocessor", warps},
                      {"bytes_in_flight_a_multiprocessor", warps * 32 * unroll * static_cast<int>(sizeof(T))},
                      {"seconds", seconds},
                      {"bytes_per_second", static_cast<double>(bytes) / seconds}});
    }
  };
  const auto one = std::integral_constant<int, 1>();
  const auto four = std::integral_constant<int, 4>();
  measure(one, unsigned{}, "dram", 256 * kMiB, L2::cold);
  measure(four, unsigned{}, "dram", 256 * kMiB, L2::cold);
  measure(one, uint4{}, "dram", 512 * kMiB, L2::cold);
  measure(four, uint4{}, "dram", 512 * kMiB, L2::cold);
  return rows;
}

/// One access a thread, and out: blocks come and go.
template <class T> __global__ void copy_one(T* __restrict__ out, const T* __restrict__ in) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

Json one_access_a_thread(const Bench& bench) {
  Json rows;
  const DeviceBuffer from = bench.buffer(64 * kMiB);
  const DeviceBuffer to = bench.buffer(64 * kMiB);
  const auto measure = [&]<class T>(T) {
    for (const unsigned threads : {64U, 128U, 256U, 512U, 1024U}) {
      const std::size_t bytes = std::min(64 * kMiB, sizeof(T) * 32 * kMiB);
      const auto blocks = static_cast<unsigned>(bytes / sizeof(T) / threads);
      const double seconds = bench.seconds([&](cudaStream_t s) {
        return launch(copy_one<T>, {.grid = blocks, .block = threads, .stream = s}, reinterpret_cast<T*>(to.data()),
                      reinterpret_cast<const T*>(from.data()));
      });
      rows.push_back({{"bytes_an_access", sizeof(T)},
                      {"threads", threads},
                      {"blocks", blocks},
                      {"bytes", 2 * bytes},
                      {"seconds", seconds}});
    }
  };
  measure(static_cast<unsigned char>(0));
  measure(static_cast<unsigned short>(0));
  measure(unsigned{});
  measure(uint2{});
  measure(uint4{});
  return rows;
}

/// Lane i of a warp touches word i * stride of the warp's own stretch; warps lie side by side, so that all strides
/// together touch each sector once.
template <bool store> __global__ void strided(unsigned* data, unsigned stride_words, unsigned rounds, unsigned mask) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warps = gridDim.x * blockDim.x / 32;
  unsigned sum = 0;
#pragma unroll 4
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned at = (((round * warps + warp) * 32 + lane) * stride_words) & mask;
    if constexpr (store) {
      __stcg(data + at, round);
    } else {
      sum ^= __ldcg(data + at);
    }
  }
  if (never(sum)) *data = sum;
}

/// Lines (128 bytes) of the L2 that requests of a warp touch, by stride: from the DRAM (a cold 1 GiB), and from the L2.
Json strides(const Bench& bench) {
  Json rows;
  const DeviceBuffer buffer = bench.buffer(1024 * kMiB);
  auto* const data = reinterpret_cast<unsigned*>(buffer.data());
  for (const unsigned stride : {1U, 2U, 4U, 8U, 16U, 32U, 64U}) {
    const auto blocks = static_cast<unsigned>(bench.multiprocessors() * 8);
    const unsigned lanes = blocks * 256;
    for (const bool dram : {true, false}) {
      const unsigned words = dram ? 256U << 20 : 4U << 20;
      const unsigned rounds = std::max(dram ? 8U : 64U, std::min(words / stride, 64U << 20) / lanes);
      const auto seconds = [&](bool store) {
        const LaunchConfig config{.grid = blocks, .block = 256, .stream = bench.stream().get()};
        return bench.seconds(
            [&](cudaStream_t) {
              return launch(store ? strided<true> : strided<false>, config, data, stride, rounds, words - 1);
            },
            dram ? L2::cold : L2::warm, 5);
      };
      rows.push_back({{"where", dram ? "dram" : "l2"},
                      {"stride_bytes", stride * 4},
                      {"requests", std::size_t{rounds} * lanes / 32},
                      {"load_seconds", seconds(false)},
                      {"store_seconds", seconds(true)}});
    }
  }
  return rows;
}

/// Writes the first `written` bytes of each sector, and nothing else, over a buffer.
template <class T> __global__ void write_part(unsigned char* data, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    const std::size_t sector = (std::size_t{round} * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    *reinterpret_cast<T*>(data + sector * 32) = T{};
  }
}

Json partial_sectors(const Bench& bench) {
  Json rows;
  constexpr std::size_t kBytes = 512 * kMiB;
  const DeviceBuffer buffer = bench.buffer(kBytes);
  const auto measure = [&]<class T>(T) {
    const double seconds = bench.seconds(
        [&](cudaStream_t s) {
          return launch(write_part<T>, {.grid = kBytes / 32 / 256 / 8, .block = 256, .stream = s},
                        reinterpret_cast<unsigned char*>(buffer.data()), 8U);
        },
        L2::cold, 5);
    rows.push_back({{"bytes_of_32", sizeof(T)}, {"sectors", kBytes / 32}, {"seconds", seconds}});
  };
  measure(static_cast<unsigned char>(0));
  measure(unsigned{});
  measure(uint4{});
  const double whole = bench.seconds(
      [&](cudaStream_t s) {
        return launch(write_all, {.grid = kBytes / (4 * kThreads * sizeof(uint4)), .block = kThreads, .stream = s},
                      reinterpret_cast<uint4*>(buffer.data()));
      },
      L2::cold, 5);
  rows.push_back({{"bytes_of_32", 32}, {"sectors", kBytes / 32}, {"seconds", whole}});
  return rows;
}

/// Loads that wait for each other, or that a compiler may put under predicates: some blocks, or all that fit.
Json waiting_loads(const Bench& bench) {
  constexpr int kLoads = 8;
  constexpr unsigned kThreads = 256;
  constexpr unsigned kDistance = 1U << 20;
  constexpr unsigned kWords = (kLoads + 1) * kDistance;
  const DeviceBuffer words = bench.buffer(std::size_t{kWords} * sizeof(unsigned));
  const DeviceBuffer out = bench.buffer(std::size_t{kDistance} * sizeof(unsigned));
  Json rows;
  const auto add = [&](const char* name, auto* kernel, unsigned blocks) {
    const double seconds = bench.seconds([&](cudaStream_t stream) {
      return launch(kernel, {.grid = blocks, .block = kThreads, .stream = stream},
                    reinterpret_cast<unsigned*>(out.data()), reinterpret_cast<const unsigned*>(words.data()), kDistance,
                    kWords);
    });
    rows.push_back({{"loads", name}, {"loads_a_thread", kLoads}, {"blocks", blocks}, {"seconds", seconds}});
  };
  for (const unsigned blocks : {1U, 132U, 1056U, 4096U}) {
    add("apart", measured::load_words<measured::Loads::apart, kLoads>, blocks);
    add("guarded", measured::load_words<measured::Loads::guarded, kLoads>, blocks);
    add("chained", measured::load_words<measured::Loads::chained, kLoads>, blocks);
  }
  return rows;
}

/// Blocks that copy, wait for one of their warps, and write: as many as run at once, or several times as many.
Json staged_copies(const Bench& bench) {
  Json rows;
  constexpr std::size_t kBlockBytes = 4 * kThreads * sizeof(uint4);
  constexpr unsigned kMost = 16 * 1056;
  const DeviceBuffer from = bench.buffer(kMost * kBlockBytes);
  const DeviceBuffer to = bench.buffer(kMost * kBlockBytes);
  for (const unsigned blocks : {132U, 264U, 528U, 1056U, 2112U, 4224U, kMost}) {
    for (const unsigned divisions : {0U, 16U, 32U, 64U, 128U, 256U}) {
      const double seconds = bench.seconds([&](cudaStream_t stream) {
        return launch(measured::copy_staged, {.grid = blocks, .block = kThreads, .stream = stream},
                      reinterpret_cast<uint4*>(to.data()), reinterpret_cast<const uint4*>(from.data()), divisions, 37U);
      });
      rows.push_back({{"blocks", blocks}, {"divisions", divisions}, {"seconds", seconds}});
    }
  }
  return rows;
}

}  // namespace

Json measure_memory(const Bench& bench) {
  return {{"bandwidth", bandwidth_by_size(bench)},
          {"cold_in_graph", cold_in_graph(bench)},
          {"small_copies", small_copies(bench)},
          {"staged_copies", staged_copies(bench)},
          {"l2_bandwidth", l2_bandwidth(bench)},
          {"latency", latencies(bench)},
          {"bytes_in_flight", bytes_in_flight(bench)},
          {"waiting_loads", waiting_loads(bench)},
          {"one_access_a_thread", one_access_a_thread(bench)},
          {"strides", strides(bench)},
          {"partial_sectors", partial_sectors(bench)}};
}

}  // namespace warpbook::microbenchmarks
