// The emulator's counters of chapter 5's steps against values worked out by hand.
//
// A request is one memory instruction of a warp. A sector is 32 aligned bytes that it touches. All arrays begin at
// multiples of 256 bytes.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "tests/chapters/counting.hpp"

namespace warpbook::chapter5 {

Chapter chapter();  // chapter.cu

namespace {

/// What the emulator counted of one launch.
struct Counted {
  double load_requests, load_sectors, add_requests, add_sectors;
  double divisions_32, divisions_64;
};

/// Verifies a step on a case, every block traced.
Counted count(const std::string& version, const std::string& parameters) {
  const emulator::LaunchReport seen = count_launch(chapter5::chapter(), version, parameters);
  // Additions whose old value nobody wants are reductions; an atomicAdd of the toolkit may be counted as either.
  const auto adds = [&](const std::string& of) {
    return seen.counter("l1tex__t_" + of + "_pipe_lsu_mem_global_op_red.sum") +
           seen.counter("l1tex__t_" + of + "_pipe_lsu_mem_global_op_atom.sum");
  };
  return {seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
          seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
          adds("requests"),
          adds("sectors"),
          seen.counter("warpbook__integer_divisions_32bit.sum"),
          seen.counter("warpbook__integer_divisions_64bit.sum")};
}

}  // namespace

TEST_CASE("chapter 5, v1 to v6: the same accesses, fewer and fewer divisions") {
  // 64 entries of 32 floats, each to a row of its own: a warp takes one row. It loads the index once (all lanes the
  // same 8 bytes: 1 sector) and 128 bytes of src (4), and adds to 128 bytes of dst (4).
  const std::string rows = "shape=64,32 dim=0 count=64 draw=distinct dtype=float";
  const auto check = [&](const std::string& version, double divisions_32, double divisions_64) {
    const Counted seen = count(version, rows);
    CHECK(seen.load_requests == 64 + 64);
    CHECK(seen.load_sectors == 64 + 64 * 4);
    CHECK(seen.add_requests == 64);
    CHECK(seen.add_sectors == 64 * 4);
    CHECK(seen.divisions_32 == divisions_32);
    CHECK(seen.divisions_64 == divisions_64);
  };
  const double elements = 64 * 32;
  check("v1", 0, 2 * elements);             // A quotient, with its remainder, for each dimension of src.
  check("v2", 0, 2 * elements);             // For the inner of a row's two dimensions, in dst and in src.
  check("v3", 0, 3 * elements);             // And one for the entry.
  check("v5", elements, 0);                 // The row has one dimension; the entry is left.
  check("multiply_subtract", elements, 0);  // clang merges n / d and n % d; nvcc does not.
  check("v6", 0, 0);
}

TEST_CASE("chapter 5, v7a and v7b: pairs of halves, and words") {
  SECTION("pairs cover 4 bytes for each half") {
    // 64 entries of 128 halves: 4 warps a row, each 64 bytes, 2 sectors, on both sides.
    const Counted seen = count("v7a", "shape=64,128 dim=0 count=64 draw=distinct dtype=half");
    CHECK(seen.load_requests == 256 + 256);
    CHECK(seen.load_sectors == 256 + 256 * 2);
    CHECK(seen.add_requests == 256);
    CHECK(seen.add_sectors == 256 * 2 * 2);  // Two lanes at each word: a sector takes a turn for either.
  }
  SECTION("a warp takes four rows of 128 bytes") {
    // 16 requests each for four numbers of the index (32 bytes), for src and for dst (16 sectors).
    const Counted seen = count("v7b", "shape=64,32 dim=0 count=64 draw=distinct dtype=float");
    CHECK(seen.load_requests == 16 + 16);
    CHECK(seen.load_sectors == 16 + 16 * 16);
    CHECK(seen.add_requests == 16);
    CHECK(seen.add_sectors == 16 * 16);
    CHECK(seen.divisions_32 == 0);
    CHECK(seen.divisions_64 == 0);
  }
}

TEST_CASE("chapter 5, v7b: runs that are no whole number of 16 bytes") {
  SECTION("36 halves go in words of 8 bytes") {
    // 8 entries of 4 runs of 36 halves: 9 words each, so 288 threads, 9 warps, in runs of 72 bytes. dst has 8 rows and
    // src 8 entries, so both lie the same way.
    const Counted seen = count("v7b", "shape=4,8,36 dim=1 count=8 draw=distinct dtype=half");
    CHECK(seen.load_requests == 9 + 9);
    CHECK(seen.add_requests == 9);
  }
  SECTION("10 go in words of 4") {
    // 5 words a run, 4 runs an entry: 160 threads.
    const Counted seen = count("v7b", "shape=4,8,10 dim=1 count=8 draw=distinct dtype=bfloat16");
    CHECK(seen.load_requests == 5 + 5);
    CHECK(seen.add_requests == 5);
  }
  SECTION("35 go one by one") {
    const Counted seen = count("v7b", "shape=4,8,35 dim=1 count=8 draw=distinct dtype=half");
    CHECK(seen.load_requests == 35 + 35);  // 1120 threads.
    CHECK(seen.add_requests == 35);
  }
}

TEST_CASE("chapter 5, v8a: every block looks at the index, and nothing is atomic") {
  // A block an entry, one warp: its own number (1 sector), its row of src (4), two looks at 32 numbers (8 each), the
  // row of dst (4).
  const Counted seen = count("v8a", "shape=64,32 dim=0 count=64 draw=distinct dtype=float");
  CHECK(seen.load_requests == 64 * 5);
  CHECK(seen.load_sectors == 64 * (1 + 4 + 16 + 4));
  CHECK(seen.add_requests == 0);

  // Fewer rows than entries: a block a row. The row of dst (4 sectors), two looks (8 each), and of src the rows that
  // name it (4 each, 64 in all).
  const Counted by_row = count("row_owner", "shape=2,32 dim=0 count=64 dtype=float");
  CHECK(by_row.load_requests == 2 * (1 + 2) + 64);
  CHECK(by_row.load_sectors == 2 * (4 + 16) + 64 * 4);
  CHECK(by_row.add_requests == 0);
}

TEST_CASE("chapter 5, v8b: a stretch of entries of one row is one reduction") {
  // 16 tiles of 256 entries of 8 words: 64 groups of 8 lanes walk over 4 entries each, and leave one sum, four groups a
  // warp. v7b adds all 4096 entries, four a warp.
  const std::string same = "shape=300,32 dim=0 count=4096 draw=same dtype=float";
  CHECK(count("v8b", same).add_requests == 16 * 64 / 4);
  CHECK(count("v7b", same).add_requests == 4096 / 4);
}

}  // namespace warpbook::chapter5

#endif
