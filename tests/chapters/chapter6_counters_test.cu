// The emulator's counters of chapter 6's steps against values worked out by hand.
//
// Two images of 64 rows of 64: 8192 inputs, 32768 outputs. A request is one memory instruction of a warp, a sector 32
// aligned bytes that it touches.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "common/harness/verify.hpp"

namespace warpbook::chapter6 {

Chapter chapter();  // chapter.cu

namespace {

const std::string kImages = "shape=1,2,64,64 dtype=";

struct Traffic {
  double load_requests, load_sectors, store_requests, store_sectors;
};

/// Verifies a step on a case, every block traced, and compares its requests, sectors and divisions with those given.
void check_step(const std::string& version, const std::string& parameters, const Traffic& traffic,
                double divisions_64) {
  INFO(version << " on " << parameters);
  const Chapter chapter = chapter6::chapter();
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
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") == traffic.load_requests);
  CHECK(seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == traffic.load_sectors);
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum") == traffic.store_requests);
  CHECK(seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") == traffic.store_sectors);
  CHECK(seen.counter("warpbook__integer_divisions_64bit.sum") == divisions_64);
}

}  // namespace

TEST_CASE("chapter 6, v1: a request is 32 outputs or inputs, and each divides twice") {
  // Forward: 32 outputs show 16 inputs, 2 sectors of float; 1024 requests. Column and row, each a remainder with its
  // quotient.
  check_step("v1", kImages + "float dir=forward", {1024, 1024 * 2, 1024, 1024 * 4}, 32768 * 2);
  // Backward: four loads, each 32 times every other float: 256 bytes, 8 sectors.
  check_step("v1", kImages + "float dir=backward", {256 * 4, 256 * 4 * 8, 256, 256 * 4}, 8192 * 2);
}

TEST_CASE("chapter 6, v2 and v3: an input, two pairs") {
  // 256 requests of inputs, 4 sectors; two requests of pairs each, 8 sectors. One division in v2, none in v3.
  for (const std::string version : {"v2", "v3"}) {
    const double divisions = version == "v2" ? 8192 : 0;
    check_step(version, kImages + "float dir=forward", {256, 256 * 4, 512, 512 * 8}, divisions);
    check_step(version, kImages + "float dir=backward", {512, 512 * 8, 256, 256 * 4}, divisions);
    check_step(version, kImages + "half dir=forward", {256, 256 * 2, 512, 512 * 4}, divisions);
  }
}

TEST_CASE("chapter 6, v4 and v5: 8 bytes here, 16 there") {
  // 32 KiB of float inputs are 128 requests of 256 bytes, 8 sectors; twice as many of 512 bytes on the other side.
  for (const std::string version : {"v4", "v5a"}) {
    check_step(version, kImages + "float dir=forward", {128, 128 * 8, 256, 256 * 16}, 0);
    check_step(version, kImages + "float dir=backward", {256, 256 * 16, 128, 128 * 8}, 0);
    check_step(version, kImages + "half dir=forward", {64, 64 * 8, 128, 128 * 16}, 0);
    check_step(version, kImages + "half dir=backward", {128, 128 * 16, 64, 64 * 8}, 0);
  }
  // A float row is 32 packs, one warp's, so that v5b loads each row twice: 256 requests.
  for (const std::string version : {"v5b", "v5c"}) {
    check_step(version, kImages + "float dir=forward", {256, 256 * 8, 256, 256 * 16}, 0);
  }
  // A half row is 16 packs: a warp writes two rows, which show the same one. Four sectors a request, not eight.
  check_step("v5b", kImages + "half dir=forward", {128, 128 * 4, 128, 128 * 16}, 0);
}

TEST_CASE("chapter 6, v6a: channels last") {
  // 8 halves a pixel are one pack: 32 x 32 x 2 pixels become four times as many. A request of 32 output pixels is 512
  // bytes; it shows 16 pixels, 8 sectors. Backward 32 input pixels sum every other output pixel: 16 bytes of each 32.
  const std::string images = "shape=2,8,32,32 dtype=half layout=nhwc dir=";
  check_step("v6a", images + "forward", {256, 256 * 8, 256, 256 * 16}, 0);
  check_step("v6a", images + "backward", {64 * 4, 64 * 4 * 32, 64, 64 * 16}, 0);
}

TEST_CASE("chapter 6, v6b: all loads of a window, two rows a thread") {
  // A warp makes two rows of 128, a thread four floats of each; a load of 32 lanes is every other of 64 floats.
  check_step("v6b", "shape=1,1,32,64 dtype=float dir=forward", {32 * 8, 32 * 8 * 8, 32 * 2, 32 * 2 * 16}, 0);
  // Scale 3: a thread takes two neighbours, so that 16 lanes are a row and 512 threads 16 warps; 18 loads each. A load
  // of 16 lanes takes every sixth float of 384 bytes: 12 sectors, and the other row's 12.
  check_step("v6b", "shape=1,1,32,32 scale=3 dtype=float dir=backward", {16 * 18, 16 * 18 * 24, 16, 16 * 8}, 0);
}

TEST_CASE("chapter 6, v6c stores words of rows that packs do not divide") {
  // 60 tiles of one row of 101 floats, four rows of which begin 0, 1, 2 and 3 floats past a 16-byte boundary. Their
  // words are a request, what is before them another, and what is behind a third: 2, 3, 3 and 2 for the four.
  const Chapter chapter = chapter6::chapter();
  const auto step =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [](const Step& s) { return s.version == "v6c"; });
  REQUIRE(step != chapter.steps.end());
  const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse("shape=1,1,30,50 size=60,101 dtype=float"));
  REQUIRE(verify_step(*step, *problem, 1).status == Status::pass);
  const emulator::LaunchReport seen = emulator::last_launch();
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum") == 15 * 10);
  CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") == 60 * 4);
}

TEST_CASE("chapter 6, v7 takes the widest packs that a width allows") {
  // 62 halves a row are 31 pairs: 64 rows make 62 requests. 61 halves go singly: 122 requests.
  const std::string narrow = "shape=1,1,64,62 dtype=half dir=backward";
  const std::string odd = "shape=1,1,64,61 dtype=half dir=backward";
  const Chapter chapter = chapter6::chapter();
  const auto stores_of = [&](const std::string& parameters) {
    const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse(parameters));
    REQUIRE(verify_step(chapter.steps.back(), *problem, 1).status == Status::pass);
    return emulator::last_launch().counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum");
  };
  CHECK(stores_of(narrow) == 62);
  CHECK(stores_of(odd) == 122);
}

}  // namespace warpbook::chapter6

#else

TEST_CASE("chapter 6's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
