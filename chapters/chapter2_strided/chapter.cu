/// \file
/// Chapter 2 as data: its ladder, asides, library kernels and cases.

#include "chapters/chapter2_strided/asides/fill.cuh"
#include "chapters/chapter2_strided/strided_case.hpp"
#include "chapters/chapter2_strided/strided_copy.cuh"
#include "chapters/chapter2_strided/v1_naive.cuh"
#include "chapters/chapter2_strided/v2_static_dims.cuh"
#include "chapters/chapter2_strided/v3_collapsed_dims.cuh"
#include "chapters/chapter2_strided/v4_index_type.cuh"
#include "chapters/chapter2_strided/v5_fast_division.cuh"
#include "chapters/chapter2_strided/v6_carried_index.cuh"
#include "chapters/chapter2_strided/v7_wide_words.cuh"
#include "chapters/chapter2_strided/v8_strided_tile.cuh"
#include "chapters/chapter2_strided/v9_dispatch.cuh"
#include "common/harness/make_step.hpp"

namespace warpbook::chapter2 {
namespace {

Step fill_yardstick() {
  Step result = make_step<StridedCase>(
      {"f", "fill", "", "A cudaMemsetAsync of the output: what writing alone takes.", {}, StepKind::yardstick},
      fill::run, [](const StridedProblem& p) { return p.into_view ? "a view is written with gaps" : nullptr; });
  result.fills = std::byte{fill::kByte};
  return result;
}

/// A kernel's refusal of simplified problems, asked of a problem as it is given.
template <const char* (*refuse)(const StridedProblem&)> const char* simplified(const StridedProblem& p) {
  return p.count() == 0 ? nullptr : refuse(chapter2::simplified(p));
}

std::vector<Step> steps() {
  using C = StepsOf<StridedCase>;
  return {
      C::step("v1", "naive", "", "One thread per element: a 64-bit division and remainder for each dimension.",
              {"divisions-64", "sectors/request"}, v1::run),
      C::step("v2", "static_dims", "v1", "The number of dimensions is a template parameter.", {"divisions-64"},
              v2::run),
      C::step("v3", "collapsed_dims", "v2", "Dimensions of size 1 go, neighbours that are one run merge.",
              {"divisions-64"}, v3::run),
      C::step("v4", "index_type", "v3", "32-bit numbers where sizes and strides allow.",
              {"divisions-64", "divisions-32"}, v4::run),
      C::step("v5", "fast_division", "v4", "Divisions by sizes that the host knows become multiplications.",
              {"divisions-32"}, v5::run),
      C::step("v6", "carried_index", "v5", "Several elements per thread, the index carried on like digits.",
              {"requests", "sectors/request"}, v6::run),
      C::step("v7", "wide_words", "v6", "Words of up to 16 bytes where rows allow it, of 4 bytes in the result.",
              {"requests", "sectors/request"}, v7::run),
      C::step("v8", "strided_tile", "v5", "A tile in shared memory: in order on both sides.",
              {"sectors/request", "turns/shared load"}, v8::run, simplified<v8::refuse>),
      C::step("v9", "dispatch", "", "The right kernel for the view: what strided_copy.cuh gives away.", {}, v9::run),
      fill_yardstick(),
      C::library("few_dims", "v5's divisions for every element, in packs.", few_dims::run,
                 simplified<few_dims::refuse>),
      C::library("repeats", "What a view shows again and again is read once.", repeats::run,
                 simplified<repeats::refuse>),
      C::library("row_pieces", "Short rows in whole pieces of 8 bytes.", row_pieces::run,
                 simplified<row_pieces::refuse>),
      C::library("shifted_rows", "Words of 16 bytes along rows that begin anywhere.", shifted_rows::run,
                 simplified<shifted_rows::refuse>),
      C::library("staged_steps", "A long row's source in shared memory, picked apart there.", staged_steps::run,
                 simplified<staged_steps::refuse>),
      C::library("lone_elements", "Elements alone in their sectors, not kept in caches.", lone_elements::run,
                 simplified<lone_elements::refuse>),
      C::library("offset_tables", "Short dimensions: places from two tables.", offset_tables::run,
                 simplified<offset_tables::refuse>),
      C::library("short_dims_tile", "Tiles whose sides are made of several dimensions.", short_dims_tile::run,
                 simplified<short_dims_tile::refuse>),
      C::library("narrow_tile", "Tiles of 1 and 2 bytes, in words of 4.", narrow_tile::run,
                 simplified<narrow_tile::refuse>),
      C::library("short_rows", "A few long rows of narrow elements, interleaved.", short_rows::run,
                 simplified<short_rows::refuse>),
  };
}

std::vector<CaseSpec> cases() {
  return {
      {"shape=2,4,2 strides=16,4,2 dtype=float name=the_example"},
      // Contiguous last dimensions: x[:, ::2], x[:, 1:, 1:], x[:, :, :512].
      {"shape=16,128,256 strides=65536,512,1 dtype=float name=[:,::2]"},
      {"shape=16,255,255 strides=65536,256,1 offset=257 dtype=half name=[:,1:,1:]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=float name=[:,::2]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=half name=[:,::2]", kHeadline,
       "shape=16,128,256 strides=65536,512,1 dtype=half name=[:,::2]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype={float|half|int8} name=[:,1:,1:]"},
      {"shape=64,1024,512 strides=1048576,1024,1 dtype={float|half} name=[:,:,:512]"},
      {"shape=1048576,60 strides=64,1 offset=3 dtype=half name=rows_of_60"},
      // Steps along the last dimension: x[..., ::2], x[..., ::16], and ::3 of 256x64x64x64.
      {"shape=16,256,128 strides=65536,256,2 dtype={float|half} name=[...,::2]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=float name=[...,::2]", kHeadline,
       "shape=16,256,128 strides=65536,256,2 dtype=float name=[...,::2]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype={half|int8} name=[...,::2]"},
      {"shape=64,1024,64 strides=1048576,1024,16 dtype={float|half} name=[...,::16]"},
      {"shape=256,64,64,22 strides=262144,4096,64,3 dtype={float|half} name=[...,::3]"},
      // Transposes: of x, of slices of x, and with a step.
      {"shape=16,256,128 strides=32768,1,256 dtype=float name=transpose(1,2)"},
      {"shape=4,255,511 strides=131072,1,256 offset=257 dtype=float name=[:,1:,1:].transpose(1,2)"},
      {"shape=16,255,127 strides=32768,1,256 offset=257 dtype=half name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1024,1024 strides=1048576,1,1024 dtype={float|half} name=transpose(1,2)"},
      {"shape=1024,1024,64 strides=1,1024,1048576 dtype={float|half} name=transpose(0,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float name=[:,1:,1:].transpose(1,2)", kHeadline,
       "shape=4,255,511 strides=131072,1,256 offset=257 dtype=float name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype={half|int8|double} name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,512,1024 strides=1048576,2,1024 dtype={float|half} name=[...,::2].transpose(1,2)"},
      // Broadcasts to 64 Mi elements: of a matrix, of columns, of both; and windows that overlap.
      {"shape=16,256,256 strides=0,256,1 dtype=float name=expand_first"},
      {"shape=16,256,256 strides=256,1,0 dtype=float name=expand_last"},
      {"shape=64,1024,1024 strides=0,1024,1 dtype={float|half} name=expand_first"},
      {"shape=64,1024,1024 strides=1024,0,1 dtype={float|half} name=expand_middle"},
      {"shape=64,1024,1024 strides=1024,1,0 dtype={float|half} name=expand_last"},
      {"shape=65536,32,32 strides=32,1,0 dtype=half name=expand_last_of_32"},
      {"shape=1048576,64 strides=1,1 dtype={float|half} name=windows"},
      // Into views.
      {"shape=16,256,128 strides=65536,256,2 dtype=float into=1 name=[...,::2]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=float into=1 name=[:,::2]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype={float|half} into=1 name=[:,1:,1:]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=float into=1 name=[...,::2]"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float into=1 name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1024,1024 strides=1048576,1,1024 dtype=half into=1 name=transpose(1,2)"},
      // Fifteen rows of bytes, interleaved.
      {"shape=128,80,494,15 strides=494,63232,1,5058560 dtype=int8 name=short_rows"},
      // Many dimensions of which none merge: 12 of 2 or 4, and the most that there may be.
      {"shape=2,4,2,4,2,4,2,4,2,4,2,4 strides=131072,65536,16384,8192,2048,1024,256,128,32,16,4,2 dtype=float "
       "name=12_dims"},
      {"shape=2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2 "
       "strides=8388608,16777216,2097152,4194304,524288,1048576,"
       "131072,262144,32768,65536,8192,16384,2048,4096,512,1024,128,256,32,64,8,16,2,4,1 dtype=float name=25_dims"},
      // Offsets, and counts, beyond 32 bits.
      {"shape=3,1048576 strides=1073741824,2 dtype=int8 name=far_apart"},
      {"shape=2049,1048576 strides=0,1 dtype=int8 name=2^31_elements"},
  };
}

}  // namespace

// For the tests, so that these kernels are compiled once.

cudaError_t copy_by_take_away(void* dst, const void* src, const TensorView& view, int element_bytes, bool into_view,
                              cudaStream_t stream) {
  return into_view ? write_into_view(dst, view, src, element_bytes, stream)
                   : make_contiguous(dst, src, view, element_bytes, stream);
}

/// What v9's rules name as evidence and another rule decides.
std::vector<std::string> misjudged_evidence() {
  std::vector<std::string> misjudged;
  for (const v9::Rule& rule : v9::kRules) {
    const StridedCase evidence(Parameters::parse(rule.evidence));
    if (&v9::choose(chapter2::simplified(evidence.problem())) != &rule) misjudged.emplace_back(rule.evidence);
  }
  return misjudged;
}

/// The kernels for indices of 64 bits, on views of any size.
std::vector<Step> steps_for_large_views() {
  const auto in_64_bits = [](const char* version, auto run_as, const char* (*refuse)(const StridedProblem&)) {
    return make_step<StridedCase>(
        {version, "", "", ""},
        [=](const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
          return run_simplified(p, src, dst, stream, refuse, run_as);
        },
        [=](const StridedProblem& p) { return p.count() == 0 ? nullptr : refuse(chapter2::simplified(p)); });
  };
  return {in_64_bits("v6, 64 bits", v6::run_as<std::uint64_t>, kTakesAll),
          in_64_bits("v7, 64 bits", v7::run_as<std::uint64_t>,
                     [](const StridedProblem& q) { return q.into_view ? "a view that is written" : nullptr; }),
          in_64_bits("shifted_rows, 64 bits", shifted_rows::run_as<std::uint64_t>, shifted_rows::refuse)};
}

/// Chapter 2.
Chapter chapter() {
  return {.number = 2,
          .name = "strided",
          .title = "Strided access: any view made contiguous, and written into",
          .steps = steps(),
          .cases = expanded(cases()),
          .case_help = strided_case_help(),
          .make_case = make_case<StridedCase>};
}

}  // namespace warpbook::chapter2
