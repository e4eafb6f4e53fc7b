/// \file
/// A mark for programs that watch kernels, such as Nsight Compute: what follows it belongs to this step.
#pragma once

#include <string>

namespace warpbook {

/// Launches the empty kernel `step_marker` in a grid of `group` x `member` blocks of one thread, both at least 1, and
/// waits for it. Says so on standard output, too, in a line of fields between tabs: "marker", the two numbers, `what`,
/// `which`. \throws CudaError
void mark_launches(unsigned group, unsigned member, const std::string& what, const std::string& which);

}  // namespace warpbook
