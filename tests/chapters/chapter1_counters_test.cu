// The emulator's counters of chapter 1's steps against values worked out by hand.
//
// A request is one memory instruction of a warp, a sector 32 aligned bytes that it touches. Arrays have 8192 elements
// and begin at multiples of 256 bytes unless the case says otherwise.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <string>

#include "common/harness/chapter.hpp"
#include "tests/chapters/counting.hpp"

namespace warpbook::chapter1 {

Chapter chapter();  // chapter.cu

namespace {

const std::string kFloat = "n=8192 op=mul dtype=float";
const std::string kHalf = "n=8192 op=mul dtype=half";

/// Verifies a step on a case, every block traced, and compares its requests and sectors with those given.
void check_global(const std::string& version, const std::string& parameters, double load_requests, double load_sectors,
                  double store_requests, double store_sectors) {
  const Moves seen = count_moves(chapter(), version, parameters);
  warpbook::check_global(seen, load_requests, load_sectors, store_requests, store_sectors);
  CHECK(seen.divisions_64 == 0);
}

}  // namespace

TEST_CASE("chapter 1, v1 and v2: one element a lane") {
  // 8192 / 32 = 256 requests an array; 32 floats are 4 sectors, 32 halves 2.
  for (const std::string version : {"v1", "v2"}) {
    check_global(version, kFloat, 2 * 256, 2 * 256 * 4, 256, 256 * 4);
    check_global(version, kHalf, 2 * 256, 2 * 256 * 2, 256, 256 * 2);
  }
}

TEST_CASE("chapter 1, v3 to v5, asides and single_packs: 16 bytes per lane") {
  // A request has 512 bytes, 16 sectors: 64 requests for 32 KiB of floats, 32 for 16 KiB of halves. The same sectors as
  // v1, a quarter and an eighth of its requests.
  for (const std::string version : {"v3", "v4", "v5", "one_wave", "packs_in_flight", "streaming", "single_packs"}) {
    check_global(version, kFloat, 2 * 64, 2 * 64 * 16, 64, 64 * 16);
    check_global(version, kHalf, 2 * 32, 2 * 32 * 16, 32, 32 * 16);
  }
  check_global("packed_math", kHalf, 2 * 32, 2 * 32 * 16, 32, 32 * 16);
}

TEST_CASE("chapter 1, v5: the head of arrays that are displaced alike") {
  // Three floats up to the boundary, 2047 packs, one float behind. The packs begin 16 bytes behind a sector: 63
  // requests of 512 bytes in 17 sectors, one of 496 bytes in 16. The edge is one request, in a sector at each end.
  constexpr double kSectors = 63 * 17 + 16 + 2;
  check_global("v5", kFloat + " offset=1", 2 * (64 + 1), 2 * kSectors, 64 + 1, kSectors);
}

// z and x are aligned, y begins 8 bytes behind a boundary. The first pack would need the word before y: four floats go to
// the head, four to the tail. Two fewer packs than the array has, from byte 16 on: a request of 32 has 17 sectors, the
// last one, of 30 packs, 16. Both inputs are asked for two words per pack: x for the same one twice; y for the one that
// begins at its byte 16, and for the next, from byte 32 on: 16 sectors per request, 15 for the last. Edges: a sector at
// each end, and one more in y, where the last four floats lie across a boundary.
void check_shifted(const std::string& version, int count) {
  const int full = count / 128 - 1;  // Requests of 32 packs.
  const double uneven = full * 17 + 16;
  const double even = full * 16 + 15;
  const double x = 2 * uneven + 2;
  const double y = uneven + even + 3;
  check_global(version, "n=" + std::to_string(count) + " op=mul dtype=float offset=0,0,2", 4 * (full + 1) + 2, x + y,
               full + 2, uneven + 2);
}

TEST_CASE("chapter 1: an input displaced otherwise is read by aligned words, two per pack") {
  check_shifted("v5", 8192);
  check_shifted("v6", 1 << 18);
}

TEST_CASE("chapter 1, v6: few elements go singly, or by single packs") {
  // As in v4 where they are whole packs, else as in v1: 256 requests, of which those of a displaced array cross a sector's
  // boundary: 5 sectors instead of 4.
  check_global("v6", kFloat, 2 * 64, 2 * 64 * 16, 64, 64 * 16);
  check_global("v6", "n=8191 op=mul dtype=float", 2 * 256, 2 * 256 * 4, 256, 256 * 4);
  check_global("v6", kFloat + " offset=0,0,2", 2 * 256, 256 * 4 + 256 * 5, 256, 256 * 4);
}

TEST_CASE("chapter 1, v6: many elements go by packs, two per thread") {
  // 2^21 floats are 16384 requests of 16 sectors per array.
  check_global("v6", "n=2097152 op=mul dtype=float", 2 * 16384, 2 * 16384 * 16, 16384, 16384 * 16);
  // Displaced alike, as in v5: but the last thread lacks its second pack and loads its first again, a sector more for
  // each input.
  constexpr double kSectors = 2047 * 17 + 16 + 2;
  check_global("v6", "n=262144 op=mul dtype=float offset=1", 2 * (2048 + 1), 2 * (kSectors + 1), 2048 + 1, kSectors);
}

}  // namespace warpbook::chapter1

#else

TEST_CASE("chapter 1's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
