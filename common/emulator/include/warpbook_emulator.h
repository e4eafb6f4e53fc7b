/// \file
/// What the emulator saw: counters, modelled times, mistakes. For tests and tools; kernels and launchers need none of
/// it.
#pragma once

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

/// The name of the emulated card, as CUDA gives it.
WARPBOOK_EXPORT const char* device_name();

}  // namespace warpbook::emulator
