/// \file
/// Drawings of what one warp's requests touch: sectors of memory, and banks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/observation/counters.hpp"

namespace warpbook::emulator {

/// One request of the warp that is drawn.
struct MappedRequest {
  std::string where;                      ///< "file:line", or ""
  Operation operation = Operation::load;  ///< Load, store or atomic.
  bool shared = false;                    ///< To shared memory; else to global memory.
  unsigned bytes = 4;                     ///< a lane
  Request request{};                      ///< addresses as they are in memory
  std::uint64_t base = 0;                 ///< where the array begins that the first lane touches
  unsigned times = 1;                     ///< instructions of this line that touch memory in the same way
};

/// The requests of one kernel's first warp, in the order of the program.
struct MappedKernel {
  std::string name;                     ///< As it is written in C++.
  std::string shape;                    ///< "grid (4,1,1), block (256,1,1)"
  std::vector<MappedRequest> requests;  ///< In the order of the program.
};

/// Joins requests of one line that differ in nothing but how far on they are: the turns of an unrolled loop.
std::vector<MappedRequest> join_alike(std::vector<MappedRequest> requests);

/// One sentence on a request: "32 lanes touch 32 sectors in 32 lines; 128 of the 1024 bytes moved are used."
std::string describe_request(const MappedRequest& request);

/// Which lane is served in which bank in which pass.
struct BankPlan {
  /// By pass and bank: the lanes, as a mask; 0 where the bank rests.
  std::vector<std::array<std::uint32_t, 32>> passes;
  unsigned fewest = 0;  ///< passes that the width needs without conflicts
};

/// The passes of a request to shared memory. There are as many as `shared_cost` or `shared_atomic_cost` counts.
BankPlan plan_banks(const MappedRequest& request);

/// An SVG of all requests, with a text alternative, for light and dark backgrounds.
std::string draw_access_map(const std::string& title, const std::vector<MappedKernel>& kernels);

}  // namespace warpbook::emulator
