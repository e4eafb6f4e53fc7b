#include "common/emulator/device_table.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace warpbook::emulator {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;
constexpr std::size_t kGiB = 1024 * kMiB;

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
        .launch_seconds = 5.1e-6,          // measured: intercept of copy times over 16 MiB to 1 GiB, between events
        .graph_launch_seconds = 1.5e-6,    // unmeasured
        .dram_bytes_per_second = 4.27e12,  // measured: slope of the same copies
        .l2_bytes_per_second = 9.7e12,     // cited: gpu-benches gpu-l2-cache
        .l1_bytes_per_clock = 128,         // cited: gpu-benches gpu-strides
        .schedulers = 4,                   // cited: Hopper architecture white paper
        .l1_latency_clocks = 34,           // cited: gpu-benches gpu-latency (H100)
        .l2_latency_clocks = 265,          // cited: the same
        .dram_latency_seconds =
            450e-9,  // unmeasured; gpu-benches gpu-stream saw 275 to 392 ns, the chain to the SM unloaded
        .block_start_seconds = 350e-9,  // measured with the line above: 800 ns a block in one-element-a-thread kernels
        .barrier_clocks = 30,           // unmeasured
        .division32_slots = 25,         // cited: CUDA C++ Programming Guide, "about 20 to 30 instructions"
        .division64_slots = 100,        // unmeasured; 70 to 150
        .slots_per_instruction = 1.2,   // unmeasured
        .atomic_address_seconds = 1.76e-9,  // measured: scatter_add of 16 Mi floats into one
        .atomics_per_second = 74e9,         // measured: scatter_add of 16 Mi floats into 65,536
        .l1_bytes = 256 * kKiB,             // cited: Hopper architecture white paper
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
        .copy_engines = 3,                 // unmeasured
        .launch_seconds = 5.1e-6,          // unmeasured: as H200
        .graph_launch_seconds = 1.5e-6,    // unmeasured
        .dram_bytes_per_second = 1.75e12,  // unmeasured: 86% of the datasheet's
        .l2_bytes_per_second = 4.5e12,     // unmeasured; 5120 B a clock cited, less in practice
        .l1_bytes_per_clock = 128,
        .schedulers = 4,
        .l1_latency_clocks = 33,           // unmeasured
        .l2_latency_clocks = 200,          // unmeasured
        .dram_latency_seconds = 470e-9,    // unmeasured
        .block_start_seconds = 400e-9,     // unmeasured
        .barrier_clocks = 30,              // unmeasured
        .division32_slots = 25,            // cited: CUDA C++ Programming Guide
        .division64_slots = 100,           // unmeasured
        .slots_per_instruction = 1.2,      // unmeasured
        .atomic_address_seconds = 2.5e-9,  // unmeasured
        .atomics_per_second = 50e9,        // unmeasured
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
        .copy_engines = 3,                 // unmeasured
        .launch_seconds = 6e-6,            // unmeasured
        .graph_launch_seconds = 2e-6,      // unmeasured
        .dram_bytes_per_second = 0.24e12,  // unmeasured: 75% of the datasheet's
        .l2_bytes_per_second = 1.2e12,     // unmeasured
        .l1_bytes_per_clock = 64,          // unmeasured
        .schedulers = 4,
        .l1_latency_clocks = 32,   // cited: Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking"
        .l2_latency_clocks = 188,  // cited: the same
        .dram_latency_seconds = 350e-9,    // unmeasured
        .block_start_seconds = 400e-9,     // unmeasured
        .barrier_clocks = 30,              // unmeasured
        .division32_slots = 25,            // cited: CUDA C++ Programming Guide
        .division64_slots = 100,           // unmeasured
        .slots_per_instruction = 1.2,      // unmeasured
        .atomic_address_seconds = 2.5e-9,  // unmeasured
        .atomics_per_second = 15e9,        // unmeasured
        .l1_bytes = 96 * kKiB,
    },
};

}  // namespace

const DeviceTable* find_device(std::string_view key) {
  for (const DeviceTable& device : kDevices)
    if (device.key == key) return &device;
  return nullptr;
}

const DeviceTable& device_table() {
  static const DeviceTable& chosen = []() -> const DeviceTable& {
    const char* key = std::getenv("WARPBOOK_GPU");
    if (key == nullptr || *key == '\0') return kDevices.front();
    if (const DeviceTable* device = find_device(key)) return *device;
    std::fprintf(stderr, "WARPBOOK_GPU: no card \"%s\": use h200, a100 or t4\n", key);
    std::exit(2);
  }();
  return chosen;
}

}  // namespace warpbook::emulator
