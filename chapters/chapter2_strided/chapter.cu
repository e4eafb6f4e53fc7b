/// \file
/// Chapter 2 as data: its steps and its cases.

#include "chapters/chapter2_strided/fill.cuh"
#include "chapters/chapter2_strided/strided_case.hpp"
#include "chapters/chapter2_strided/strided_copy.cuh"
#include "chapters/chapter2_strided/v1_naive.cuh"
#include "chapters/chapter2_strided/v2_static_dims.cuh"
#include "chapters/chapter2_strided/v3_collapsed_dims.cuh"
#include "chapters/chapter2_strided/v4_index_type.cuh"
#include "chapters/chapter2_strided/v5_fast_division.cuh"
#include "chapters/chapter2_strided/v6_carried_index.cuh"
#include "chapters/chapter2_strided/v7a_wide_words.cuh"
#include "chapters/chapter2_strided/v7b_repeats.cuh"
#include "chapters/chapter2_strided/v7c_shifted_rows.cuh"
#include "chapters/chapter2_strided/v7d_staged_steps.cuh"
#include "chapters/chapter2_strided/v7e_offset_tables.cuh"
#include "chapters/chapter2_strided/v7f_few_dims.cuh"
#include "chapters/chapter2_strided/v7g_row_pieces.cuh"
#include "chapters/chapter2_strided/v8a_strided_tile.cuh"
#include "chapters/chapter2_strided/v8b_word_tile.cuh"
#include "chapters/chapter2_strided/v8c_short_rows.cuh"
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

const char* refuse_tiles(const StridedProblem& p) {
  if (p.count() == 0) return nullptr;
  return v8a::refuse(prepare_collapsed(p, nullptr, nullptr).problem);
}

const char* refuse_word_tiles(const StridedProblem& p) {
  if (p.count() == 0) return nullptr;
  return v8b::refuse(prepare_collapsed(p, nullptr, nullptr).problem);
}

const char* refuse_short_rows(const StridedProblem& p) {
  if (p.count() == 0) return nullptr;
  return v8c::refuse(prepare_collapsed(p, nullptr, nullptr).problem);
}

std::vector<Step> steps() {
  return {
      fill_yardstick(),
      make_step<StridedCase>({"v1",
                              "naive",
                              "",
                              "One thread an element: a 64-bit division and remainder for each dimension.",
                              {"divisions-64", "sectors/request"}},
                             v1::run),
      make_step<StridedCase>({"v2",
                              "static_dims",
                              "v1",
                              "The number of dimensions is a template parameter.",
                              {"instructions", "divisions-64"}},
                             v2::run),
      make_step<StridedCase>({"v3",
                              "collapsed_dims",
                              "v2",
                              "Dimensions of size 1 dropped, neighbours that are one run merged.",
                              {"divisions-64"}},
                             v3::run),
      make_step<StridedCase>(
          {"v4", "index_type", "v3", "32-bit indices where sizes and strides allow.", {"divisions-64", "divisions-32"}},
          v4::run),
      make_step<StridedCase>({"v5",
                              "fast_division",
                              "v4",
                              "Sizes known on the host become multiplications.",
                              {"divisions-32", "instructions"}},
                             v5::run),
      make_step<StridedCase>({"v6",
                              "carried_index",
                              "v5",
                              "Several elements a thread, the index carried on like digits.",
                              {"instructions"}},
                             v6::run),
      make_step<StridedCase>({"v7a",
                              "wide_words",
                              "v6",
                              "Words of up to 16 bytes where rows allow it, of 4 on the contiguous side.",
                              {"requests", "store requests"}},
                             v7a::run),
      make_step<StridedCase>(
          {"v7b", "repeats", "v7a", "What a view shows again and again is read once and written often."}, v7b::run),
      make_step<StridedCase>({"v7c",
                              "shifted_rows",
                              "v7a",
                              "Words of 16 bytes along rows that begin anywhere.",
                              {"requests", "store requests"}},
                             v7c::run),
      make_step<StridedCase>(
          {"v7d", "staged_steps", "v7a", "A step's source in shared memory as it lies, and picked apart there."},
          v7d::run),
      make_step<StridedCase>(
          {"v7e", "offset_tables", "v5", "Short dimensions: places from two tables in shared memory."}, v7e::run),
      make_step<StridedCase>(
          {"v7f", "few_dims", "v5", "A division for each element and dimension again, and little else."}, v7f::run),
      make_step<StridedCase>({"v7g", "row_pieces", "v7a", "Rows of whole 8-byte pieces that begin anywhere."},
                             v7g::run),
      make_step<StridedCase>(
          {"v7h", "lone_elements", "v7f", "Elements alone in their sectors, brought without being kept."}, v7h::run),
      make_step<StridedCase>({"v8a",
                              "strided_tile",
                              "v5",
                              "A tile in shared memory, in order on both sides.",
                              {"sectors/request", "turns/shared load"}},
                             v8a::run, refuse_tiles),
      make_step<StridedCase>({"v8b", "word_tile", "v8a", "Tiles in words of 4 bytes that begin at a sector."}, v8b::run,
                             refuse_word_tiles),
      make_step<StridedCase>(
          {"v8c", "short_rows", "v8a", "Short rows of narrow elements interleaved through a tile, in words."}, v8c::run,
          refuse_short_rows),
      make_step<StridedCase>({"v9", "dispatch", "", "The right kernel for the view: what strided_copy.cuh gives away."},
                             v9::run),
  };
}

// The tensor x of 64 Mi elements has the shape (64, 1024, 1024), and a smaller one stands in for it on the emulator.
std::vector<CaseSpec> cases() {
  return {
      {"shape=2,4,2 strides=16,4,2 dtype=float name=the_example"},
      // Contiguous last dimensions: x[:, ::2], x[:, 1:, 1:], x[:, :, :512].
      {"shape=16,128,256 strides=65536,512,1 dtype=float name=[:,::2]"},
      {"shape=16,255,255 strides=65536,256,1 offset=257 dtype=half name=[:,1:,1:]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=float name=[:,::2]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=half name=[:,::2]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=float name=[:,1:,1:]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half name=[:,1:,1:]", kHeadline,
       "shape=16,255,255 strides=65536,256,1 offset=257 dtype=half name=[:,1:,1:]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=int8 name=[:,1:,1:]"},
      {"shape=64,1024,512 strides=1048576,1024,1 dtype=float name=[:,:,:512]"},
      {"shape=64,1024,512 strides=1048576,1024,1 dtype=half name=[:,:,:512]"},
      {"shape=1048576,60 strides=64,1 offset=3 dtype=half name=rows_of_60"},
      // Steps along the last dimension: x[..., ::2], x[..., ::16], and ::3 of 256x64x64x64.
      {"shape=16,256,128 strides=65536,256,2 dtype=float name=[...,::2]"},
      {"shape=16,256,128 strides=65536,256,2 dtype=half name=[...,::2]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=float name=[...,::2]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=half name=[...,::2]", kHeadline,
       "shape=16,256,128 strides=65536,256,2 dtype=half name=[...,::2]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=int8 name=[...,::2]"},
      {"shape=64,1024,64 strides=1048576,1024,16 dtype=float name=[...,::16]"},
      {"shape=64,1024,64 strides=1048576,1024,16 dtype=half name=[...,::16]"},
      {"shape=256,64,64,22 strides=262144,4096,64,3 dtype=float name=[...,::3]"},
      {"shape=256,64,64,22 strides=262144,4096,64,3 dtype=half name=[...,::3]"},
      // Transposes: of x, of slices of x, and with a step.
      {"shape=16,256,128 strides=32768,1,256 dtype=float name=transpose(1,2)"},
      {"shape=16,255,127 strides=32768,1,256 offset=257 dtype=float name=[:,1:,1:].transpose(1,2)"},
      {"shape=16,255,127 strides=32768,1,256 offset=257 dtype=half name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1024,1024 strides=1048576,1,1024 dtype=float name=transpose(1,2)"},
      {"shape=64,1024,1024 strides=1048576,1,1024 dtype=half name=transpose(1,2)"},
      {"shape=1024,1024,64 strides=1,1024,1048576 dtype=float name=transpose(0,2)"},
      {"shape=1024,1024,64 strides=1,1024,1048576 dtype=half name=transpose(0,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float name=[:,1:,1:].transpose(1,2)", kHeadline,
       "shape=16,255,127 strides=32768,1,256 offset=257 dtype=float name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=half name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=int8 name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=double name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,512,1024 strides=1048576,2,1024 dtype=float name=[...,::2].transpose(1,2)"},
      {"shape=64,512,1024 strides=1048576,2,1024 dtype=half name=[...,::2].transpose(1,2)"},
      // Broadcasts to 64 Mi elements: of a matrix, of columns, of both; and windows that overlap.
      {"shape=16,256,256 strides=0,256,1 dtype=float name=expand_first"},
      {"shape=16,256,256 strides=256,1,0 dtype=float name=expand_last"},
      {"shape=64,1024,1024 strides=0,1024,1 dtype=float name=expand_first"},
      {"shape=64,1024,1024 strides=0,1024,1 dtype=half name=expand_first"},
      {"shape=64,1024,1024 strides=1024,0,1 dtype=float name=expand_middle"},
      {"shape=64,1024,1024 strides=1024,0,1 dtype=half name=expand_middle"},
      {"shape=64,1024,1024 strides=1024,1,0 dtype=float name=expand_last"},
      {"shape=64,1024,1024 strides=1024,1,0 dtype=half name=expand_last"},
      {"shape=65536,32,32 strides=32,1,0 dtype=half name=expand_last_of_32"},
      {"shape=1048576,64 strides=1,1 dtype=float name=windows"},
      {"shape=1048576,64 strides=1,1 dtype=half name=windows"},
      // Into views.
      {"shape=16,256,128 strides=65536,256,2 dtype=float into=1 name=[...,::2]"},
      {"shape=64,512,1024 strides=1048576,2048,1 dtype=float into=1 name=[:,::2]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=float into=1 name=[:,1:,1:]"},
      {"shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half into=1 name=[:,1:,1:]"},
      {"shape=64,1024,512 strides=1048576,1024,2 dtype=float into=1 name=[...,::2]"},
      {"shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float into=1 name=[:,1:,1:].transpose(1,2)"},
      {"shape=64,1024,1024 strides=1048576,1,1024 dtype=half into=1 name=transpose(1,2)"},
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

/// make_contiguous or write_into_view.
cudaError_t copy_by_take_away(void* dst, const void* src, const TensorView& view, int element_bytes, bool into_view,
                              cudaStream_t stream) {
  return into_view ? write_into_view(dst, view, src, element_bytes, stream)
                   : make_contiguous(dst, src, view, element_bytes, stream);
}

/// What the dispatcher takes for large views only, for views of any size.
std::vector<Step> steps_for_large_views() {
  const auto v6_in_64_bits = [](const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
    return p.count() == 0 ? cudaSuccess : v6::run_as<std::uint64_t>(prepare_collapsed(p, src, dst), stream);
  };
  const auto v7a_in_64_bits = [](const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
    if (p.count() == 0) return cudaSuccess;
    const Prepared q = prepare_collapsed(p, src, dst);
    return p.into_view ? v6::run_as<std::uint64_t>(q, stream)
                       : v7a::run_gather<std::uint64_t>(with_elements_of(q, movement_bytes(q)), stream);
  };
  const auto rows_in_64_bits = [](const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
    const Prepared q = prepare_collapsed(p, src, dst);
    return p.into_view ? v7c::write_rows<std::uint64_t>(q, stream) : v7c::read_rows<std::uint64_t>(q, stream);
  };
  const auto rows_of_any_length = [](const StridedProblem& p, const void* src, void* dst, cudaStream_t stream) {
    return v7c::run_shifted(prepare_collapsed(p, src, dst), stream);
  };
  const auto no_rows = [](const StridedProblem& p) {
    if (p.count() == 0) return "no elements";
    const TensorView view = prepare_collapsed(p, nullptr, nullptr).problem.view;
    if (view.strides[view.dims - 1] != 1) return "the last dimension is not contiguous";
    return p.into_view || view.sizes[view.dims - 1] * p.element_bytes >= 16 ? nullptr : "rows of less than 16 bytes";
  };
  return {make_step<StridedCase>({"v6, 64 bits", "", "", ""}, v6_in_64_bits),
          make_step<StridedCase>({"v7a, 64 bits", "", "", ""}, v7a_in_64_bits),
          make_step<StridedCase>({"v7c, 64 bits", "", "", ""}, rows_in_64_bits, no_rows),
          make_step<StridedCase>({"v7c, any length", "", "", ""}, rows_of_any_length, no_rows)};
}

/// Chapter 2.
Chapter chapter() {
  Chapter chapter;
  chapter.number = 2;
  chapter.name = "strided";
  chapter.title = "Strided access: any view made contiguous, and written into";
  chapter.steps = steps();
  chapter.cases = cases();
  chapter.case_help = strided_case_help();
  chapter.make_case = [](const Parameters& parameters) { return std::make_unique<StridedCase>(parameters); };
  return chapter;
}

}  // namespace warpbook::chapter2
