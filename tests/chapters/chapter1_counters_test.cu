// The emulator's counters of chapter 1's steps against values worked out by hand.
//
// A request is one memory instruction of a warp, a sector 32 aligned bytes that it touches. Arrays have 8192 elements
// and begin at multiples of 256 bytes unless the case says otherwise.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "common/harness/verify.hpp"

namespace warpbook::chapter1 {

Chapter chapter();  // chapter.cu

namespace {

const std::string kFloat = "n=8192 op=mul dtype=float";
const std::string kHalf = "n=8192 op=mul dtype=half";

/// Verifies a step on a case, every block traced, and compares its requests and sectors with those given.
void check_global(const std::string& version, const std::string& parameters, double load_requests, double load_sectors,
                  double store_requests, double store_sectors) {
  INFO(version << " on " << parameters);
  const Chapter chapter = chapter1::chapter();
  const auto step =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [&](const Step& s) { return s.version == version; });
  REQUIRE(step != chapter.steps.end());
  const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse(parameters));
  emulator::set_trace(emulator::TraceMode::all);
  const Verification found = verify_step(*step, *problem, 1);
  emulator::set_trace(emulator::TraceMode::sample);
  INFO(found.reason);
  REQUIRE(found.status == Status::pass);
  const emulator::LaunchReport seen = emulator::last_launch();
  REQUIRE_FALSE(seen.extrapolated);
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") == load_requests);
  CHECK(seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == load_sectors);
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum") == store_requests);
  CHECK(seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") == store_sectors);
  CHECK(seen.counter("warpbook__integer_divisions_64bit.sum") == 0);
}

}  // namespace

TEST_CASE("chapter 1, v1 and v2: one element a lane") {
  // 8192 / 32 = 256 requests an array; 32 floats are 4 sectors, 32 halves 2.
  for (const std::string version : {"v1", "v2"}) {
    check_global(version, kFloat, 2 * 256, 2 * 256 * 4, 256, 256 * 4);
    check_global(version, kHalf, 2 * 256, 2 * 256 * 2, 256, 256 * 2);
  }
}

TEST_CASE("chapter 1, v3 to v6: 16 bytes a lane") {
  // A request has 512 bytes, 16 sectors: 64 requests for 32 KiB of floats, 32 for 16 KiB of halves. The same sectors as
  // v1, a quarter and an eighth of its requests.
  for (const std::string version : {"v3", "v5a", "v5b", "v5c", "v6"}) {
    check_global(version, kFloat, 2 * 64, 2 * 64 * 16, 64, 64 * 16);
    check_global(version, kHalf, 2 * 32, 2 * 32 * 16, 32, 32 * 16);
  }
  check_global("v4", kHalf, 2 * 32, 2 * 32 * 16, 32, 32 * 16);
}

TEST_CASE("chapter 1, v6: the head of arrays that are displaced alike") {
  // Three floats up to the boundary, 2047 packs, one float behind. The packs begin 16 bytes behind a sector: 63
  // requests of 512 bytes in 17 sectors, one of 496 bytes in 16. The edge is one request, in a sector at each end. The
  // last thread lacks its second pack and loads its first again, which is a sector more for each input.
  constexpr double kSectors = 63 * 17 + 16 + 2;
  check_global("v6", kFloat + " offset=1", 2 * (64 + 1), 2 * (kSectors + 1), 64 + 1, kSectors);
}

TEST_CASE("chapter 1, v6: an input displaced otherwise is read by aligned words, two a pack") {
  // 2^19 elements: below 2^18 they would go singly. z and x are aligned, y begins 8 bytes behind a boundary. The first
  // pack would need the word before y: four floats go to the head, four to the tail. 131070 packs from byte 16 on: 4095
  // requests of 17 sectors, one of 480 bytes in 16. Both inputs are asked for two words a pack: x for the same one
  // twice; y for the one that begins at its byte 16, and for the next, from byte 32 on: 4095 requests of 16 sectors,
  // one of 15. Edges: a sector at each end, and one more in y, where the last four floats lie across a boundary.
  constexpr double kUneven = 4095 * 17 + 16;
  constexpr double kEven = 4095 * 16 + 15;
  const double x = 2 * kUneven + 2;
  const double y = kUneven + kEven + 3;
  check_global("v6", "n=524288 op=mul dtype=float offset=0,0,2", 4 * 4096 + 2, x + y, 4096 + 1, kUneven + 2);
}

TEST_CASE("chapter 1, v6: few elements that would have to be shifted go singly") {
  // As in v1: 256 requests, of which those of y cross a sector's boundary: 5 sectors instead of 4.
  check_global("v6", kFloat + " offset=0,0,2", 2 * 256, 256 * 4 + 256 * 5, 256, 256 * 4);
}

}  // namespace warpbook::chapter1

#else

TEST_CASE("chapter 1's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
