// The emulator's counters of chapter 3's steps against values worked out by hand.
//
// A request is one memory instruction of a warp. A sector is 32 aligned bytes that it touches, a wavefront one turn of
// shared memory: as many as the most distinct 4-byte words that one of the 32 banks has to serve; accesses of 16 bytes
// go by quarter warps. All arrays begin at multiples of 256 bytes.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <cstring>
#include <string>

#include "common/harness/chapter.hpp"
#include "tests/chapters/counting.hpp"

namespace warpbook::chapter3 {

Chapter chapter();  // chapter.cu

namespace {

/// Verifies a step on a case, every block traced.
Moves count(const std::string& version, const std::string& parameters) {
  return count_moves(chapter3::chapter(), version, parameters);
}

void check_shared_loads(const Moves& seen, double requests, double wavefronts, double conflicts) {
  CHECK(seen.shared_loads == requests);
  CHECK(seen.shared_load_wavefronts == wavefronts);
  CHECK(seen.shared_load_conflicts == conflicts);
}

void check_shared_stores(const Moves& seen, double requests, double wavefronts, double conflicts) {
  CHECK(seen.shared_stores == requests);
  CHECK(seen.shared_store_wavefronts == wavefronts);
  CHECK(seen.shared_store_conflicts == conflicts);
}

/// Counts a step that divides no 32-bit number.
Moves check_undivided(const std::string& version, const std::string& parameters, double load_requests,
                      double load_sectors, double store_requests, double store_sectors) {
  Moves seen = count(version, parameters);
  check_global(seen, load_requests, load_sectors, store_requests, store_sectors);
  CHECK(seen.divisions_32 == 0);
  return seen;
}

/// The same of a step whose stores to shared memory meet no conflict.
void check_tile(const std::string& version, const std::string& parameters, double load_requests, double load_sectors,
                double store_requests, double store_sectors) {
  const Moves seen = check_undivided(version, parameters, load_requests, load_sectors, store_requests, store_sectors);
  CHECK(seen.shared_store_conflicts == 0);
}

// One matrix of 64 x 64 elements: 4096.
const std::string kFloat = "shape=1,64,64 perm=0,2,1 dtype=float";
const std::string kHalf = "shape=1,64,64 perm=0,2,1 dtype=half";

}  // namespace

TEST_CASE("chapter 3, v1 and v2: one side is scattered, and every element divides") {
  // A warp writes 32 neighbours: 128 bytes of float are 4 sectors, 64 of half 2. It reads them from 32 rows, 256 or 128
  // bytes apart: 32 sectors. 4096 / 32 = 128 requests a side.
  // Rank 3 divides twice an element, 8192 times; merged to rank 2, once.
  SECTION("v1 float") {
    const Moves seen = count("v1", kFloat);
    check_global(seen, 128, 128 * 32, 128, 128 * 4);
    CHECK(seen.divisions_64 == 8192);
    CHECK(seen.divisions_32 == 0);
    check_shared_loads(seen, 0, 0, 0);
  }
  SECTION("v1 half") {
    const Moves seen = count("v1", kHalf);
    check_global(seen, 128, 128 * 32, 128, 128 * 2);
    CHECK(seen.divisions_64 == 8192);
    CHECK(seen.divisions_32 == 0);
  }
  SECTION("v2a float") {
    const Moves seen = count("v2a", kFloat);
    check_global(seen, 128, 128 * 32, 128, 128 * 4);
    CHECK(seen.divisions_64 == 0);
    CHECK(seen.divisions_32 == 8192);
  }
  SECTION("v2a half") {
    const Moves seen = count("v2a", kHalf);
    check_global(seen, 128, 128 * 32, 128, 128 * 2);
    CHECK(seen.divisions_64 == 0);
    CHECK(seen.divisions_32 == 8192);
  }
  SECTION("v2b float") {
    const Moves seen = count("v2b", kFloat);
    check_global(seen, 128, 128 * 32, 128, 128 * 4);
    CHECK(seen.divisions_64 == 0);
    CHECK(seen.divisions_32 == 4096);
  }
  SECTION("an array off the sectors' boundaries") {
    // 128 bytes that begin 4 bytes behind a boundary touch 5 sectors; single elements still 32.
    check_global(count("v1", kFloat + " offset=1"), 128, 128 * 32, 128, 128 * 5);
  }
}

TEST_CASE("chapter 3, v3, wide_rows and gather: words of 16 bytes") {
  // 16 x 16 rows of 64 halves, 16384 elements: 512 requests of 64 bytes, 2 sectors, on both sides. As words of 16
  // bytes, 2048: 64 requests of 512 bytes, 16 sectors. Rank 3 divides twice a word.
  const std::string rows = "shape=16,16,64 perm=1,0,2 dtype=half";
  SECTION("v2b") {
    const Moves seen = count("v2b", rows);
    check_global(seen, 512, 1024, 512, 1024);
    CHECK(seen.divisions_32 == 2 * 16384);
  }
  SECTION("v3") {
    const Moves seen = count("v3", rows);
    check_global(seen, 64, 1024, 64, 1024);
    CHECK(seen.divisions_32 == 2 * 2048);
  }
  SECTION("wide_rows") {
    const Moves seen = count("wide_rows", rows);
    check_global(seen, 64, 1024, 64, 1024);
    CHECK(seen.divisions_32 == 2 * 2048);
  }
  SECTION("gather") {
    const Moves seen = count("gather", rows);
    check_global(seen, 64, 1024, 64, 1024);
    CHECK(seen.divisions_32 == 0);
    CHECK(seen.divisions_64 == 0);
  }
}

TEST_CASE("chapter 3, v4: the tile, its conflicts, its padding") {
  // A tile's row is 32 elements: 128 requests of 4 sectors (float) or 2 (half) on both sides. Each element goes into
  // shared memory and out once, 128 requests each way; a row goes in without a conflict.
  SECTION("v4a float") {
    // A column is words 32 x + y: one bank, 32 wavefronts.
    const Moves seen = count("v4a", kFloat);
    check_global(seen, 128, 512, 128, 512);
    check_shared_stores(seen, 128, 128, 0);
    check_shared_loads(seen, 128, 128 * 32, 128 * 31);
    CHECK(seen.divisions_64 == 0);
  }
  SECTION("v4a half") {
    // A row is 16 words: a column's words 16 x + y / 2 lie in two banks, 16 in each.
    const Moves seen = count("v4a", kHalf);
    check_global(seen, 128, 256, 128, 256);
    check_shared_stores(seen, 128, 128, 0);
    check_shared_loads(seen, 128, 128 * 16, 128 * 15);
  }
  for (const std::string version : {"v4b", "v4c"}) {
    SECTION(version + " float") {
      // Words 33 x + y: 32 banks.
      const Moves seen = count(version, kFloat);
      check_global(seen, 128, 512, 128, 512);
      check_shared_stores(seen, 128, 128, 0);
      check_shared_loads(seen, 128, 128, 0);
    }
    SECTION(version + " half") {
      // Halves 33 x + y, so words floor((33 x + y) / 2). With s = y / 2, even lanes 2k read word 33 k + s: banks s to
      // s + 15. Odd lanes 2k + 1 read 33 k + 16 + s where y is even: the 16 other banks. Where y is odd they read
      // 33 k + 17 + s: banks s + 17 to s + 32, the last of which is lane 0's bank s again: 2 wavefronts. Half of the
      // 128 requests have an odd y.
      const Moves seen = count(version, kHalf);
      check_global(seen, 128, 256, 128, 256);
      check_shared_stores(seen, 128, 128, 0);
      check_shared_loads(seen, 128, 64 * 1 + 64 * 2, 64);
    }
  }
}

TEST_CASE("chapter 3, v5: half2 on both sides, and the conflict that the published layout has") {
  // One tile of 64 x 64 halves: 64 rows of 32 words, 64 requests of 128 bytes on both sides, 4 sectors each. Going out,
  // a word is gathered from two rows: 2 x 64 requests. 4 sectors a request with half of v4's requests.
  SECTION("v5") {
    // Rows of 33 words. Rows 2x: words 66 x + y / 2, banks 2x + y / 2: the 16 even or odd ones, twice. So rows 2x + 1.
    const Moves seen = count("v5", kHalf);
    check_global(seen, 64, 256, 64, 256);
    check_shared_stores(seen, 64, 64, 0);
    check_shared_loads(seen, 128, 128 * 2, 128);
  }
  SECTION("half2_rotated") {
    // Rows of 32 words, turned by half the row's number: word y / 2 of rows 2x and 2x + 1 lies in bank y / 2 + x.
    const Moves seen = count("half2_rotated", kHalf);
    check_global(seen, 64, 256, 64, 256);
    check_shared_stores(seen, 64, 64, 0);
    check_shared_loads(seen, 128, 128, 0);
  }
}

TEST_CASE("chapter 3, v6: 16 bytes both ways, and no conflict") {
  // 64 x 64 elements are one tile. A warp reads 512 bytes of whole rows, and writes 4 columns' 128 bytes: 16 sectors.
  // It stores 16-byte chunks to shared memory, 4 wavefronts for 512 bytes at the least; the swizzle permutes eight
  // chunks of a row, which are all banks. It gathers single words: 4 neighbouring columns' words of one chunk, and the
  // chunks of eight word rows in eight groups of four banks.
  SECTION("float") {
    // 16 KiB / 512 = 32 requests each way; 4096 words / 32 = 128 gathers.
    const Moves seen = count("v6", kFloat);
    check_global(seen, 32, 32 * 16, 32, 32 * 16);
    check_shared_stores(seen, 32, 32 * 4, 0);
    check_shared_loads(seen, 128, 128, 0);
    CHECK(seen.divisions_64 == 0);
  }
  SECTION("half") {
    // 8 KiB / 512 = 16 requests each way; 2048 words of two halves / 32 = 64 gathers.
    const Moves seen = count("v6", kHalf);
    check_global(seen, 16, 16 * 16, 16, 16 * 16);
    check_shared_stores(seen, 16, 16 * 4, 0);
    check_shared_loads(seen, 64, 64, 0);
  }
  SECTION("a smaller matrix fills a part of the tile") {
    // 16 rows of 64 floats: 8 requests each way with active lanes. Going out, a column is 64 bytes: 4 of 8 lanes write,
    // 4 columns a warp, 8 sectors; 64 columns are 16 requests.
    const Moves seen = count("v6", "shape=1,16,64 perm=0,2,1 dtype=float");
    check_global(seen, 8, 8 * 16, 16, 16 * 8);
  }
}

TEST_CASE("chapter 3, gathered_words: words of output from a gather") {
  // 256 threads, one to each row of 8 halves that the output has: 8 loads a thread, each of 32 neighbours, 2 sectors;
  // one store of 16 bytes, 16 sectors a warp. No index is divided for.
  check_undivided("gathered_words", "shape=8,256 perm=1,0 dtype=half", 8 * 8, 8 * 8 * 2, 8, 8 * 16);
}

TEST_CASE("chapter 3, element_tiles: a tile of words") {
  // 124 rows of 64 halves: 62 pairs of rows, each row a load of a warp, 4 sectors. A column goes out in 32 and 30
  // words. It begins 0, 24, 16 or 8 bytes into a sector: 4 + 4, 5 + 5, 5 + 5 or 5 + 4 sectors.
  check_tile("element_tiles", "shape=124,64 perm=1,0 dtype=half", 62 * 2, 62 * 2 * 4, 64 * 2,
             64 / 4 * (8 + 10 + 10 + 9));
}

TEST_CASE("chapter 3, composite_tile: a tile of several dimensions") {
  // Columns are the output's two fastest dimensions, 8 x 64 = 512 floats in tiles of 64, rows the 32 of the input's
  // fastest. A tile has 32 rows and 16 quads of columns: each of 8 warps reads two quads of all rows, 4 sectors a load.
  // A row of a tile goes out as 16 quads, two rows to a store, 16 sectors. Shared memory: the quads of neighbouring
  // rows lie an odd number of quads apart, so a warp's 16-byte stores take 4 wavefronts, the least there is.
  check_tile("composite_tile", "shape=64,8,32 perm=2,1,0 dtype=float", 8 * 64, 8 * 64 * 4, 8 * 16, 8 * 16 * 16);

  // 8 rows of 252 halves, two in a word of the input: 4 groups of 64 quads, the first of which stands before the first
  // column and is read as that one is. A warp loads the words of 8 quads and all groups, 4 times. A quad's words of all
  // groups are 16 bytes: a sector for each quad, but that two quads read the first column. Each warp writes a row in 2
  // stores, of 32 and 31 quads. It begins 0, 24, 16 or 8 bytes into a sector: 8 + 8, 9 + 9, 9 + 9 or 9 + 8 sectors.
  const Moves words = count("composite_tile", "shape=63,4,8 perm=2,1,0 dtype=half");
  check_global(words, 8 * 4, 8 * 4 * 8 - 1, 8 * 2, 8 / 4 * (16 + 18 + 18 + 17));
}

TEST_CASE("chapter 3, fixed_tile: a tile of several dimensions whose sides are known") {
  // Columns are 8 x 64 = 512 floats, four tiles of 128; rows the 32 of the input's fastest dimension. A warp loads a
  // column of a tile, 4 sectors, and writes a row of 512 bytes, 16 sectors. Neighbouring rows' quads lie an odd number
  // of quads apart: no conflicts.
  check_tile("fixed_tile", "shape=64,8,32 perm=2,1,0 dtype=float", 4 * 128, 4 * 128 * 4, 4 * 32, 4 * 32 * 16);

  // 24 rows of 252 halves, two in a word of the input, 64 in a tile; 256 columns with the four before the first. A
  // warp's 32 lanes load a column's 12 words, 48 bytes: 2 sectors. Rows begin 0, 24, 16 or 8 bytes into a sector, and
  // requests at sectors, 64 halves each: 4, 5, 5 or 4 of them.
  const Moves words = count("fixed_tile", "shape=63,4,24 perm=2,1,0 dtype=half");
  CHECK(words.load_requests == 256);
  CHECK(words.load_sectors == 256 * 2);
  CHECK(words.store_requests == 24 / 4 * 18);

  // Of 16 bytes, two tiles of 32 columns by eight of 32 rows: a warp loads a column of a tile, 16 sectors, and writes a
  // row, as many. A column is a quad, and a row an odd number of them.
  const Moves wide = count("fixed_tile", "shape=64,8,32 perm=2,1,0 dtype=complex128");
  check_global(wide, 16 * 32, 16 * 32 * 16, 16 * 32, 16 * 32 * 16);
  CHECK(wide.divisions_32 == 0);
  CHECK(wide.shared_store_conflicts == 0);
  CHECK(wide.shared_load_conflicts == 0);
}

TEST_CASE("chapter 3, placed_words: a tile whose words have places of their own") {
  // Columns are the 64 of the output's fastest dimension, rows the 8 x 32 others, 64 of them in a tile. A warp loads
  // half a column of it, 4 sectors, and writes two rows by 16 bytes a lane, 16 sectors.
  check_tile("placed_words", "shape=64,8,32 perm=2,1,0 dtype=float", 4 * 128, 4 * 128 * 4, 4 * 32, 4 * 32 * 16);

  // Columns are 6 halves at each of 5, 30 of 128 in one tile; those beyond read what the last does. A warp loads 32
  // halves of a column, 2 sectors. A row goes out as 15 words in five pieces of 12 bytes, of which, where it begins 24
  // or 28 bytes into a sector, each lies in two: two rows of eight.
  const Moves pieces = count("placed_words", "shape=5,6,64 perm=0,2,1 dtype=half");
  check_global(pieces, 256, 256 * 2, 64, 64 / 8 * 5 * 10);
}

TEST_CASE("chapter 3, v9 sends a problem to its step") {
  // The same counters as that step's, and its kernel.
  const auto same = [](const char* version, const std::string& parameters) {
    const Moves step = count(version, parameters);
    const Moves dispatched = count("v9", parameters);
    // The step's kernel, or the one that differs by load_keeping or store_leaving alone.
    std::string kernel = step.kernel;
    const auto kept = [&](const char* plain, const char* hinted) {
      const auto at = kernel.rfind(plain);
      if (dispatched.kernel != step.kernel && at != std::string::npos) kernel.replace(at, std::strlen(plain), hinted);
    };
    kept(", false>", ", true>");
    kept("Lb0E", "Lb1E");  // As mangled.
    CHECK(dispatched.kernel == kernel);
    check_global(dispatched, step.load_requests, step.load_sectors, step.store_requests, step.store_sectors);
    CHECK(dispatched.divisions_32 == 0);
    CHECK(dispatched.divisions_64 == 0);
  };
  same("v7", kHalf);
  same("gather", "shape=16,16,64 perm=1,0,2 dtype=half");
  same("gather", "shape=640,3,35 perm=2,1,0 dtype=float");  // Which is small; those below are large enough for tiles.
  same("element_tiles", "shape=40,40,331 perm=0,2,1 dtype=float");
  same("element_tiles", "shape=67,8001 perm=1,0 dtype=half");
  same("fixed_tile", "shape=131,43,131 perm=2,1,0 dtype=half");  // Three dimensions, turned.
  same("composite_tile", "shape=5119,3,35 perm=2,1,0 dtype=int8");
  same("fixed_tile", "shape=5120,3,36 perm=2,1,0 dtype=half");
  same("element_tiles", "shape=123,5001 perm=1,0 dtype=int8");  // Whose columns are few.
  same("v8", "shape=64,3,48 perm=2,1,0 dtype=float");  // Words of 16 bytes,
  same("v8", "shape=64,3,48 perm=2,1,0 dtype=half");
  same("v8", "shape=64,2,256 perm=2,1,0 dtype=int8");           // of bytes only where half a tile is full,
  same("fixed_tile", "shape=64,130,64 perm=2,1,0 dtype=int8");  // and fixed tiles where it is not.
  same("fixed_tile", "shape=76800,7 perm=1,0 dtype=float");
  same("input_runs", "shape=179200,3 perm=1,0 dtype=float");
  same("gathered_words", "shape=33,2300,7 perm=1,0,2 dtype=half");
  same("fixed_tile", "shape=1024,3,35,5 perm=3,1,2,0 dtype=float");
  same("fixed_tile", "shape=1024,3,35,5 perm=3,1,2,0 dtype=complex128");
  same("placed_words", "shape=6,10,10,30,32 perm=3,1,4,0,2 dtype=half");            // Pieces of whole words,
  same("placed_words", "shape=28,5,17,3,8,2,3,2 perm=1,4,6,3,0,5,7,2 dtype=int8");  // and any others.
}

}  // namespace warpbook::chapter3

#else

TEST_CASE("chapter 3's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
