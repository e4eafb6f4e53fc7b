/// \file
/// Chapter 3 as data: its steps and its cases.

#include "chapters/chapter3_permute/copy.cuh"
#include "chapters/chapter3_permute/permute_case.hpp"
#include "chapters/chapter3_permute/v10_measured_choice.cuh"
#include "chapters/chapter3_permute/v1_naive.cuh"
#include "chapters/chapter3_permute/v2a_index_type.cuh"
#include "chapters/chapter3_permute/v2b_merged_dims.cuh"
#include "chapters/chapter3_permute/v3_movement_size.cuh"
#include "chapters/chapter3_permute/v4a_shared_tile.cuh"
#include "chapters/chapter3_permute/v4b_padded_tile.cuh"
#include "chapters/chapter3_permute/v4c_unrolled_tile.cuh"
#include "chapters/chapter3_permute/v5a_half2.cuh"
#include "chapters/chapter3_permute/v5b_half2_rotated.cuh"
#include "chapters/chapter3_permute/v6a_wide_tile.cuh"
#include "chapters/chapter3_permute/v6b_wide_rows.cuh"
#include "chapters/chapter3_permute/v7a_any_permutation.cuh"
#include "chapters/chapter3_permute/v7b_fast_division.cuh"
#include "chapters/chapter3_permute/v7c_any_rank_tile.cuh"
#include "chapters/chapter3_permute/v7d_tables.cuh"
#include "chapters/chapter3_permute/v7e_input_runs.cuh"
#include "chapters/chapter3_permute/v7f_aligned_windows.cuh"
#include "chapters/chapter3_permute/v7g_fitted_tile.cuh"
#include "chapters/chapter3_permute/v7h_output_words.cuh"
#include "chapters/chapter3_permute/v7i_output_order.cuh"
#include "chapters/chapter3_permute/v7j_composite_tile.cuh"
#include "chapters/chapter3_permute/v7k_kept_input.cuh"
#include "chapters/chapter3_permute/v7l_fixed_tile.cuh"
#include "chapters/chapter3_permute/v7m_direct_tile.cuh"
#include "chapters/chapter3_permute/v7n_output_runs.cuh"
#include "chapters/chapter3_permute/v7o_placed_words.cuh"
#include "chapters/chapter3_permute/v8_tma.cuh"
#include "chapters/chapter3_permute/v9_dispatch.cuh"
#include "common/cuda/resources.hpp"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter3 {

// Here for the tests, too.
template std::span<const v10::Candidate> v10::candidates<PermuteProblem>(int element_bytes);

namespace {

/// The step that makes a plan for a case before its first launch there.
Step planned_step(StepInfo info) {
  struct Planned {
    std::string parameters;  // The case's.
    v10::Choice choice;
  };
  const auto planned = std::make_shared<Planned>();
  const auto run = [planned](const PermuteCase& c, const Arrays& arrays, cudaStream_t stream) {
    const v10::Choice choice = planned->parameters == c.parameters() ? planned->choice : v10::Choice{};
    return v10::run(c.problem(), choice, arrays.inputs[0], arrays.output, stream);
  };
  Step result = make_step<PermuteCase>(std::move(info), run);
  result.prepare = [planned](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    int device = 0;
    int l2_bytes = 0;
    check(cudaGetDevice(&device), "asking for the device");
    check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), "asking for the size of the L2");
    const DeviceBuffer flush(2 * static_cast<std::size_t>(l2_bytes));
    planned->parameters = c.parameters();
    return v10::choose(static_cast<const PermuteCase&>(c).problem(), arrays.inputs[0], arrays.output,
                       {flush.data(), flush.bytes()}, stream, planned->choice);
  };
  return result;
}

const char* only_matrices(const PermuteCase& c) {
  BatchTranspose matrices;
  return as_batch_transpose(c.problem(), matrices);
}

const char* only_even_half_matrices(const PermuteCase& c) {
  const char* reason = refuse_half2(c.problem());
  if (reason != nullptr) return reason;
  return reinterpret_cast<std::uintptr_t>(c.address()) % 4 == 0 ? nullptr : "both arrays must be aligned to 4 bytes";
}

const char* refuse_as_given(const PermuteCase& c, const char* (*refuse)(const PermuteProblem&)) {
  return refuse_simplified(c.problem(), c.address(), c.address(), refuse);
}

std::vector<Step> steps() {
  return {
      make_step<PermuteCase>(
          {"c1", "copy", "", "One element per thread, read and written in order.", {}, StepKind::yardstick},
          copy::run<1>),
      make_step<PermuteCase>(
          {"c2", "copy_unrolled", "", "The same copy with four elements in flight a thread.", {}, StepKind::yardstick},
          copy::run<4>),
      make_step<PermuteCase>({"v1",
                              "naive",
                              "",
                              "One thread an element: output offset to index to input offset, in 64 bits.",
                              {"sectors/request", "divisions-64"}},
                             v1::run),
      make_step<PermuteCase>({"v2a",
                              "index_type",
                              "v1",
                              "32-bit offsets wherever the number of elements allows.",
                              {"divisions-64", "divisions-32"}},
                             v2a::run),
      make_step<PermuteCase>({"v2b",
                              "merged_dims",
                              "v2a",
                              "Dimensions of size 1 dropped, neighbours that move together merged.",
                              {"divisions-32"}},
                             v2b::run),
      make_step<PermuteCase>({"v3",
                              "movement_size",
                              "v2b",
                              "Whole words of up to 16 bytes where the last dimension stays last.",
                              {"requests", "sectors/request"}},
                             v3::run),
      make_step<PermuteCase>({"v4a",
                              "shared_tile",
                              "v3",
                              "A tile in shared memory makes both sides of global memory contiguous.",
                              {"sectors/request", "turns/shared load"}},
                             v4a::run, only_matrices),
      make_step<PermuteCase>(
          {"v4b", "padded_tile", "v4a", "One unused column, and the bank conflicts are gone.", {"turns/shared load"}},
          v4b::run, only_matrices),
      make_step<PermuteCase>({"v4c",
                              "unrolled_tile",
                              "v4b",
                              "The tile's loops get a fixed number of turns, and four loads in flight.",
                              {"instructions"}},
                             v4c::run, only_matrices),
      make_step<PermuteCase>(
          {"v5a", "half2", "v4c", "Two halves a word on both sides of the tile.", {"requests", "store requests"}},
          v5a::run, only_even_half_matrices),
      make_step<PermuteCase>({"v5b",
                              "half2_rotated",
                              "v5a",
                              "Rows of the tile rotated instead of padded: no conflicts left.",
                              {"turns/shared load"}},
                             v5b::run, only_even_half_matrices),
      make_step<PermuteCase>({"v6a",
                              "wide_tile",
                              "v4c",
                              "16-byte loads and 16-byte stores for every element size.",
                              {"requests", "store requests"}},
                             v6a::run,
                             [](const PermuteCase& c) { return v6a::refuse(c.problem(), c.address(), c.address()); }),
      make_step<PermuteCase>({"v6b",
                              "wide_rows",
                              "v3",
                              "Several words in flight a thread where the last dimension stays last.",
                              {"requests"}},
                             v6b::run, [](const PermuteCase& c) { return v6b::refuse(c.problem()); }),
      make_step<PermuteCase>(
          {"v7a", "any_permutation", "v4c", "Boxes instead of tiles: contiguous runs on both sides at any rank."},
          v7a::run),
      make_step<PermuteCase>({"v7b", "fast_division", "v7a", "Divisors known on the host become multiplications."},
                             v7b::run),
      make_step<PermuteCase>(
          {"v7c", "any_rank_tile", "v7b", "Where both fast dimensions are long, a box is a tile without divisions."},
          v7c::run),
      make_step<PermuteCase>({"v7d", "tables", "v7c", "A box's index arithmetic once a box, not once an element."},
                             v7d::run),
      make_step<PermuteCase>(
          {"v7e", "input_runs", "v7d",
           "Where the input's fastest dimensions are short, a thread moves a run of them by itself."},
          v7e::run, [](const PermuteCase& c) { return v7e::refuse_problem(c.problem(), c.address(), c.address()); }),
      make_step<PermuteCase>(
          {"v7f", "aligned_windows", "v6a", "Every write begins at a sector, whatever the size of the matrix."},
          v7f::run, [](const PermuteCase& c) { return refuse_as_given(c, v7f::refuse); }),
      make_step<PermuteCase>(
          {"v7g", "fitted_tile", "v6a", "A tile whose sides divide the matrix, found by multiplications."}, v7g::run,
          [](const PermuteCase& c) { return v6a::refuse(c.problem(), c.address(), c.address()); }),
      make_step<PermuteCase>(
          {"v7h", "output_words", "v7d", "A gather computes one index a word of output, and carries it on."}, v7h::run,
          [](const PermuteCase& c) { return refuse_as_given(c, v7h::refuse); }),
      make_step<PermuteCase>(
          {"v7i", "output_order", "v7c", "Neighbouring blocks write neighbours: two parts of a line meet in the L2."},
          v7i::run),
      make_step<PermuteCase>({"v7j", "composite_tile", "v6a", "A side of a tile may be made of several dimensions."},
                             v7j::run, [](const PermuteCase& c) { return refuse_as_given(c, v7j::refuse); }),
      make_step<PermuteCase>({"v7k", "kept_input", "v6a", "Loads ask the L2 to keep what they read."}, v7k::run),
      make_step<PermuteCase>(
          {"v7l", "fixed_tile", "v7j", "Composite tiles whose sides the compiler knows: a third of the instructions."},
          v7l::run, [](const PermuteCase& c) { return refuse_as_given(c, v7l::refuse); }),
      make_step<PermuteCase>({"v7m", "direct_tile", "v7l",
                              "A tile without shared memory: many rows of a column a thread, found in the L1."},
                             v7m::run<>, [](const PermuteCase& c) { return refuse_as_given(c, v7l::refuse); }),
      make_step<PermuteCase>({"v7n", "output_runs", "v7h",
                              "A block writes one run of the output, gathered in shared memory as it will lie there."},
                             v7n::run<>, [](const PermuteCase& c) { return refuse_as_given(c, v7n::refuse_runs); }),
      make_step<PermuteCase>({"v7o", "placed_words", "v7l",
                              "Each word of a tile's row has a place of its own: full tiles, and nothing to shift."},
                             v7o::run<>, [](const PermuteCase& c) { return refuse_as_given(c, v7l::refuse); }),
      make_step<PermuteCase>({"v8", "tma", "v6a", "Hopper's copy engine fetches the tile."}, v8::run,
                             [](const PermuteCase& c) { return v8::refuse(c.problem(), c.address(), c.address()); }),
      make_step<PermuteCase>({"v9", "dispatch", "", "The right kernel for the problem: what permute.cuh gives away."},
                             v9::run),
      planned_step({"v10", "measured_choice", "", "The kernel that was fastest when all of them were tried."}),
  };
}

std::vector<CaseSpec> cases() {
  return {
      // The article's two permutations, the smallest and 16 MiB to 1 GiB.
      {"shape=8,256,512 perm=0,2,1 dtype=float"},
      {"shape=8,512,512 perm=0,2,1 dtype=half"},
      {"shape=16,128,512 perm=1,0,2 dtype=float"},
      {"shape=16,128,1024 perm=1,0,2 dtype=half"},
      {"shape=4,1024,1024 perm=0,2,1 dtype=float"},
      {"shape=8,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=32,128,1024 perm=1,0,2 dtype=float"},
      {"shape=32,256,1024 perm=1,0,2 dtype=half"},
      {"shape=8,1024,1024 perm=0,2,1 dtype=float"},
      {"shape=16,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=16,1024,1024 perm=0,2,1 dtype=float"},
      {"shape=32,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=32,1024,1024 perm=0,2,1 dtype=float", kHeadline, "shape=8,256,512 perm=0,2,1 dtype=float"},
      {"shape=64,1024,1024 perm=0,2,1 dtype=half", kHeadline, "shape=8,512,512 perm=0,2,1 dtype=half"},
      {"shape=256,1024,1024 perm=0,2,1 dtype=float"},
      {"shape=512,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=32,256,1024 perm=1,0,2 dtype=float"},
      {"shape=32,512,1024 perm=1,0,2 dtype=half"},
      {"shape=32,512,1024 perm=1,0,2 dtype=float"},
      {"shape=32,1024,1024 perm=1,0,2 dtype=half"},
      {"shape=32,1024,1024 perm=1,0,2 dtype=float"},
      {"shape=32,2048,1024 perm=1,0,2 dtype=half", kHeadline, "shape=16,128,1024 perm=1,0,2 dtype=half"},
      {"shape=32,8192,1024 perm=1,0,2 dtype=float"},
      {"shape=32,16384,1024 perm=1,0,2 dtype=half"},
      // Other element sizes.
      {"shape=8,512,512 perm=0,2,1 dtype=int8"},
      {"shape=64,1024,2048 perm=0,2,1 dtype=int8"},
      {"shape=16,1024,1024 perm=0,2,1 dtype=double"},
      {"shape=8,1024,1024 perm=0,2,1 dtype=complex128"},
      // Images between NCHW and NHWC.
      {"shape=4,96,40,40 perm=0,2,3,1 dtype=half"},
      {"shape=64,96,80,80 perm=0,2,3,1 dtype=float"},
      {"shape=64,96,80,80 perm=0,2,3,1 dtype=half"},
      {"shape=64,80,80,96 perm=0,3,1,2 dtype=float"},
      {"shape=64,80,80,96 perm=0,3,1,2 dtype=half"},
      {"shape=8,3,256,256 perm=0,2,3,1 dtype=float"},
      {"shape=64,3,512,512 perm=0,2,3,1 dtype=float"},
      {"shape=64,512,512,3 perm=0,3,1,2 dtype=half"},
      // Attention's heads.
      {"shape=4,256,16,64 perm=0,2,1,3 dtype=half"},
      {"shape=32,1024,16,64 perm=0,2,1,3 dtype=half"},
      // Odd and prime sizes, misaligned views.
      {"shape=3,255,511 perm=0,2,1 dtype=float"},
      {"shape=7,1023,2047 perm=0,2,1 dtype=float"},
      {"shape=7,1023,2047 perm=0,2,1 dtype=half"},
      {"shape=101,307,503 perm=2,0,1 dtype=float"},
      {"shape=683,256,577 perm=2,1,0 dtype=half"},
      {"shape=32,511,16,33 perm=0,2,1,3 dtype=float"},
      {"shape=1000,1511,5 perm=1,0,2 dtype=float"},
      {"shape=64,1024,1024 perm=0,2,1 dtype=half offset=1"},
      // Rank 3 reversed, and rank 5 to 8.
      {"shape=512,512,128 perm=2,1,0 dtype=float"},
      {"shape=6,20,10,30,32 perm=3,1,4,0,2 dtype=half"},
      {"shape=8,16,9,20,24,12 perm=5,2,0,4,1,3 dtype=float"},
      {"shape=4,10,12,8,6,24,16 perm=6,3,1,5,0,2,4 dtype=half"},
      {"shape=6,5,7,8,9,10,11,12 perm=7,1,5,3,0,6,2,4 dtype=half"},
      // Narrow elements whose fast dimensions are short or odd.
      {"shape=8251,3647,5 perm=2,1,0 dtype=int8"},
      {"shape=3,31,23,2,5,19,194 perm=2,4,6,0,3,1,5 dtype=half"},
  };
}

}  // namespace

/// Chapter 3.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 3;
  chapter.name = "permute";
  chapter.title = "Permute: any order of a tensor's dimensions, from naive to the speed of a copy";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = permute_case_help();
  chapter.make_case = [](const Parameters& parameters) { return std::make_unique<PermuteCase>(parameters); };
  return chapter;
}

}  // namespace warpbook::chapter3
