/// \file
/// The cards that the emulator can play: what CUDA reports of them, and the constants of the model of time.
#pragma once

#include <cstddef>
#include <string_view>

namespace warpbook::emulator {

/// One card. Each constant of the model says in device_table.cpp where it comes from.
struct DeviceTable {
  std::string_view key;  ///< as `WARPBOOK_GPU` names it: "h200"
  const char* name;      ///< as CUDA names it: "NVIDIA H200"

  // What CUDA reports.
  int compute_major;           ///< Of the compute capability.
  int compute_minor;           ///< Of the compute capability.
  int multiprocessors;         ///< How many.
  int clock_khz;               ///< of the multiprocessors
  int memory_clock_khz;        ///< Of the device memory.
  int memory_bus_bits;         ///< Width of the device memory's bus.
  std::size_t memory_bytes;    ///< Device memory.
  std::size_t l2_bytes;        ///< Size of the L2.
  std::size_t l2_dirty_bytes;  ///< of changed lines that it keeps at most
  unsigned l2_partitions;      ///< Parts of the L2; what is asked of one is passed on to the one that has it.
  std::size_t shared_bytes_per_multiprocessor;  ///< Shared memory of a multiprocessor.
  std::size_t shared_bytes_per_block;           ///< without asking for more
  std::size_t shared_bytes_per_block_optin;     ///< with cudaFuncAttributeMaxDynamicSharedMemorySize
  std::size_t shared_bytes_reserved;            ///< by CUDA, per block
  int registers_per_multiprocessor;             ///< 32-bit registers of a multiprocessor.
  int threads_per_multiprocessor;               ///< Most threads that are resident at a time.
  int blocks_per_multiprocessor;                ///< Most blocks that are resident at a time.
  int copy_engines;                             ///< Copies that run beside kernels.

  // What the model of time uses.
  double launch_seconds;               ///< from one event to the next around a launch that does nothing
  double graph_launch_seconds;         ///< of a kernel inside a graph
  double start_seconds;                ///< from a kernel's begin until memory is busy, and from then to its end
  double graph_start_seconds;          ///< the same inside of a graph
  double dram_bytes_per_second;        ///< reading or writing
  double dram_mixed_bytes_per_second;  ///< reading and writing in equal parts
  double l2_bytes_per_second;          ///< read, in packets of 64 bytes
  double l2_line_write_seconds;        ///< of a line that a request writes, and for each sector of it
  double l2_sector_write_seconds;      ///< The part that each written sector takes.
  double l2_partial_write_seconds;     ///< of a sector that is not written as a whole, in its place
  double block_launch_seconds;         ///< a block, of the whole card
  double l1_bytes_per_clock;           ///< of one multiprocessor, shared memory included
  int float_lanes;                     ///< of one multiprocessor: float operations it can do in a clock
  int schedulers;                      ///< of one multiprocessor: warp instructions it can issue in a clock
  double chained_clocks;               ///< an instruction, of a warp where each waits for the one before
  double alone_clocks;                 ///< an instruction, of a warp that has the multiprocessor to itself
  double shared_latency_clocks;        ///< From a load to the use of what it brings, from shared memory.
  double l1_latency_clocks;            ///< The same from the L1.
  double l2_latency_clocks;            ///< The same from the L2.
  double dram_latency_seconds;         ///< from a load to the use of what it brings, with little else under way
  double block_start_seconds;        ///< from the end of one block to the first load of the block that takes its place
  double barrier_clocks;             ///< A barrier of a block.
  double division32_slots;           ///< warp instructions of an integer division at run time
  double division64_slots;           ///< where both numbers fit 32 bits
  double division64_wide_slots;      ///< Issue slots of a 64-bit division whose operands need more than 32 bits.
  double division32_clocks;          ///< From its operands to its result, which the next one may wait for.
  double division64_clocks;          ///< The same where both numbers fit 32 bits.
  double division64_wide_clocks;     ///< And where they do not.
  double slots_per_instruction;      ///< machine instructions for one instruction of the compiler's representation
  double atomic_float_seconds;       ///< from one addition to a float to the next at its address
  double atomic_integer_seconds;     ///< the same of integers
  double atomic_request_seconds;     ///< a line is busy with a request's atomics for so long at least
  double atomic_sector_seconds;      ///< and so long with each of their sectors
  double atomic_sectors_per_second;  ///< turns on different lines, of the whole card
  double retry_seconds;              ///< from one try of a loop of compare and swap to the next, alone
  double retry_packet_seconds;       ///< of a line, for the tries that a request has there
  double retry_turn_seconds;         ///< of a line, for each try at one word of it
  double retry_sectors_per_second;   ///< tries on different lines, of the whole card
  double shared_retry_clocks;        ///< from one addition to a float in shared memory to the next at its address
  double exchange_clocks;            ///< the same by a loop of compare and swap that the kernel writes down, alone
  double exchange_wavefront_clocks;  ///< more, for each wavefront of the tries beside it
  double dram_atomic_seconds;        ///< more than its bytes take, for a sector that an atomic brings from the DRAM
  std::size_t l1_bytes;              ///< L1 and shared memory together, of one multiprocessor
};

/// The card being emulated, by `WARPBOOK_GPU` (h200 when unset). An unknown name ends the program with one line,
/// status 2.
const DeviceTable& device_table();

/// The card of this key, or nullptr.
const DeviceTable* find_device(std::string_view key);

/// Blocks that one multiprocessor holds at a time, by threads, shared memory and an assumed register use.
unsigned resident_blocks(const DeviceTable& device, unsigned threads, std::size_t shared_bytes);

/// Clocks per second of the multiprocessors.
inline double clock_hz(const DeviceTable& device) { return device.clock_khz * 1e3; }

}  // namespace warpbook::emulator
