/// \file
/// Where an access may go, and what is said of one that went elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/execution/engine.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/trace.hpp"

namespace warpbook::emulator {

/// The piece of memory that an address belongs to.
struct Home {
  Space space = Space::elsewhere;         ///< Which memory the address belongs to.
  AddressRange range;                     ///< all that may be touched with it
  bool bad = false;                       ///< the access leaves what may be touched
  MemoryKind kind = MemoryKind::managed;  ///< of an allocation; managed where it is none
};

/// Finds out what a kernel's access touches.
Home find_home(const BlockContext& block, const void* address, std::size_t bytes);

/// True when the address is in the shared arrays or next to them.
bool is_near_shared(const void* address, const AddressRange& shared);

/// The last shared array that begins at or before the address; nullptr where there is none.
const SharedArray* array_at(const void* address, const AddressRange& all);

/// What can be wrong with an address.
enum class BadAccess { out_of_bounds, misaligned };

/// Reports a bad access and ends the kernel with the error that CUDA gives for it.
[[noreturn]] void bad_access(const BlockContext& block, const Home& home, const void* address, std::size_t bytes,
                             Operation operation, const void* pc, BadAccess kind);

/// An access that leaves a thread's own array.
struct LocalAccess {
  std::int64_t offset;             ///< in bytes, from the array's begin
  std::uint64_t bytes;             ///< Of the access.
  std::uint64_t array_bytes;       ///< Of the array.
  Operation operation;             ///< What was done.
  const void* variable = nullptr;  ///< The array, where it is one outside of functions.
};

/// False where this machine chose the address: of a thread's own variables, and of what a kernel was given.
bool is_placed_by_program(Space space, const void* address);

/// Tells of a member that is accessed of what does not begin where its type may.
void report_misaligned_member(const BlockContext& block, const void* address, std::size_t alignment,
                              Operation operation, const void* pc);

/// Tells of an index that leaves a row, or an array in a struct.
void report_row_bounds(const BlockContext& block, std::int64_t index, std::uint64_t elements, const void* pc);

/// Reports it and ends the kernel.
[[noreturn]] void bad_local_access(const BlockContext& block, const LocalAccess& access, const void* pc);
/// The same of an atomic on a thread's own variable.
[[noreturn]] void local_atomic(const BlockContext& block, unsigned bytes, const void* pc);
/// The same of a loop that nothing leads out of.
[[noreturn]] void endless_loop(const BlockContext& block, const void* pc);

/// The same of an access to one that has ended, at `ended_at`; nullptr: its function has returned.
[[noreturn]] void ended_local(const BlockContext& block, std::size_t bytes, Operation operation, const void* pc,
                              const void* ended_at);

/// The same of one that begins where its type may not; nothing is known of the array's length.
[[noreturn]] void misaligned_local_access(const BlockContext& block, const LocalAccess& access, const void* pc);

/// One side of a finding: an instruction and the thread that ran it.
struct Actor {
  const void* pc;       ///< Where in the program.
  unsigned thread;      ///< linear index
  Operation operation;  ///< What it did.
  bool copied = false;  ///< An asynchronous copy did it.
};

/// Reports two accesses to shared memory, at least one of them a write, with no barrier between them. `exchanged`: a
/// shuffle or a vote is.
void report_race(const BlockContext& block, const Actor& one, const Actor& other, const void* address, bool exchanged);

/// Reports two accesses of blocks of a cluster, by their linear index, to the shared memory of one of them, at least
/// one of them a write, with no barrier of the cluster between them.
void report_cluster_race(const BlockContext& block, const Actor& one, std::uint64_t one_block, const Actor& other,
                         std::uint64_t other_block, const void* address);

/// Reports a read of shared memory that no thread of the block has written, or only, at `stored_at`, with what has no
/// value.
void report_uninitialised(const BlockContext& block, const Actor& reader, std::size_t bytes, const void* address,
                          const void* stored_at);

/// Two accesses to global memory by different threads, at least one of them a write, that nothing orders.
Finding global_race(const BlockContext& block, const GlobalRace& race, const void* pc, const void* other_pc);

/// An access of the running launch, and work of another stream that nothing orders before it.
struct StreamRace {
  const void* address;   ///< Where.
  Actor actor;           ///< Whose access it is.
  const void* other_pc;  ///< The other kernel's access, or the call that asked for the copy.
  bool other_writes;     ///< or reads
  const char* other;     ///< "kernel", "copy" or "memset"
  const char* kernel;    ///< The other one's name, where it is a kernel.
};

/// Reports it.
void report_stream_race(const BlockContext& block, const StreamRace& race);

/// Reports the same of an access of the kernel that asked for the running one.
void report_parent_race(const BlockContext& block, const StreamRace& race);

/// Reports a read of global memory that nobody has written.
void report_uninitialised_global(const BlockContext& block, const Actor& reader, std::size_t bytes,
                                 const void* address);

/// Where a thread reads a variable of its own, and where what it read matters; the latter is null where it is the same.
struct UnsetRead {
  const void* pc;       ///< The read.
  const void* used_at;  ///< The use.
};

/// Reports a kernel's call of a virtual function of an object that came as a copy from the host.
void report_hosts_table(const BlockContext& block, const void* object, const void* pc);

/// Reports a read of a thread's own variable that has no value yet.
void report_uninitialised_local(const BlockContext& block, std::size_t bytes, const UnsetRead& read);

/// A load that does not see what its kernel writes, at `writer`; or a copy whose source changed while it was under way.
void report_stale_read(const BlockContext& block, const void* address, const void* pc, const void* writer, bool copy);

/// Whole warps of the block met at these two barriers.
void report_different_barriers(const BlockContext& block, const void* pc, const void* other_pc);

/// The running thread divides an integer by zero.
void report_division_by_zero(const BlockContext& block, const void* pc);

/// A shuffle took its value from a lane that did not take part.
void report_inactive_shuffle(const BlockContext& block, const void* pc, unsigned lane, unsigned source);

}  // namespace warpbook::emulator
