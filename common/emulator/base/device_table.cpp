#include "common/emulator/base/device_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kGiB = 1024 * kMiB;

constexpr unsigned kAssumedRegisters = 32;  // a thread; the compiler's real figure is not known here

// "measured": on that card. "cited": from the source named. "unmeasured": an estimate that nobody has checked.
constexpr std::array kDevices = {
    DeviceTable{
        .key = "h200",
        .name = "NVIDIA H200",
        .compute_major = 9,
        .compute_minor = 0,
        .multiprocessors = 132,           // measured (device properties)
        .clock_khz = 1'980'000,           // measured
        .memory_clock_khz = 3'201'000,    // cited: NVIDIA H200 datasheet, 4.8 TB/s on 6144 bits
        .memory_bus_bits = 6144,          // cited: the same
        .memory_bytes = 141'000'000'000,  // cited: the same
        .l2_bytes = 60 * kMiB,            // measured (device properties)
        .l2_dirty_bytes = 25'000'000,     // measured: what a cold read has to push out before it, memory.bandwidth
        .l2_partitions = 2,               // measured: half of what is asked of the L2 is passed on, golden/kernels.json
        .shared_bytes_per_multiprocessor = 228 * kKiB,  // cited: CUDA C++ Programming Guide, compute capability 9.0
        .shared_bytes_per_block = 48 * kKiB,            // cited: the same
        .shared_bytes_per_block_optin = 227 * kKiB,     // cited: the same
        .shared_bytes_reserved = 1 * kKiB,              // cited: the same
        .registers_per_multiprocessor = 65536,          // cited: the same
        .threads_per_multiprocessor = 2048,             // cited: the same
        .blocks_per_multiprocessor = 32,                // cited: the same
        .copy_engines = 3,                              // unmeasured
        // "measured: NAME" is docs/results/nvidia-h200/microbenchmarks.json, by its key.
        .launch_seconds = 2.6e-6,          // measured: launches.launch_seconds
        .graph_launch_seconds = 0.51e-6,   // measured: launches.in_graph_seconds
        .start_seconds = 1.3e-6,           // measured: memory.bandwidth, what 1 to 8 MiB take beyond their bytes
        .graph_start_seconds = 0.9e-6,     // measured: memory.cold_in_graph, what 1 to 8 MiB take beyond their bytes
        .dram_bytes_per_second = 4.55e12,  // measured: memory.bandwidth, read and write, 1 GiB
        .dram_mixed_bytes_per_second = 4.28e12,  // measured: memory.bandwidth, memcpy, 1 GiB
        .l2_bytes_per_second = 9.2e12,           // measured: memory.strides from the L2, stride 32 and 64
        .l2_line_write_seconds = 6.45e-12,       // measured: memory.strides in the L2, stores, stride 32 to 128
        .l2_sector_write_seconds = 5.55e-12,     // measured: the same, stride 4
        .l2_partial_write_seconds = 6.97e-12,    // measured: the same, stride 8 to 128
        .block_launch_seconds = 0.62e-9,         // measured: launches.empty_blocks
        .l1_bytes_per_clock = 128,               // measured: on_chip.shared
        .float_lanes = 128,                      // cited: Hopper architecture white paper
        .schedulers = 4,                         // measured: on_chip, instructions: 4 float operations a clock
        .chained_clocks = 4.6,                   // measured: instructions, one after another: 4.3 and 5.2
        .alone_clocks = 2.1,                     // measured: instructions, multiply and add, one warp alone
        .shared_latency_clocks = 29,             // measured: on_chip.shared_latency_clocks
        .l1_latency_clocks = 43,                 // measured: memory.latency, l1
        .l2_latency_clocks = 351,                // measured: memory.latency, between l2 and l2_far, where half is
        .dram_latency_seconds = 385e-9,          // measured: memory.bytes_in_flight, one access of 4 bytes a thread
        .block_start_seconds = 300e-9,           // measured: memory.one_access_a_thread, 1 byte, less the line above
        .barrier_clocks = 29,                    // measured: on_chip.barriers, 256 threads
        .division32_slots = 30,                  // measured: instructions, uint32 and int32
        .division64_slots = 44,                  // measured: instructions, small numbers
        .division64_wide_slots = 150,            // measured: instructions, large divisor
        .division32_clocks = 140,                // measured: instructions, one after another, uint32
        .division64_clocks = 192,                // measured: the same, small numbers
        .division64_wide_clocks = 385,           // measured: the same, large divisor
        .slots_per_instruction = 1.55,           // measured: median over golden/kernels.json of instructions executed
        .atomic_float_seconds = 1.76e-9,         // measured: atomics.spread, float at one address
        .atomic_integer_seconds = 0.74e-9,       // measured: atomics.spread, int at one address
        .atomic_request_seconds = 4.2e-9,        // measured: atomics.spread, 1024 and 4096 addresses
        .atomic_sector_seconds = 2.6e-9,         // measured: atomics.spread, 64 and 256 addresses
        .atomic_sectors_per_second = 101e9,      // measured: atomics.spread over 4 Mi addresses, and float4
        .retry_seconds = 370e-9,                 // measured: contended, half, one warp at one address
        .retry_packet_seconds = 7.8e-9,          // measured: contended_counters.json, a request's time at 16 addresses
        .retry_turn_seconds = 0.74e-9,           // measured: contended_counters.json, 256 and 2048 warps at one address
        .retry_sectors_per_second = 38e9,        // measured: atomics.spread, half over 4 Mi addresses
        .shared_retry_clocks = 50,               // measured: on_chip.shared_atomics, float: 8 warps at each address
        .exchange_clocks = 370,                  // measured: microbenchmarks.json, exchanges, one warp
        .exchange_wavefront_clocks = 0.45,       // measured: the same, 32 warps, four together
        .dram_atomic_seconds = 16e-12,           // measured: the same, scattered over 64 Mi addresses
        .l1_bytes = 256 * kKiB,                  // cited: Hopper architecture white paper
    },
    DeviceTable{
        .key = "a100",
        .name = "NVIDIA A100-SXM4-80GB",
        .compute_major = 8,
        .compute_minor = 0,
        .multiprocessors = 108,  // cited: Ampere GA100 white paper, as all figures below unless told
        .clock_khz = 1'410'000,
        .memory_clock_khz = 1'593'000,  // cited: A100 80GB datasheet, 2.04 TB/s on 5120 bits
        .memory_bus_bits = 5120,
        .memory_bytes = 80 * kGiB,
        .l2_bytes = 40 * kMiB,
        .l2_dirty_bytes = 16'000'000,  // unmeasured: as much of the L2 as on an H200
        .l2_partitions = 2,
        .shared_bytes_per_multiprocessor = 164 * kKiB,  // cited: CUDA C++ Programming Guide, compute capability 8.0
        .shared_bytes_per_block = 48 * kKiB,
        .shared_bytes_per_block_optin = 163 * kKiB,
        .shared_bytes_reserved = 1 * kKiB,
        .registers_per_multiprocessor = 65536,
        .threads_per_multiprocessor = 2048,
        .blocks_per_multiprocessor = 32,
        .copy_engines = 3,  // unmeasured
        // Unmeasured, unless told: the H200's, with clocks, widths and datasheets in proportion.
        .launch_seconds = 2.6e-6,
        .graph_launch_seconds = 0.6e-6,
        .start_seconds = 1.5e-6,
        .graph_start_seconds = 1.0e-6,
        .dram_bytes_per_second = 1.86e12,  // 91% of the datasheet's, as for reads on an H200
        .dram_mixed_bytes_per_second = 1.75e12,
        .l2_bytes_per_second = 4.5e12,  // 5120 B a clock cited, less in practice
        .l2_line_write_seconds = 13e-12,
        .l2_sector_write_seconds = 11e-12,
        .l2_partial_write_seconds = 14e-12,
        .block_launch_seconds = 0.9e-9,
        .l1_bytes_per_clock = 128,
        .float_lanes = 64,
        .schedulers = 4,
        .chained_clocks = 4.6,
        .alone_clocks = 2.1,
        .shared_latency_clocks = 29,
        .l1_latency_clocks = 43,
        .l2_latency_clocks = 200,
        .dram_latency_seconds = 470e-9,
        .block_start_seconds = 400e-9,
        .barrier_clocks = 29,
        .division32_slots = 30,
        .division64_slots = 44,
        .division64_wide_slots = 150,
        .division32_clocks = 140,
        .division64_clocks = 192,
        .division64_wide_clocks = 385,
        .slots_per_instruction = 1.55,
        .atomic_float_seconds = 2.5e-9,
        .atomic_integer_seconds = 1.05e-9,
        .atomic_request_seconds = 6e-9,
        .atomic_sector_seconds = 3.7e-9,
        .atomic_sectors_per_second = 70e9,
        .retry_seconds = 500e-9,
        .retry_packet_seconds = 10e-9,
        .retry_turn_seconds = 1.4e-9,
        .retry_sectors_per_second = 26e9,
        .shared_retry_clocks = 50,
        .exchange_clocks = 370,
        .exchange_wavefront_clocks = 0.45,
        .dram_atomic_seconds = 37e-12,
        .l1_bytes = 192 * kKiB,
    },
    DeviceTable{
        .key = "t4",
        .name = "Tesla T4",
        .compute_major = 7,
        .compute_minor = 5,
        .multiprocessors = 40,  // cited: Turing TU102/TU104 white paper, as all figures below unless told
        .clock_khz = 1'590'000,
        .memory_clock_khz = 5'001'000,  // cited: T4 datasheet, 320 GB/s on 256 bits
        .memory_bus_bits = 256,
        .memory_bytes = 16 * kGiB,
        .l2_bytes = 4 * kMiB,
        .l2_dirty_bytes = 1'600'000,                   // unmeasured: as much of the L2 as on an H200
        .l2_partitions = 1,                            // unmeasured
        .shared_bytes_per_multiprocessor = 64 * kKiB,  // cited: CUDA C++ Programming Guide, compute capability 7.5
        .shared_bytes_per_block = 48 * kKiB,
        .shared_bytes_per_block_optin = 64 * kKiB,
        .shared_bytes_reserved = 0,
        .registers_per_multiprocessor = 65536,
        .threads_per_multiprocessor = 1024,
        .blocks_per_multiprocessor = 16,
        .copy_engines = 3,  // unmeasured
        // Unmeasured, unless told: the H200's, with clocks, widths and datasheets in proportion.
        .launch_seconds = 3.5e-6,
        .graph_launch_seconds = 0.8e-6,
        .start_seconds = 2e-6,
        .graph_start_seconds = 1.3e-6,
        .dram_bytes_per_second = 0.26e12,
        .dram_mixed_bytes_per_second = 0.24e12,  // 75% of the datasheet's
        .l2_bytes_per_second = 1.2e12,
        .l2_line_write_seconds = 50e-12,
        .l2_sector_write_seconds = 42e-12,
        .l2_partial_write_seconds = 54e-12,
        .block_launch_seconds = 1.2e-9,
        .l1_bytes_per_clock = 64,
        .float_lanes = 64,
        .schedulers = 4,
        .chained_clocks = 4.6,
        .alone_clocks = 2.1,
        .shared_latency_clocks = 19,  // cited: Jia et al.
        .l1_latency_clocks = 32,      // cited: Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking"
        .l2_latency_clocks = 188,     // cited: the same
        .dram_latency_seconds = 350e-9,
        .block_start_seconds = 400e-9,
        .barrier_clocks = 29,
        .division32_slots = 30,
        .division64_slots = 44,
        .division64_wide_slots = 150,
        .division32_clocks = 140,
        .division64_clocks = 192,
        .division64_wide_clocks = 385,
        .slots_per_instruction = 1.55,
        .atomic_float_seconds = 3e-9,
        .atomic_integer_seconds = 1.3e-9,
        .atomic_request_seconds = 7.2e-9,
        .atomic_sector_seconds = 4.4e-9,
        .atomic_sectors_per_second = 20e9,
        .retry_seconds = 450e-9,
        .retry_packet_seconds = 12e-9,
        .retry_turn_seconds = 1.7e-9,
        .retry_sectors_per_second = 7.5e9,
        .shared_retry_clocks = 50,
        .exchange_clocks = 370,
        .exchange_wavefront_clocks = 0.45,
        .dram_atomic_seconds = 260e-12,
        .l1_bytes = 96 * kKiB,
    },
};

}  // namespace

const DeviceTable* find_device(std::string_view key) {
  for (const DeviceTable& device : kDevices)
    if (device.key == key) return &device;
  return nullptr;
}

namespace {

const DeviceTable& chosen_device() {
  static const DeviceTable& chosen = []() -> const DeviceTable& {
    const char* key = std::getenv("WARPBOOK_GPU");
    if (key == nullptr || *key == '\0') return kDevices.front();
    if (const DeviceTable* device = find_device(key)) return *device;
    std::fprintf(stderr, "WARPBOOK_GPU: no card \"%s\": use h200, a100 or t4\n", key);
    std::exit(2);
  }();
  return chosen;
}

}  // namespace

const DeviceTable& device_table() {
  static const DeviceTable cut = [] {
    DeviceTable device = chosen_device();
    const char* text = std::getenv("WARPBOOK_MULTIPROCESSORS");
    if (text == nullptr || *text == '\0') return device;
    const long number = std::strtol(text, nullptr, 10);
    if (number < 1 || number > device.multiprocessors) {
      std::fprintf(stderr, "WARPBOOK_MULTIPROCESSORS: \"%s\": accepted is 1 to the card's %d\n", text,
                   device.multiprocessors);
      std::exit(2);
    }
    device.multiprocessors = static_cast<decltype(device.multiprocessors)>(number);
    return device;
  }();
  return cut;
}

unsigned resident_blocks(const DeviceTable& device, unsigned threads, std::size_t shared_bytes) {
  const unsigned warps = std::max(1U, (threads + 31) / 32);
  const auto limit = [](int available, unsigned used) { return static_cast<unsigned>(available) / used; };
  unsigned blocks = static_cast<unsigned>(device.blocks_per_multiprocessor);
  blocks = std::min(blocks, limit(device.threads_per_multiprocessor, warps * 32));
  blocks = std::min(blocks, limit(device.registers_per_multiprocessor, warps * 32 * kAssumedRegisters));
  const std::size_t shared = shared_bytes + device.shared_bytes_reserved;
  if (shared != 0) {
    const std::size_t fit = device.shared_bytes_per_multiprocessor / shared;
    blocks = std::min(blocks, static_cast<unsigned>(std::min<std::size_t>(fit, blocks)));
  }
  return std::max(1U, blocks);
}

}  // namespace warpbook::emulator
