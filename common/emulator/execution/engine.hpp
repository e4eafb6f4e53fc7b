/// \file
/// What the emulator's engine shows to the parts that watch it.
///
/// The engine runs kernels: blocks on operating system threads (workers), a block's CUDA threads as fibers of one
/// worker. It knows nothing of counters, checks or models; whoever wants to see installs an `Observer`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/include/driver_types.h"
#include "common/emulator/include/vector_types.h"
#include "common/emulator/include/warpbook_export.h"

namespace warpbook::emulator {

/// Lanes in a warp.
inline constexpr unsigned kWarpSize = 32;

/// One kernel launch. Lives until its `launch_end` has returned.
struct LaunchInfo {
  const void* kernel = nullptr;          ///< the kernel's host address
  const char* name = "";                 ///< demangled, without the parameter list; lives as long as the program
  dim3 grid;                             ///< blocks
  dim3 block;                            ///< threads
  std::size_t dynamic_shared_bytes = 0;  ///< as launched
  std::size_t static_shared_bytes = 0;   ///< of the kernel's own `__shared__` arrays, 0 where it cannot be told
  std::uint64_t id = 0;                  ///< counts launches, from 1
  bool cooperative = false;              ///< all blocks are on the card at a time, and may meet
  bool from_graph = false;               ///< launched by a graph: less launch overhead
  unsigned resident_blocks = ~0U;        ///< that the card holds at a time
  dim3 cluster;                          ///< blocks of a cluster, which divide the grid
  const void* arguments = nullptr;       ///< the kernel's, while it runs
  std::size_t argument_bytes = 0;        ///< all of them
  std::size_t child = 0;                 ///< of a kernel that a kernel asked for: what the observer gave for it

  /// Blocks of a cluster in all; 1: there are none.
  unsigned cluster_blocks() const { return cluster.x * cluster.y * cluster.z; }
};

/// The block that an operating system thread runs, and the CUDA thread in it that runs now.
struct BlockContext {
  const LaunchInfo* launch = nullptr;   ///< What is launched.
  uint3 block_index{};                  ///< `blockIdx`.
  std::uint64_t linear_block = 0;       ///< x fastest
  uint3 thread_index{};                 ///< of the CUDA thread that runs now
  unsigned thread = 0;                  ///< its linear index, x fastest; its warp is `thread / kWarpSize`
  unsigned threads = 0;                 ///< threads of the block
  unsigned worker = 0;                  ///< from 0; a worker runs one block at a time
  std::byte* dynamic_shared = nullptr;  ///< `launch->dynamic_shared_bytes` bytes, poisoned for each block
  void* observer_data = nullptr;        ///< the observer's own; nullptr at `block_begin`
  bool traced = false;                  ///< the observer's: set in `block_begin`
  bool aborted = false;                 ///< set once the block was ended by `abort_kernel`
};

/// The running block of this operating system thread; nullptr outside of kernels.
extern thread_local constinit BlockContext* current_block __attribute__((tls_model("initial-exec")));
/// Its `observer_data`; nullptr outside of kernels. Each access asks for it.
extern thread_local constinit void* current_observer_data __attribute__((tls_model("initial-exec")));

/// While it lives, this thread's accesses are its own: text is made by library functions that the program may hold an
/// instrumented copy of, whose callbacks would come back here. To be gone before `abort_kernel`, which destroys
/// nothing.
class Unwatched {
public:
  Unwatched() : block_(current_block), observer_data_(current_observer_data) {
    current_block = nullptr;
    current_observer_data = nullptr;
  }
  ~Unwatched() {
    current_block = block_;
    current_observer_data = observer_data_;
  }
  Unwatched(const Unwatched&) = delete;
  Unwatched& operator=(const Unwatched&) = delete;

private:
  BlockContext* block_;
  void* observer_data_;
};

/// What met: all threads of a block at a barrier; lanes of a warp at one (`__syncwarp`); or lanes at a shuffle, a vote
/// or a match, where they wait for each other, and nothing orders what they do to memory.
enum class SyncScope { block, warp, exchange };

/// What an access reported by the engine itself does. `float_atomic`: an addition to floats, for which shared memory
/// has no instruction. `copied`: written to shared memory by an asynchronous copy, which is no store.
enum class AccessKind { read, write, atomic, float_atomic, copying, copied };

/// What a memory copy joins.
enum class CopyKind { host_to_device, device_to_host, device_to_device, host_to_host, fill };

/// An error that a call of the program to the runtime returned.
struct ApiError {
  const char* function = "";        ///< The function's name.
  const void* pc = nullptr;         ///< where the program called it
  cudaError_t error = cudaSuccess;  ///< What it returned.
  const char* name = "";            ///< The error's name.
  const char* text = "";            ///< What CUDA says of it.
  const char* kind = "api_error";   ///< The finding's kind, as reports have it.
  std::string advice;               ///< what was wrong, where more is known than the error says
};

/// What a copy reads or writes: rows of `width` bytes, `pitch` apart.
struct CopiedRows {
  const void* begin = nullptr;  ///< the first row
  std::size_t pitch = 0;        ///< bytes from a row to the next
  std::size_t width = 0;        ///< bytes of a row
  std::size_t height = 0;       ///< how many rows
};

struct Allocation;
struct AsyncWork;

/// Follows what the engine does. The defaults do nothing, so that the engine works with none.
///
/// `block_*`, `thread_*`, `sync`, `access` and `worker_end` come from several workers at a time.
class Observer {
public:
  virtual ~Observer() = default;

  /// Before the first block of a launch.
  virtual void launch_begin(const LaunchInfo&) {}
  /// Before the block's first thread; sets `BlockContext::traced` (and `observer_data`).
  virtual void block_begin(BlockContext&) {}
  /// A thread of a traced block has returned from the kernel; `BlockContext::thread` says which.
  virtual void thread_end(BlockContext&) {}
  /// Others may run before this thread of a traced block goes on, which `BlockContext::thread` says: it comes to a
  /// barrier of the block; or it does not, and comes to a meeting of its warp or lets others run.
  virtual void thread_stops(BlockContext&, bool /*at_barrier*/) {}
  /// All threads of the block wait for other blocks, which may run before it goes on.
  virtual void block_waits(BlockContext&) {}
  /// A barrier is complete, before anyone goes on: `__syncthreads` (warp 0, mask all ones) or a warp-level meeting of
  /// the live lanes `mask` of `warp`. Called once a barrier, in every block.
  virtual void sync(BlockContext&, SyncScope, unsigned /*warp*/, std::uint32_t /*mask*/) {}
  /// An access that instrumentation cannot see, made by the engine for the kernel: CUDA's atomics and asynchronous
  /// copies. Comes before the access itself, in every block; `pc` is the return address in the kernel's code.
  virtual void access(BlockContext&, AccessKind, const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/) {}
  /// What `address` holds was, or may have been, read before the kernel wrote there: by a load that does not see what
  /// the kernel writes; or, of a `copy` that is done now, before what it read was changed.
  virtual void stale_read(BlockContext&, const void* /*address*/, unsigned /*bytes*/, const void* /*pc*/,
                          bool /*copy*/) {}
  /// A barrier of a traced block is complete, and a copy that `thread` asked for is still under way; or it begins.
  virtual void copy_goes_on(BlockContext&, unsigned /*thread*/, const void* /*shared*/, unsigned /*bytes*/,
                            const void* /*pc*/, bool /*begins*/) {}
  /// After the block's last thread, also when it was aborted.
  virtual void block_end(BlockContext&) {}
  /// A worker finds no more blocks to run; others may be at theirs. Called by each worker that took part.
  virtual void worker_end(const LaunchInfo&, unsigned /*worker*/) {}
  /// After the last block, and after each worker's end. Returns the launch's modelled time in seconds.
  virtual double launch_end(const LaunchInfo&) { return 0.0; }

  /// The modelled time of a copy or fill, by itself or as part of a graph, in seconds.
  virtual double copy_seconds(CopyKind, std::size_t /*bytes_read*/, std::size_t /*bytes_written*/,
                              bool /*from_graph*/) {
    return 0.0;
  }
  /// The source line of a code address, as "file:line", or "" where unknown.
  virtual std::string locate(const void* /*pc*/) { return {}; }
  /// The same of the running thread; of a place in a library, the line that leads there.
  virtual std::string locate_caller(const void* /*pc*/) { return {}; }
  /// A mistake that the engine found, as text of whole lines; `kind` is one word ("deadlock", "assert", ...), `pc` the
  /// place in the program. The default prints the text to standard error.
  WARPBOOK_EXPORT virtual void report(const char* kind, const void* pc, const std::string& text);

  /// A call to the runtime failed. Not told of calls that return an earlier, sticky error.
  virtual void api_failed(const ApiError&) {}
  /// The device has an error that stays; cudaSuccess: it has none any more.
  virtual void error_stays(cudaError_t) {}
  /// True where blocks must run one after the other, on one operating system thread. Asked once a launch, after
  /// `launch_begin`.
  virtual bool in_order() { return false; }
  /// The host, or a copy, wrote device memory.
  virtual void memory_written(const void* /*address*/, std::size_t /*bytes*/) {}
  /// A copy within device memory, before it is done.
  virtual void memory_copied(const void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) {}
  /// The host is about to get a copy of device memory, which the program asked for at `pc`.
  virtual void host_reads(const CopiedRows& /*rows*/, const void* /*pc*/) {}
  /// One side of a copy, or a memset, is about to be done.
  virtual void copy_begins(const AsyncWork&) {}
  /// An allocation is about to go.
  virtual void memory_freed(const Allocation&) {}
  /// Whole warps of a block met at different barriers of the source: a GPU takes them for one.
  virtual void barriers_differ(BlockContext&, const void* /*pc*/, const void* /*other_pc*/) {}
  /// A lane shuffled with one that does not take part, and gets anything.
  virtual void inactive_shuffle(BlockContext&, const void* /*pc*/, unsigned /*lane*/, unsigned /*source*/) {}
  /// The program is about to be ended by a signal: what was found has to be told now.
  virtual void crashing() {}
  /// The host touches memory that it shares with the device.
  virtual void host_touched(const void* /*address*/, std::size_t /*bytes*/, bool /*writes*/, const void* /*pc*/) {}
  /// The host looks at such memory by a volatile or atomic access.
  virtual void host_polled(const void* /*address*/, std::size_t /*bytes*/) {}
  /// The host or a stream was told to wait for an event; `recorded` false: it had nothing to wait for.
  virtual void event_waited(const void* /*event*/, bool /*recorded*/, const void* /*pc*/) {}
  /// A memset is asked for with a value of which it only uses the lowest byte, or as many as `bytes`.
  virtual void fill_cut(double /*value*/, unsigned /*bytes*/, const void* /*pc*/) {}
  /// An event is about to go.
  virtual void event_gone(const void* /*event*/) {}
  /// A thread ordered its accesses before and after a fence; `of_block`: for the threads of its block alone.
  virtual void fence(BlockContext&, bool /*of_block*/) {}
  /// A thread of each block comes to a barrier of the whole grid (`arrives`), or goes on from it: as if by an atomic.
  virtual void grid_barrier(BlockContext&, bool /*arrives*/) {}
  /// All threads of the block came to the barrier of its cluster (`arrives`), or all blocks have.
  virtual void cluster_barrier(BlockContext&, bool /*arrives*/) {}
  /// The running thread asks for a kernel, which may run beside its own. Returns what the kernel's `LaunchInfo::child`
  /// is to be; 0 where nothing is to be said of it.
  virtual std::size_t asks_for_kernel(BlockContext&) { return 0; }
  /// What would make the running launch faster, as the user would write it and what it costs; "" where nothing would.
  virtual std::string faster_option() { return {}; }
};

/// Installs the observer (nullptr: none). It must outlive all launches; none may be running.
WARPBOOK_EXPORT void set_observer(Observer* observer);
/// The installed observer, or one that does nothing.
WARPBOOK_EXPORT Observer& observer();

/// Ends the running kernel with an error. Call it from inside a kernel's thread (from `thread_end`, `sync`, `access` or
/// an access callback): it does not return, the block's threads end where they are, without destructors; blocks not yet
/// begun do not run. The error is sticky, as CUDA has it: every later call returns it until `cudaDeviceReset`.
[[noreturn]] WARPBOOK_EXPORT void abort_kernel(cudaError_t error);

/// A thread has read what it may be waiting for, by something atomic or volatile: where it finds the same again and
/// again, others run. Does not return where they ended the launch.
void poll(const void* address, unsigned bytes, const void* pc);

/// "block (1,0,0), thread (5,0,0)" of the running thread, for reports.
WARPBOOK_EXPORT std::string describe_thread(const BlockContext& block);

// ---- Memory -------------------------------------------------------------------------------------------------

/// Which call made an allocation.
enum class MemoryKind { device, managed, pinned_host };

/// A live allocation.
struct Allocation {
  std::byte* begin = nullptr;  ///< The first byte that was given out.
  std::size_t bytes = 0;       ///< as asked for
  std::uint64_t serial = 0;    ///< counts allocations, from 1: a later allocation never carries an earlier one's
  MemoryKind kind = MemoryKind::device;  ///< Whose memory it is.
  const void* pc = nullptr;              ///< where the program allocated it
};

/// An allocation that was freed.
struct FreedAllocation {
  Allocation allocation;     ///< As it was.
  const void* pc = nullptr;  ///< where the program freed it; nullptr where the device was reset
};

/// All allocations lie in one reserved range of addresses: [arena_begin, arena_end). Constant once a kernel runs.
extern WARPBOOK_EXPORT std::byte* arena_begin;
extern WARPBOOK_EXPORT std::byte* arena_end;  ///< Where the arena's address range ends.

/// Whether an address belongs to the arena (live or not).
inline bool in_arena(const void* address) {
  return static_cast<const std::byte*>(address) >= arena_begin && static_cast<const std::byte*>(address) < arena_end;
}

/// The live allocation that holds the address; nullptr where there is none: in a guard zone, freed, elsewhere. Takes no
/// lock. Allocations start at multiples of 64 KiB and at least 64 KiB of guard zone, which faults, follow the last
/// page.
WARPBOOK_EXPORT const Allocation* find_allocation(const void* address);

/// For reports: the allocation that held the address last, and was freed; its serial is 0 where there is none.
WARPBOOK_EXPORT FreedAllocation find_freed(const void* address);

/// All live allocations, the oldest first.
WARPBOOK_EXPORT std::vector<Allocation> live_allocations();

/// For reports: the live allocation nearest to an address of the arena, or nullptr.
WARPBOOK_EXPORT const Allocation* nearest_allocation(const void* address);

/// A range of addresses: [begin, end).
struct AddressRange {
  const std::byte* begin = nullptr;  ///< The first byte.
  const std::byte* end = nullptr;    ///< Behind the last byte.
  /// Whether the address lies in the range.
  bool contains(const void* address) const {
    return static_cast<const std::byte*>(address) >= begin && static_cast<const std::byte*>(address) < end;
  }
};

/// The thread-local storage of the module with the kernels, on the calling operating system thread: where the
/// `__shared__` arrays of the block that it runs lie (and the module's own thread-locals). Constant once there was a
/// launch.
WARPBOOK_EXPORT AddressRange shared_range();

/// The stacks of the CUDA threads of the calling worker: what is local memory to a kernel.
WARPBOOK_EXPORT AddressRange local_range();
/// Of these, the running thread's: its arrays alone, where they are kept apart. All of them where the address lies in a
/// guard page: a thread that outgrows its stack gets the signal.
WARPBOOK_EXPORT AddressRange own_stack(const void* address);

/// Where the arrays lie that a thread keeps apart from its stack, and the place of the pointer to the last of them;
/// none where it keeps them on its stack. Then no pointer of its own leads to where its functions return.
struct ArraysApart {
  AddressRange range;          ///< They begin at its end, and go downwards.
  std::byte** last = nullptr;  ///< Where the last one begins.
};

/// Those of the running thread.
WARPBOOK_EXPORT ArraysApart own_arrays();

// ---- Symbols ------------------------------------------------------------------------------------------------

/// A `__shared__` array, as the program's symbol table has it.
struct SharedArray {
  std::string function;    ///< demangled, of the function that declares it; "" for one at namespace scope
  std::string name;        ///< As it is written in the kernel.
  std::size_t offset = 0;  ///< from `shared_range().begin`
  std::size_t bytes = 0;   ///< Its size.
};

/// All `__shared__` arrays of the program, by offset. Read once. Empty where the program was stripped.
WARPBOOK_EXPORT const SharedArray* shared_arrays(std::size_t& count);

/// The demangled name of the function at an address, without the parameter list; "?" where unknown.
WARPBOOK_EXPORT std::string function_name(const void* code);

}  // namespace warpbook::emulator
