// The emulator's counters of chapter 6's steps against values worked out by hand.
//
// Two images of 64 rows of 64: 8192 inputs, 32768 outputs. A request is one memory instruction of a warp, a sector 32
// aligned bytes that it touches.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <string>

#include "common/harness/chapter.hpp"
#include "tests/chapters/counting.hpp"

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
  const Moves seen = count_moves(chapter(), version, parameters);
  check_global(seen, traffic.load_requests, traffic.load_sectors, traffic.store_requests, traffic.store_sectors);
  CHECK(seen.divisions_64 == divisions_64);
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

TEST_CASE("chapter 6, v4 and packs_in_flight: 8 bytes here, 16 there") {
  // 32 KiB of float inputs are 128 requests of 256 bytes, 8 sectors; twice as many of 512 bytes on the other side.
  for (const std::string version : {"v4", "packs_in_flight"}) {
    check_step(version, kImages + "float dir=forward", {128, 128 * 8, 256, 256 * 16}, 0);
    check_step(version, kImages + "half dir=forward", {64, 64 * 8, 128, 128 * 16}, 0);
  }
  for (const std::string version : {"v4", "passing_gradient"}) {
    check_step(version, kImages + "half dir=backward", {128, 128 * 16, 64, 64 * 8}, 0);
    check_step(version, kImages + "float dir=backward", {256, 256 * 16, 128, 128 * 8}, 0);
  }
}

TEST_CASE("chapter 6, channels_last: packs of channels") {
  // 8 halves a pixel are one pack: 32 x 32 x 2 pixels become four times as many. A request of 32 output pixels is 512
  // bytes; it shows 16 pixels, 8 sectors. Backward 32 input pixels sum every other output pixel: 16 bytes of each 32.
  const std::string images = "shape=2,8,32,32 dtype=half layout=nhwc dir=";
  check_step("channels_last", images + "forward", {256, 256 * 8, 256, 256 * 16}, 0);
  check_step("channels_last", images + "backward", {64 * 4, 64 * 4 * 32, 64, 64 * 16}, 0);
}

TEST_CASE("chapter 6, v5: 16 bytes of two rows, gathered") {
  // A warp makes two rows of 128, a thread four floats of each; a load of 32 lanes is every other of 64 floats.
  check_step("v5", "shape=1,1,32,64 dtype=float dir=forward", {32 * 8, 32 * 8 * 8, 32 * 2, 32 * 2 * 16}, 0);
}

TEST_CASE("chapter 6, v6: all loads of a window") {
  // Scale 3: a thread takes two neighbours, so that 16 lanes are a row and 512 threads 16 warps; 18 loads each. A load
  // of 16 lanes takes every sixth float of 384 bytes: 12 sectors, and the other row's 12.
  check_step("v6", "shape=1,1,32,32 scale=3 dtype=float dir=backward", {16 * 18, 16 * 18 * 24, 16, 16 * 8}, 0);
}

TEST_CASE("chapter 6, any_rows stores whole words of rows that 16 bytes do not divide") {
  // 32 rows of 45 floats are 360 words of 16 bytes, in 12 warps: a store each, and a load for each of a word's floats.
  const Moves smaller = count_moves(chapter(), "any_rows", "shape=1,1,60,101 size=32,45 dtype=float");
  CHECK(smaller.store_requests == 12);
  CHECK(smaller.load_requests == 4 * 12);
  // 60 rows of 101 floats are 1515 words. Images grow, so a thread makes two, 101 words apart: in 8 groups of 101
  // threads, or 26 warps, of which 23 have second words.
  const Moves larger = count_moves(chapter(), "any_rows", "shape=1,1,30,50 size=60,101 dtype=float");
  CHECK(larger.store_requests == 26 + 23);
  CHECK(larger.load_requests == 2 * 4 * 26);
}

TEST_CASE("chapter 6, v4 takes the widest packs that a width allows") {
  // 62 halves a row are 31 pairs: 64 rows make 62 requests. 61 halves go singly: 122 requests.
  CHECK(count_moves(chapter(), "v4", "shape=1,1,64,62 dtype=half dir=backward").store_requests == 62);
  CHECK(count_moves(chapter(), "v4", "shape=1,1,64,61 dtype=half dir=backward").store_requests == 122);
}

}  // namespace warpbook::chapter6

#else

TEST_CASE("chapter 6's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
