/// \file
/// Chapter 3 as data: its ladder, asides, library kernels and cases.

#include "chapters/chapter3_permute/asides/copy.cuh"
#include "chapters/chapter3_permute/asides/half2_rotated.cuh"
#include "chapters/chapter3_permute/asides/tma.cuh"
#include "chapters/chapter3_permute/asides/wide_rows.cuh"
#include "chapters/chapter3_permute/library/composite_tile.cuh"
#include "chapters/chapter3_permute/library/element_tiles.cuh"
#include "chapters/chapter3_permute/library/fixed_tile.cuh"
#include "chapters/chapter3_permute/library/gather.cuh"
#include "chapters/chapter3_permute/library/gathered_words.cuh"
#include "chapters/chapter3_permute/library/input_runs.cuh"
#include "chapters/chapter3_permute/library/placed_words.cuh"
#include "chapters/chapter3_permute/library/plan.cuh"
#include "chapters/chapter3_permute/permute_case.hpp"
#include "chapters/chapter3_permute/v1_naive.cuh"
#include "chapters/chapter3_permute/v2a_index_type.cuh"
#include "chapters/chapter3_permute/v2b_merged_dims.cuh"
#include "chapters/chapter3_permute/v3_movement_size.cuh"
#include "chapters/chapter3_permute/v4a_shared_tile.cuh"
#include "chapters/chapter3_permute/v4b_padded_tile.cuh"
#include "chapters/chapter3_permute/v4c_unrolled_tile.cuh"
#include "chapters/chapter3_permute/v5_half2.cuh"
#include "chapters/chapter3_permute/v6_wide_tile.cuh"
#include "chapters/chapter3_permute/v7_kept_input.cuh"
#include "chapters/chapter3_permute/v8_any_rank_tile.cuh"
#include "chapters/chapter3_permute/v9_dispatch.cuh"
#include "common/cuda/resources.hpp"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter3 {

// Here for the tests, too.
template std::span<const plan::Candidate> plan::candidates<PermuteProblem>(int element_bytes);

namespace {

/// The kernel that was fastest when all of them were tried: `plan_permute`.
Step planned_step(StepInfo info) {
  struct Planned {
    std::string parameters;  // The case's.
    plan::Choice choice;
  };
  const auto planned = std::make_shared<Planned>();
  const auto run = [planned](const PermuteCase& c, const Arrays& arrays, cudaStream_t stream) {
    const plan::Choice choice = planned->parameters == c.parameters() ? planned->choice : plan::Choice{};
    return plan::run(c.problem(), choice, arrays.inputs[0], arrays.output, stream);
  };
  Step result = make_step<PermuteCase>(std::move(info), run);
  result.prepare = [planned](const Case& c, const Arrays& arrays, cudaStream_t stream) {
    int device = 0;
    int l2_bytes = 0;
    check(cudaGetDevice(&device), "asking for the device");
    check(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, device), "asking for the size of the L2");
    const DeviceBuffer flush(2 * static_cast<std::size_t>(l2_bytes));
    planned->parameters = c.parameters();
    return plan::choose(static_cast<const PermuteCase&>(c).problem(), arrays.inputs[0], arrays.output,
                        {flush.data(), flush.bytes()}, stream, planned->choice);
  };
  return result;
}

const char* only_matrices(const PermuteProblem& p) {
  BatchTranspose matrices;
  return as_batch_transpose(p, matrices);
}

/// A kernel's refusal of simplified problems, asked of a problem as it is given.
template <const char* (*refuse)(const PermuteProblem&)> const char* simplified(const PermuteProblem& p) {
  return p.count() == 0 ? nullptr : refuse(chapter3::simplified(p));
}

std::vector<Step> steps() {
  using C = StepsOf<PermuteCase>;
  return {
      C::step("v1", "naive", "", "One thread per element: output offset to index to input offset, in 64 bits.",
              {"sectors/request", "divisions-64"}, v1::run),
      C::step("v2a", "index_type", "v1", "32-bit offsets wherever the tensor is small enough.",
              {"divisions-64", "divisions-32"}, v2a::run),
      C::preparing("v4a: an image becomes a matrix", "v2b", "merged_dims", "v2a",
                   "Dimensions that move together become one.", {"divisions-32"}, v2b::run),
      C::step("v3", "movement_size", "v2b", "Words of up to 16 bytes where the last dimension stays last.",
              {"requests", "divisions-32"}, v3::run),
      C::step("v4a", "shared_tile", "v3", "A tile in shared memory: whole rows on both sides of global memory.",
              {"sectors/request", "turns/shared load"}, v4a::run, only_matrices),
      C::step("v4b", "padded_tile", "v4a", "One unused column, and the bank conflicts are gone.", {"turns/shared load"},
              v4b::run, only_matrices),
      C::step("v4c", "unrolled_tile", "v4b", "Loops of a fixed length: four loads under way per thread.",
              {"requests", "sectors/request"}, v4c::run, only_matrices),
      C::step("v5", "half2", "v4c", "Two halves per word on both sides of the tile.", {"requests", "turns/shared load"},
              v5::run, v5::refuse),
      C::step("v6", "wide_tile", "v4c", "16 bytes per load and per store, for every element size.",
              {"requests", "sectors/request", "turns/shared load"}, v6::run, v6::refuse),
      C::step("v7", "kept_input", "v6", "Loads ask the L2 to keep what they read.", {"requests", "sectors/request"},
              v7::run, v6::refuse),
      C::preparing("v9: wide tiles at any rank", "v8", "any_rank_tile", "v7",
                   "Each block finds its tile among all dimensions.", {"requests", "sectors/request"}, v8::run,
                   simplified<v8::refuse>),
      C::step("v9", "dispatch", "", "The right kernel for the problem: what permute.cuh gives away.", {}, v9::run),
      C::yardstick("copy", "No permutation: one element per thread, in order.", copy::run<1>),
      C::yardstick("copy_unrolled", "The same copy with four elements under way per thread.", copy::run<4>),
      C::aside("half2_rotated", "v5", "v5's tile rotated instead of padded: no conflicts, and no gain.",
               {"turns/shared load"}, half2_rotated::run, v5::refuse),
      C::aside("wide_rows", "v3", "Several words under way per thread, where v3 has enough.", {"requests"},
               wide_rows::run, wide_rows::refuse),
      C::aside("tma", "v6", "Hopper's copy engine fetches the tile.", {"requests"}, tma::run, tma::refuse),
      C::library("element_tiles", "Tiles of single elements or 4-byte words, at any size and alignment.",
                 element_tiles::run, simplified<element_tiles::refuse>),
      C::library("gather", "Any permutation, element by element in the output's order.", gather::run),
      C::library("gathered_words", "A gather that works out one index per word of the output.", gathered_words::run,
                 simplified<gathered_words::refuse>),
      C::library("input_runs", "A thread moves a run of the input by itself.", input_runs::run,
                 simplified<input_runs::refuse>),
      C::library("composite_tile", "Tiles whose sides are made of several dimensions.", composite_tile::run,
                 simplified<composite_tile::refuse>),
      C::library("fixed_tile", "The same with sides that the compiler knows.", fixed_tile::run,
                 simplified<fixed_tile::refuse>),
      C::library("placed_words", "The same where each word of a row has a place of its own.", placed_words::run,
                 simplified<placed_words::refuse>),
      planned_step(
          {"plan", "plan", "", "The kernel that was fastest when all of them were tried.", {}, StepKind::library}),
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
      {"shape=16,1024,1024 perm=0,2,1 dtype={half|float}"},
      {"shape=32,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=32,1024,1024 perm=0,2,1 dtype=float", kHeadline, "shape=8,256,512 perm=0,2,1 dtype=float"},
      {"shape=64,1024,1024 perm=0,2,1 dtype=half", kHeadline, "shape=8,512,512 perm=0,2,1 dtype=half"},
      {"shape=256,1024,1024 perm=0,2,1 dtype=float"},
      {"shape=512,1024,1024 perm=0,2,1 dtype=half"},
      {"shape=32,256,1024 perm=1,0,2 dtype=float"},
      {"shape=32,512,1024 perm=1,0,2 dtype={half|float}"},
      {"shape=32,1024,1024 perm=1,0,2 dtype={half|float}"},
      {"shape=32,2048,1024 perm=1,0,2 dtype=half", kHeadline, "shape=16,128,1024 perm=1,0,2 dtype=half"},
      {"shape=32,8192,1024 perm=1,0,2 dtype=float"},
      {"shape=32,16384,1024 perm=1,0,2 dtype=half"},
      // Other element sizes.
      {"shape={8,512,512|64,1024,2048} perm=0,2,1 dtype=int8"},
      {"shape=16,1024,1024 perm=0,2,1 dtype=double"},
      {"shape=8,1024,1024 perm=0,2,1 dtype=complex128"},
      // Images between NCHW and NHWC.
      {"shape=4,96,40,40 perm=0,2,3,1 dtype=half"},
      {"shape=64,96,80,80 perm=0,2,3,1 dtype={float|half}"},
      {"shape=64,80,80,96 perm=0,3,1,2 dtype={float|half}"},
      {"shape={8,3,256,256|64,3,512,512} perm=0,2,3,1 dtype=float"},
      {"shape=64,512,512,3 perm=0,3,1,2 dtype=half"},
      // Attention's heads.
      {"shape={4,256|32,1024},16,64 perm=0,2,1,3 dtype=half"},
      // Odd and prime sizes, misaligned views.
      {"shape=3,255,511 perm=0,2,1 dtype=float"},
      {"shape=7,1023,2047 perm=0,2,1 dtype={float|half}"},
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
      {"shape=78,11,17,15,8,2,8,2 perm=1,4,6,3,0,5,7,2 dtype=int8"},
      {"shape=3,31,23,2,5,19,194 perm=2,4,6,0,3,1,5 dtype=half"},
      // Short rows and short sides.
      {"shape=96,1500,96 perm=2,1,0 dtype=int8"},
      {"shape=812829,7 perm=1,0 dtype=float"},
      {"shape=1777545,9 perm=1,0 dtype=double"},
      {"shape=888885,9,2 perm=1,0,2 dtype=double"},
  };
}

}  // namespace

Chapter chapter() {
  return {.number = 3,
          .name = "permute",
          .title = "Permute: any order of a tensor's dimensions, from naive to the speed of a copy",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = permute_case_help(),
          .make_case = make_case<PermuteCase>};
}

}  // namespace warpbook::chapter3
