// The emulator's counters of chapter 2's steps against values worked out by hand.
//
// A request is one memory instruction of a warp, a sector is 32 aligned bytes that it touches. All arrays begin at
// multiples of 256 bytes.

#include "tests/catch.hpp"

#ifdef WARPBOOK_EMULATED

#include <string>

#include "common/harness/chapter.hpp"
#include "tests/chapters/counting.hpp"

namespace warpbook::chapter2 {

Chapter chapter();  // chapter.cu

namespace {

/// Verifies a step on a case, every block traced.
Moves count(const std::string& version, const std::string& parameters) {
  return count_moves(chapter2::chapter(), version, parameters);
}

}  // namespace

TEST_CASE("chapter 2, v1 to v5: the divisions go") {
  // 4 x 16 rows of 64 floats, every second one of 128 or more: 4096 elements, none of whose dimensions merge. An
  // element divides twice, each time with a remainder, which the emulator counts too. A warp reads 32 elements over 256
  // bytes, 8 sectors, and writes 4.
  const std::string rows = "shape=4,16,64 strides=4096,160,2 dtype=float";
  for (const std::string version : {"v1", "v2", "v3"}) {
    INFO(version);
    const Moves seen = count(version, rows);
    check_global(seen, 128, 128 * 8, 128, 128 * 4);
    CHECK(seen.divisions_64 == 4096 * 2);
    CHECK(seen.divisions_32 == 0);
  }
  const Moves narrow = count("v4", rows);
  check_global(narrow, 128, 128 * 8, 128, 128 * 4);
  CHECK(narrow.divisions_64 == 0);
  CHECK(narrow.divisions_32 == 4096 * 2);
  for (const std::string version : {"v5", "v6", "v7"}) {
    INFO(version);
    const Moves seen = count(version, rows);
    check_global(seen, 128, 128 * 8, 128, 128 * 4);
    CHECK(seen.divisions_64 == 0);
    CHECK(seen.divisions_32 == 0);
  }
}

TEST_CASE("chapter 2, v3: what merges divides no more") {
  // Of shape (4, 16, 64) with every second element: one run of step 2.
  const std::string step = "shape=4,16,64 strides=2048,128,2 dtype=float";
  CHECK(count("v2", step).divisions_64 == 4096 * 2);
  CHECK(count("v3", step).divisions_64 == 0);
  // The first two dimensions merge: one division is left.
  const std::string rows = "shape=4,16,64 strides=2560,160,2 dtype=float";
  CHECK(count("v3", rows).divisions_64 == 4096);
}

TEST_CASE("chapter 2, v7: words") {
  // 64 rows of 64 halves, 192 bytes apart: 4096 elements. v6: 128 requests of 64 bytes on either side, 2 sectors.
  const std::string aligned = "shape=64,64 strides=96,1 dtype=half";
  check_global(count("v6", aligned), 128, 128 * 2, 128, 128 * 2);
  // Words of 16 bytes, 512 of them: 16 requests of 16 sectors; a row is 128 bytes, aligned to 64.
  check_global(count("v7", aligned), 16, 16 * 16, 16, 16 * 16);

  // The same rows from the second half on: 62 of them a row, so that words of 4 bytes are written, 31 a row. A pack is
  // two loads. 62 x 64 / 2 = 1984 words: 62 requests of 128 bytes to write, and twice as many to read.
  const std::string odd = "shape=64,62 strides=96,1 offset=1 dtype=half";
  const Moves seen = count("v7", odd);
  CHECK(seen.store_requests == 62);
  CHECK(seen.store_sectors == 62 * 4);
  CHECK(seen.load_requests >= 2 * 62);  // A pack that two rows share is loaded by instructions of its own.
}

TEST_CASE("chapter 2, repeats: a broadcast is loaded once") {
  // 128 floats, each 64 times: 8192 elements, 2048 packs of 16 bytes. A warp writes 512 bytes, 2 rows: 64 requests, and
  // as many to read the rows' elements, and again for those of the next rows.
  const Moves last = count("repeats", "shape=128,64 strides=1,0 dtype=float");
  check_global(last, 2 * 64, 2 * 64, 64, 64 * 16);
  // A matrix of 64 x 64 floats, from a larger one, 16 times: 1024 words of 16 bytes are read 4 times, by blocks
  // that write 4 copies each. 32 requests a copy.
  const Moves first = count("repeats", "shape=16,64,64 strides=0,128,1 dtype=float");
  check_global(first, 4 * 32, 4 * 32 * 16, 16 * 32, 16 * 32 * 16);
  check_global(count("v7", "shape=16,64,64 strides=0,128,1 dtype=float"), 16 * 32, 16 * 32 * 16, 16 * 32, 16 * 32 * 16);
}

TEST_CASE("chapter 2, shifted_rows: rows that begin anywhere") {
  // 16 rows of 992 bytes, one byte behind a boundary: 62 words a row, 992 in all, 31 requests to write. Each word is
  // two loads of 16 bytes; a row lies in 63 aligned words, so a warp's two requests touch 32 words each. The
  // array's very first and last words have no second word beside them, and go byte by byte: 16 requests more each.
  const Moves seen = count("shifted_rows", "shape=16,992 strides=2048,1 offset=1 dtype=int8");
  CHECK(seen.store_requests == 31 + 2 * 16);
  CHECK(seen.store_sectors == 31 * 16 + 2 * 16);
  CHECK(seen.load_requests == 2 * 31 + 2 * 16);
  // v7 reads byte by byte, and writes words of 4.
  const Moves bytes = count("v7", "shape=16,992 strides=2048,1 offset=1 dtype=int8");
  CHECK(bytes.load_requests == 16 * 31);
  CHECK(bytes.store_requests == 4 * 31);
}

TEST_CASE("chapter 2, offset_tables: two tables") {
  // 16 x 64 windows of 2 x 2 floats, 4096 elements of 4 dimensions that do not merge: a block writes 2048, from
  // 256 places of the last three and 9 of the first.
  const Moves seen = count("offset_tables", "shape=16,64,2,2 strides=2560,4,80,2 dtype=float");
  CHECK(seen.load_requests == 128);
  CHECK(seen.store_requests == 128);
  CHECK(seen.store_sectors == 128 * 4);
  CHECK(seen.divisions_32 == 0);
  CHECK(seen.divisions_64 == 0);
  // A warp's 32 elements are 8 windows that lie side by side: 128 bytes of one row, and 128 of the other.
  CHECK(seen.load_sectors == 128 * 8);
  CHECK(seen.shared_load_conflicts == 0);
  CHECK(seen.shared_store_conflicts == 0);
}

TEST_CASE("chapter 2, few_dims: a word of 16 bytes a thread") {
  // 2048 windows of 8 floats: 4096 words, 128 warps. A warp's words are 16 windows; each of its 4 requests to read
  // touches 80 bytes, of which the first 16 lie within the sector that they begin in: 3 sectors.
  const Moves seen = count("few_dims", "shape=2048,8 strides=1,1 dtype=float");
  check_global(seen, 4 * 128, 4 * 128 * 3, 128, 128 * 16);
  CHECK(seen.divisions_32 == 0);
  CHECK(seen.divisions_64 == 0);
}

TEST_CASE("chapter 2, row_pieces: pieces of 8 bytes") {
  // 64 rows of 15 pieces, 3 halves behind a boundary: 960 pieces, 30 requests to write, and two for each to read. The
  // first and the last piece of the array go byte by byte.
  const Moves seen = count("row_pieces", "shape=64,60 strides=64,1 offset=3 dtype=half");
  CHECK(seen.store_requests == 30 + 2 * 8);
  CHECK(seen.store_sectors == 30 * 8 + 2 * 8);
  CHECK(seen.load_requests == 2 * 30 + 2 * 8);
  CHECK(seen.divisions_32 == 0);
}

TEST_CASE("chapter 2, lone_elements: elements alone in their sectors") {
  // 4096 floats 16 apart: 128 warps, each element a sector.
  const Moves seen = count("lone_elements", "shape=64,64 strides=1040,16 dtype=float");
  check_global(seen, 128, 128 * 32, 128, 128 * 4);
  CHECK(seen.divisions_32 == 0);
  CHECK(seen.kernel.find("true") != std::string::npos);
  // With gaps between the blocks of 64 bytes the loads have no hint.
  CHECK(count("lone_elements", "shape=64,64 strides=1088,17 dtype=float").kernel.find("false") != std::string::npos);
}

TEST_CASE("chapter 2, v8: in order on both sides") {
  // A slice of a transposed matrix: 64 x 64 floats, columns 128 apart. v7 reads 32 sectors a request.
  const std::string slice = "shape=64,64 strides=1,128 dtype=float";
  const Moves walked = count("v7", slice);
  check_global(walked, 128, 128 * 32, 128, 128 * 4);
  for (const std::string version : {"v8", "short_dims_tile"}) {
    INFO(version);
    const Moves seen = count(version, slice);
    check_global(seen, 128, 128 * 4, 128, 128 * 4);
    CHECK(seen.shared_load_conflicts == 0);
    CHECK(seen.shared_store_conflicts == 0);
    CHECK(seen.divisions_32 == 0);
  }
}

TEST_CASE("chapter 2, v8: tiles begin at a line") {
  // The slice once more: one tile down, two across, whose rows are 4 sectors, as are the columns' two requests each.
  const std::string slice = "shape=64,64 strides=1,128 dtype=float";
  check_global(count("v8", slice), 128, 128 * 4, 128, 128 * 4);
  // From column 1 on, of rows of 128 floats: 63 columns. The tiles begin a column early, at a line: no sector more.
  const std::string one_on = "shape=63,64 strides=1,128 offset=1 dtype=float";
  check_global(count("v8", one_on), 128, 128 * 4, 63 * 2, 63 * 2 * 4);
  // Where rows begin anywhere no tile does: some rows' 128 bytes lie in 5 sectors.
  CHECK(count("v8", "shape=63,64 strides=1,129 offset=1 dtype=float").load_sectors > 128 * 4);
}

TEST_CASE("chapter 2, narrow_tile: words, and whole sectors") {
  // 64 columns of 128 bytes: a request each, where v8 writes 32 bytes a request.
  const Moves words = count("narrow_tile", "shape=64,128 strides=1,256 dtype=int8");
  CHECK(words.store_requests == 64);
  CHECK(words.store_sectors == 64 * 4);
  CHECK(words.shared_store_conflicts == 0);
  CHECK(words.shared_load_conflicts == 0);
  // The tile's 544 rows, of which one not in the matrix is its first or last again, by 8 bytes a lane: two a request.
  CHECK(words.load_requests == 544 / 2);
  // By 4 where rows begin at a multiple of that only, and twice that where they begin anywhere.
  const Moves fours = count("narrow_tile", "shape=64,128 strides=1,260 dtype=int8");
  CHECK(fours.load_requests == 544);
  CHECK(fours.shared_store_conflicts == 0);
  CHECK(count("narrow_tile", "shape=64,128 strides=1,257 dtype=int8").load_requests >= 2 * 544);
  // Of halves a tile has 256 rows, and 16 before.
  const Moves halves = count("narrow_tile", "shape=64,128 strides=1,256 dtype=half");
  CHECK(halves.load_requests == 272);
  CHECK(halves.shared_store_conflicts == 0);
  const Moves single = count("v8", "shape=64,128 strides=1,256 dtype=int8");
  CHECK(single.store_requests == 64 * 4);
  CHECK(single.store_sectors == 64 * 4);
}

TEST_CASE("chapter 2, short_rows: short rows in words") {
  // 7 rows of 1024 halves, interleaved: two tiles of 7 x 4 chunks of 256 bytes, each two requests. Of a block's threads
  // 112 write, whole columns and whole sectors: 3 warps and a half. The result's 3584 words are 32 rounds of theirs,
  // where repeats loads single halves.
  const Moves seen = count("short_rows", "shape=1024,7 strides=1,1040 dtype=half");
  check_global(seen, 112, 112 * 4, 32 * 4, 112 * 4);
  CHECK(seen.divisions_32 == 0);
  CHECK(seen.shared_store_conflicts == 0);
  // The same from element 1 on: each row begins within a word, so that a request becomes two; the last words of the
  // array go half by half.
  const Moves shifted = count("short_rows", "shape=1024,7 strides=1,1040 offset=1 dtype=half");
  CHECK(shifted.load_requests >= 2 * 112);
  CHECK(shifted.load_requests <= 2 * 112 + 8);
  CHECK(shifted.store_requests == 32 * 4);
  // Bytes: 15 rows of 512, a tile of 30 chunks; 120 threads write, in whole sectors.
  const Moves bytes = count("short_rows", "shape=512,15 strides=1,1024 dtype=int8");
  CHECK(bytes.load_requests == 60);
  CHECK(bytes.store_sectors == 240);
  CHECK(count("short_dims_tile", "shape=512,15 strides=1,1024 dtype=int8").store_requests > 3 * bytes.store_requests);
}

TEST_CASE("chapter 2, v9 sends a view to its step") {
  const auto same = [](const char* version, const std::string& parameters) {
    INFO(parameters);
    CHECK(count("v9", parameters).kernel == count(version, parameters).kernel);
  };
  same("v5", "shape=64,64 strides=200,3 dtype=half");  // Which is small; those below are not.
  same("v7", "shape=2560,64 strides=96,1 dtype=half");
  same("few_dims", "shape=640,64 strides=200,3 dtype=half");
  same("v7", "shape=4,4,64,64 strides=60000,14000,200,3 dtype=half");  // More divisions than v7 has carries.
  same("v7", "shape=640,64 strides=2000,7 dtype=float");               // Neighbours far from each other,
  same("few_dims", "shape=1280,64 strides=1,0 dtype=float");           // and one and the same.
  same("repeats", "shape=3,5,70,64 strides=2000,500,3,0 dtype=float");
  same("v7", "shape=70001 strides=6 dtype=float");
  same("few_dims", "shape=9000,7,2 strides=11,0,7 dtype=float");  // Neighbours behind a broadcast,
  same("repeats", "shape=9000,5 strides=1,1 dtype=half");
  same("v7", "shape=4,30,3,2000 strides=24016,0,100000,4 dtype=half");        // A table of 2000 places.
  same("short_dims_tile", "shape=18,80,60 strides=6,6420,107 dtype=double");  // Neighbours in 32 lines of their own,
  same("few_dims", "shape=40,160,4 strides=1,40,1 dtype=double");             // windows of a few rows,
  same("short_dims_tile", "shape=40,700,4 strides=1,41,1 dtype=double");      // and of many.
  same("repeats", "shape=4,512,64 strides=0,96,1 dtype=float");
  same("shifted_rows", "shape=32,992 strides=2048,1 offset=1 dtype=int8");
  same("staged_steps", "shape=70001 strides=2 dtype=int8");
  same("few_dims", "shape=70001 strides=3 dtype=int8");  // staged_steps would take it, and is slower.
  same("offset_tables", "shape=90,20,5,5 strides=600,24,24,1 dtype=int8");
  same("offset_tables", "shape=900,18,7 strides=24,1,1 dtype=half");       // Rows shorter than repeats' packs,
  same("repeats", "shape=900,18,9 strides=28,1,1 dtype=half");             // and longer ones,
  same("row_pieces", "shape=900,18,8 strides=26,1,1 dtype=half");          // of whole pieces of 8 bytes.
  same("offset_tables", "shape=3,300,5,66 strides=1,198,0,3 dtype=half");  // A broadcast between near neighbours,
  same("v7", "shape=3,300,5,66 strides=1,1400,0,21 dtype=half");           // and between far ones.
  same("offset_tables",
       "shape=20,30,4,22,5 strides=20000,148,4440,7,0 dtype=half");          // A broadcast shorter than repeats' packs.
  same("offset_tables", "shape=300,20,3,5 strides=300,5,100,1 dtype=half");  // A permutation, of short dimensions.
  same("v7", "shape=30,400,70 strides=300000,490,7 dtype=float");            // A tile has the same step as the view.
  same("lone_elements", "shape=30,400,70 strides=300000,490,7 dtype=double");  // Alone in their sectors,
  same("lone_elements", "shape=3,3000,5 strides=100,300,17 dtype=half");       // whatever the order, while it is short,
  same("short_dims_tile",
       "shape=2000,3,70 strides=40,800000,90000 dtype=int8");  // but not where the nearest come last.
  same("short_dims_tile", "shape=300,1100 strides=2,640 dtype=float");
  same("short_dims_tile",
       "shape=300,200 strides=5,3000 dtype=double");  // As many sectors, but fewer blocks of 64 bytes.
  same("short_rows", "shape=1000,300,15 strides=5000,1,330 dtype=int8");
  same("short_dims_tile", "shape=1000,30 strides=1,1024 dtype=int8");  // Too few bytes for short_rows' tiles.
  same("repeats", "shape=3000,15 strides=1,0 dtype=int8");             // A broadcast is read once.
  same("repeats",
       "shape=28,4,3000 strides=0,3001,1 offset=1 dtype=half");        // Copies, which shifted_rows would read again.
  same("repeats", "shape=2000,7,55 strides=165,0,1 dtype=half");       // Short rows, shown again,
  same("short_rows", "shape=1500000,3 strides=1,1500100 dtype=int8");  // and bytes beside others far away.
  same("offset_tables", "shape=50,7,34,6 strides=300,50,1,1 dtype=int8");  // Both digits run over at every second step.
  same("v8", "shape=300,1100 strides=1,320 dtype=float");
  same("v8",
       "shape=300,200 strides=1,320 dtype=float into=1");  // Neighbours that are written in 32 lines.
  // A whole array in another order is chapter 3's, in odd sizes, too.
  for (const char* whole : {"shape=256,256 strides=1,256 dtype=float", "shape=1000,101 strides=1,1000 dtype=float",
                            "shape=301,64,15 strides=15,4515,1 dtype=half"}) {
    CHECK(count("v9", whole).kernel.find("chapter3") != std::string::npos);
  }
}

}  // namespace warpbook::chapter2

#else

TEST_CASE("chapter 2's counters are the emulator's") { SUCCEED("A GPU counts with Nsight Compute."); }

#endif
