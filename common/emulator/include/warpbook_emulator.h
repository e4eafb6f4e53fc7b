/// \file
/// What the emulator saw: counters, modelled times, mistakes. For tests and tools; kernels and launchers need none of
/// it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "vector_types.h"
#include "warpbook_export.h"

namespace warpbook::emulator {

/// What was seen of one launch, or of several together.
struct LaunchReport {
  unsigned launches = 0;  ///< how many
  std::string kernel;     ///< its name, without parameters
  dim3 grid;
  dim3 block;
  double modelled_seconds = 0;  ///< launch overhead included
  const char* limited_by = "";  ///< the resource that the modelled time is made of: "DRAM", "latency", ...
  bool extrapolated = false;    ///< the counters come from a sample of the blocks
  std::vector<std::pair<const char*, double>> counters;  ///< under Nsight Compute's metric names

  /// A counter by its metric's name; -1 for one that is not counted.
  WARPBOOK_EXPORT double counter(const std::string& metric) const;
};

/// The launch that ended last. Waits for nothing: synchronise first.
WARPBOOK_EXPORT LaunchReport last_launch();

/// The launches that ended since the last call, together: counters and times added up, the rest the longest one's.
WARPBOOK_EXPORT LaunchReport take_launches();

/// Which blocks counters come from. Begins with what `WARPBOOK_TRACE` says (all, first, sample, off), else a sample.
enum class TraceMode {
  off,     ///< none: no counters; the modelled time is that of the launch alone
  first,   ///< all of the first two launches of each kernel and shape, of at most 2^20 threads; a sample of others
  sample,  ///< all of a small launch; of a large one a few runs of blocks, the first and the last among them
  all
};

/// For the launches to come.
WARPBOOK_EXPORT void set_trace(TraceMode mode);

/// Of each launch to come, one block runs, and no other: the one at this share of the grid, from 0, the first, to 1,
/// the last. A negative share: all of them, as at the beginning. For launches that are too large to be run.
WARPBOOK_EXPORT void run_one_block(double share);

/// Device memory of zeros that comes with use, so that there may be more of it than this machine has. No other memory
/// lies within 64 GiB of it. nullptr where there are not so many addresses. cudaFree gives it back.
WARPBOOK_EXPORT void* allocate_sparse(std::size_t bytes);

/// What is checked besides what always is: a list of init, race, leak, api, parted by commas, or all, or none. Begins
/// with what `WARPBOOK_CHECK` says. False where a word is none of these.
WARPBOOK_EXPORT bool set_checks(const std::string& names);

/// Lets something go wrong: "malloc:3", the third allocation from now finds no memory; "launch:2", the device is lost
/// at the second launch from now, and stays so; "", nothing, and a lost device is back. Begins with what
/// `WARPBOOK_FAULT` says. False for any other text.
WARPBOOK_EXPORT bool set_fault(const std::string& what);

/// Follows, from now on, the first warp of each kernel's first launch: which sectors and banks its requests touch. The
/// environment variable `WARPBOOK_ACCESS_MAP` names a file that gets the drawing when the program ends.
WARPBOOK_EXPORT void map_accesses();

/// The drawing of what was seen since `map_accesses`, as SVG; ends it.
WARPBOOK_EXPORT std::string take_access_map(const std::string& title);

/// The mistakes found since the last call, each as text of whole lines, in compute-sanitizer's words where it has them.
WARPBOOK_EXPORT std::vector<std::string> reports();

/// A variable of confined code outside of functions' frames.
struct OwnedPiece {
  const void* begin;     ///< its first byte
  std::size_t bytes;     ///< its size
  std::size_t writable;  ///< 0: it is a constant
};

/// The exit status of a program that ended because confined code left its confinement.
inline constexpr int kConfinedStatus = 86;

/// Before anything is launched that `confine` is for: the arrays of confined functions lie apart from their stacks, so
/// that no pointer of theirs leads to where they return.
WARPBOOK_EXPORT void keep_arrays_apart();
/// For code that nobody trusts, compiled with common/exercises/confine_pass.cpp. Until `release`, this thread's host
/// code writes only its own arrays and these pieces, and touches no device memory; kernels write none of the program's
/// variables but these; and a writable piece is either the host's or the kernels', whoever touches it first. What
/// leaves this ends the program at once, with a line on stderr.
WARPBOOK_EXPORT void confine(const OwnedPiece* pieces, std::size_t count);
/// Ends it.
WARPBOOK_EXPORT void release();

/// Who wrote a byte of device memory last.
enum class Writer : unsigned char { nobody, runtime, kernel };

/// Makes these bytes unwritten again. For this and the next one, `set_checks` has to name init before the memory is
/// allocated.
WARPBOOK_EXPORT void forget_writes(const void* address, std::size_t bytes);
/// The last writer of each byte; a copy's are those of what it copied.
WARPBOOK_EXPORT std::vector<Writer> writers(const void* address, std::size_t bytes);

/// The name of the emulated card, as CUDA gives it.
WARPBOOK_EXPORT const char* device_name();

}  // namespace warpbook::emulator
