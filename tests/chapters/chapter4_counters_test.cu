// The emulator's counters of chapter 4's steps against values worked out by hand.
//
// A request is one memory instruction of a warp; a reduction is an atomic operation whose result nobody uses. A
// collision is a lane that meets another lane of its request at an address; in shared memory each costs a wavefront of
// its own.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "tests/chapters/counting.hpp"

namespace warpbook::chapter4 {

Chapter chapter();  // chapter.cu

namespace {

/// What the emulator counted of a step's last launch.
struct Counted {
  double load_requests, load_sectors, red_requests, red_sectors, atom_requests, collisions, shared_atomic_wavefronts;
};

/// Verifies a step on a case, every block traced.
Counted count(const std::string& version, const std::string& parameters) {
  const emulator::LaunchReport seen = count_launch(chapter4::chapter(), version, parameters);
  const auto counter = [&](const char* name) { return std::max(0.0, seen.counter(name)); };
  return {counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
          counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
          counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"),
          counter("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"),
          counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"),
          counter("warpbook__atomic_collisions.sum"),
          counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum")};
}

// 4096 values are 128 warps. Each loads 32 indices of 4 bytes, 4 sectors, and 32 halves, 2 sectors.
const std::string kSame = "count=4096 places=128 skew=same dtype=half index=int32";
const std::string kSameFloat = "count=4096 places=128 skew=same dtype=float index=int32";
const std::string kSorted = "count=4096 places=4096 skew=sorted dtype=half index=int32";
const std::string kSortedFloat = "count=4096 places=4096 skew=sorted dtype=float index=int32";

}  // namespace

// An H200 adds to a single half by a loop: it reads the word, then compares and swaps (ATOM) until no other lane was
// faster. To pairs the steps add by a reduction (RED), which returns nothing.
TEST_CASE("chapter 4: all values to one place") {
  SECTION("v1: of 32 lanes at one address, one succeeds in each of 32 rounds") {
    const Counted seen = count("v1", kSame);
    CHECK(seen.load_requests == 256 + 128);
    CHECK(seen.load_sectors == 128 * (4 + 2 + 1));
    CHECK(seen.red_requests == 0);
    CHECK(seen.atom_requests == 128 * 32);
    CHECK(seen.collisions == 128 * (32 * 31 / 2));  // 31 in the first round, 30 in the second, and so on.
  }
  SECTION("v4: 31 of 32 meet another, once") {
    const Counted seen = count("v4", kSame);
    CHECK(seen.red_requests == 128);
    CHECK(seen.atom_requests == 0);
    CHECK(seen.collisions == 128 * 31);
  }
  SECTION("v5: one lane of each warp") {
    const Counted seen = count("v5", kSameFloat);
    CHECK(seen.load_sectors == 128 * (4 + 4));
    CHECK(seen.red_requests == 128);
    CHECK(seen.collisions == 0);
  }
  SECTION("v6a: the queue is in shared memory, and four blocks add once each") {
    const Counted seen = count("v6a", kSameFloat);
    CHECK(seen.red_requests == 4);
    CHECK(seen.shared_atomic_wavefronts == 128 * 32);
  }
  SECTION("v6b: 16 sums of the place, so that two lanes of a warp meet") {
    const Counted seen = count("v6b", kSameFloat);
    CHECK(seen.red_requests == 4);
    CHECK(seen.shared_atomic_wavefronts == 128 * 2);
  }
  SECTION("v6c: 256 sums of the place, and a request for two values of a thread") {
    const Counted seen = count("v6c", kSameFloat);
    CHECK(seen.load_requests == 64 + 64);
    CHECK(seen.load_sectors == 128 * (4 + 4));
    CHECK(seen.red_requests == 1);  // 4096 values are one block's.
    CHECK(seen.shared_atomic_wavefronts == 128);
  }
  SECTION("v7: both tiles read all, and one of them adds") {
    const Counted seen = count("v7", kSameFloat);
    CHECK(seen.load_requests == 2 * (64 + 64));
    CHECK(seen.red_requests == 2);
    CHECK(seen.shared_atomic_wavefronts == 128 * 32);
  }
}

TEST_CASE("chapter 4: value i goes to place i") {
  SECTION("v1: neighbours share a word, so that it takes two rounds") {
    const Counted seen = count("v1", kSorted);
    CHECK(seen.atom_requests == 128 * 2);
    CHECK(seen.collisions == 128 * 16);
  }
  SECTION("v4: every second lane meets another") {
    const Counted seen = count("v4", kSorted);
    CHECK(seen.red_requests == 128);
    CHECK(seen.collisions == 128 * 16);
  }
  SECTION("v6a, v7 and any_skew_bins: a block's sums pass on one by one, or four at once") {
    // 4096 floats are 512 sectors either way.
    const Counted single = count("v6a", kSortedFloat);
    CHECK(single.red_requests == 4096 / 32);
    CHECK(single.red_sectors == 512);
    for (const char* version : {"v7", "any_skew_bins"}) {
      const Counted vectors = count(version, kSortedFloat);
      CHECK(vectors.red_requests == 4096 / 4 / 32);
      CHECK(vectors.red_sectors == 512);
    }
  }
}

}  // namespace warpbook::chapter4

#else

TEST_CASE("chapter 4's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
