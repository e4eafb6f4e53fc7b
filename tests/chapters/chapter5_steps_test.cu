// Every step of chapter 5 against the reference, through the harness's own verification; indices that name no row;
// equal results on every run; PyTorch's example; and the take-away function in a graph.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "chapters/chapter5_index_add/index_add_case.hpp"
#include "chapters/chapter5_index_add/v5_collapsed_dims.cuh"
#include "common/harness/device.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"
#include "tests/chapters/dice.hpp"
#include "tests/chapters/step_verifier.hpp"

namespace warpbook::chapter5 {

Chapter chapter();  // chapter.cu
std::string chosen_step(const IndexAddProblem& problem);
std::vector<std::string> rules_evidence();
std::size_t deciding_rule(const IndexAddProblem& problem);

namespace {

// ------------------------------------------------------------------------------------------------------- the cases

const std::vector<std::string> kTypes = {"half",  "bfloat16", "float", "double", "int8",
                                         "uint8", "int16",    "int32", "int64"};

/// Cases that are awkward for a reason.
std::vector<std::string> awkward_cases() {
  std::vector<std::string> cases;
  const std::vector<std::string> shapes = {
      "shape=5,3 dim=0 count=3",
      // No entries, no rows, rows without elements; one element.
      "shape=5,3 dim=0 count=0",
      "shape=0,3 dim=0 count=0",
      "shape=5,0 dim=0 count=4",
      "shape=1 dim=0 count=1",
      "shape=1,1,1 dim=1 count=7 draw=same",
      // One dimension: rows of one element.
      "shape=1000 dim=0 count=15",
      "shape=7 dim=0 count=3000",
      "shape=4097 dim=0 count=4099",
      // Around the cut at 16, and around whole words and warps.
      "shape=40,64 dim=0 count=16",
      "shape=40,64 dim=0 count=17",
      "shape=40,65 dim=0 count=33",
      "shape=9,127 dim=0 count=130 draw=ends",
      // One row, two, all the same.
      "shape=1,64 dim=0 count=500",
      "shape=2,64 dim=0 count=500 draw=ends",
      "shape=300,32 dim=0 count=700 draw=same",
      // Many rows, each once; more rows than a tile has buckets.
      "shape=600,16 dim=0 count=600 draw=distinct",
      "shape=9000,8 dim=0 count=2500",
      "shape=6000,16 dim=0 count=1500 draw=zipf",
      // Rows of many words, by few entries.
      "shape=40,520 dim=0 count=60",
      "shape=7,520 dim=0 count=60 outside=9",
      // Every place of dim.
      "shape=6,7,8 dim=0 count=20",
      "shape=6,7,8 dim=1 count=20",
      "shape=6,7,8 dim=2 count=20",
      "shape=3,4,5,6,7 dim=2 count=11",
      "shape=3,4,5,6,7 dim=4 count=30",
      "shape=2,2,2,2,2,2,2,2,2 dim=4 count=5",
      "shape=1,2,1,3,1,2,1,2,1,2,1,2 dim=3 count=6",
      // Views.
      "shape=12,16,8 dim=0 count=9 dst=reversed",
      "shape=12,16,8 dim=1 count=40 src=reversed",
      "shape=12,16,8 dim=2 count=40 dst=reversed src=reversed",
      "shape=12,16,8 dim=0 count=40 dst=gaps",
      "shape=12,16,8 dim=1 count=9 src=gaps",
      "shape=12,16,8 dim=0 count=40 src=broadcast",
      "shape=3,4,5,6 dim=1 count=19 dst=gaps src=reversed",
      // Entries that name no row, some of them or all.
      "shape=50,16 dim=0 count=200 outside=9",
      "shape=0,16 dim=0 count=12 outside=12",
      "shape=50,16 dim=0 count=12 outside=12",
      "shape=1,24 dim=0 count=40 outside=1",
      // A stretch of the sorted entries that begins and ends with a row, rows over many stretches.
      "shape=4,8 dim=0 count=2048",
      "shape=33,16 dim=0 count=4096 draw=zipf",
  };
  for (const std::string& shape : shapes) {
    for (const std::string& type : kTypes) cases.push_back(shape + " dtype=" + type);
  }
  for (const std::string type : {"half", "float", "double", "int8"}) {
    const std::string head = "dtype=" + type + " ";
    for (const std::string offset : {"1", "2", "3", "8"}) {
      cases.push_back(head + "shape=40,64 dim=0 count=100 offset=" + offset);
      cases.push_back(head + "shape=40,24 dim=0 count=2100 offset=" + offset);
    }
    for (const std::string alpha : {"-1", "2", "0", "-3"}) {
      cases.push_back(head + "shape=30,48 dim=0 count=100 alpha=" + alpha);
    }
    cases.push_back(head + "shape=30,48 dim=0 count=100 index=int32");
    cases.push_back(head + "shape=9,1040 dim=0 count=70 index=int32 alpha=-3");
    cases.push_back(head + "shape=3000,48 dim=0 count=100 index=int32 outside=7");
  }
  for (const std::string type : {"half", "bfloat16", "float", "double"}) {
    const std::string head = "dtype=" + type + " ";
    cases.push_back(head + "shape=30,48 dim=0 count=60 values=real");
    cases.push_back(head + "shape=30,48 dim=0 count=60 alpha=0.3");
    cases.push_back(head + "shape=30,48 dim=0 count=60 alpha=1e-3 values=real draw=zipf");
    cases.push_back(head + "shape=5,16 dim=0 count=6000 values=real");
  }
  // Runs of 16 bytes and of less: words of 8 and 4 bytes, single elements where the length or an array is odd.
  for (const std::string type : {"half", "bfloat16", "float"}) {
    std::vector<std::string> runs = {"6", "35", "36"};
    if (type == "half") runs.insert(runs.end(), {"2", "4", "10", "12", "260"});
    for (const std::string& run : runs) {
      const std::string head = "dtype=" + type + " ";
      cases.push_back(head + "shape=41," + run + " dim=0 count=103");
      cases.push_back(head + "shape=5,11," + run + " dim=1 count=22 alpha=2 outside=3 index=int32");
      for (const std::string offset : {"1", "2", "4"}) {
        cases.push_back(head + "shape=3,11," + run + " dim=1 count=22 offset=" + offset);
      }
    }
    cases.push_back("dtype=" + type + " shape=4,5,11,36 dim=2 count=22 dst=gaps");
    cases.push_back("dtype=" + type + " shape=4,5,11,36 dim=2 count=22 src=reversed");
    cases.push_back("dtype=" + type + " shape=4,11,36 dim=1 count=22 src=broadcast values=real");
  }
  return cases;
}

constexpr std::int64_t kMostElements = 20'000;  // Of src.

/// A random case. Kinds: any rank; rows of whole words; few rows; one dimension; the last dimension.
std::string random_case(Dice& dice, int kind) {
  const int rank = kind == 1 || kind == 2 ? 2 : kind == 3 ? 1 : static_cast<int>(dice.uniform(1, 5));
  int dim = kind == 4 ? rank - 1 : static_cast<int>(dice.uniform(0, rank - 1));
  if (kind == 1 || kind == 2) dim = 0;
  std::vector<std::int64_t> shape;
  std::int64_t row = 1;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t most = std::max<std::int64_t>(1, 600 / row);
    std::int64_t size = d == dim ? 1 : dice.log_uniform(1, rank == 2 ? 300 : std::min<std::int64_t>(most, 24));
    if (kind == 1 && d != dim) size = 16 * dice.uniform(1, 12);
    if (d != dim) row *= size;
    shape.push_back(size);
  }
  const std::int64_t rows =
      kind == 2 ? dice.uniform(1, 12) : dice.log_uniform(1, std::max<std::int64_t>(2, kMostElements / row));
  const std::int64_t count = dice.log_uniform(1, std::max<std::int64_t>(2, kMostElements / row));
  shape[static_cast<std::size_t>(dim)] = rows;
  std::string text = "shape=";
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(shape[d]);
  text += " dim=" + std::to_string(dim) + " count=" + std::to_string(count) +
          " dtype=" + (dice.one_in(2) ? dice.pick<std::string>({"float", "half"}) : dice.pick(kTypes));
  // Duplicates heavy: Zipf's law, the ends, or a single row in half of the cases.
  if (dice.one_in(2)) text += " draw=" + dice.pick<std::string>({"zipf", "zipf", "ends", "same"});
  if (dice.one_in(3)) text += " index=int32";
  if (dice.one_in(4)) text += " dst=" + dice.pick<std::string>({"reversed", "gaps"});
  if (dice.one_in(4)) text += " src=" + dice.pick<std::string>({"reversed", "gaps", "broadcast"});
  if (dice.one_in(5)) text += " offset=" + std::to_string(dice.uniform(1, 17));
  if (dice.one_in(5)) text += " alpha=" + dice.pick<std::string>({"-1", "2", "3"});
  if (dice.one_in(6)) text += " outside=" + std::to_string(dice.uniform(1, count));
  return text;
}

constexpr int kKinds = 5;
constexpr int kRandomCases = 250;
const IndexAddCase& as_index_add(const Case& c) { return static_cast<const IndexAddCase&>(c); }

/// Whether a step said how many indices are outside: the scratch memory's first number, where there are any.
bool said_outside(const Case& c, std::span<const std::byte> scratch) {
  const std::uint64_t outside = as_index_add(c).problem().empty() ? 0 : as_index_add(c).outside();
  std::uint64_t said = 0;
  std::memcpy(&said, scratch.data(), std::min(scratch.size(), sizeof(said)));
  return outside == 0 || said == outside;
}

Step step_named(const std::string& version) {
  const Chapter chapter = chapter5::chapter();
  const auto step =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [&](const Step& s) { return s.version == version; });
  REQUIRE(step != chapter.steps.end());
  return *step;
}

std::unique_ptr<Case> make_case(const std::string& parameters) {
  return chapter().make_case(Parameters::parse(parameters));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------- the steps

TEST_CASE("every step agrees with the reference, and says which index is outside") {
  const std::uint64_t seed = test_seed();
  std::cout << "WARPBOOK_TEST_SEED=" << seed << std::endl;
  Dice dice(seed);
  std::vector<std::string> cases = fuzzing() ? std::vector<std::string>{} : awkward_cases();
  for (int i = 0; i < random_case_count(kRandomCases); ++i) cases.push_back(random_case(dice, i % kKinds));
  if (!fuzzing()) REQUIRE(cases.size() >= 600);

  StepVerifier verifier(chapter(), chapter().steps, said_outside);
  for (const std::string& parameters : cases) verifier.verify(parameters, seed);

  std::cout << cases.size() << " cases" << std::endl;
  for (const auto& [version, tally] : verifier.tallies()) {
    std::cout << "  " << version << ": ran " << tally.ran << ", refused " << tally.refused << std::endl;
    INFO(version);
    CHECK(tally.ran >= least_runs(150, cases.size()));
    if (version == "sorted_segments") CHECK(tally.refused == 0);
  }
}

TEST_CASE("a step that forgets, repeats or misplaces an entry is caught") {
  const Step right = step_named("v1");
  const auto with_problem = [&](auto change) {
    Step wrong = right;
    wrong.refusal = {};
    wrong.run = [=](const Case& c, const Arrays& arrays, cudaStream_t stream) {
      // The same arrays under another problem.
      const IndexAddCase changed(Parameters::parse(change(c.parameters())));
      return right.run(changed, arrays, stream);
    };
    return wrong;
  };
  const auto replace = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const std::string values : {"", " values=real"}) {
    for (const std::string type : {"float", "half"}) {
      const auto problem = make_case("shape=30,48 dim=0 count=100 dtype=" + type + values);
      CHECK(verify_step(right, *problem, 1).status == Status::pass);
      const Step forgets = with_problem([&](const std::string& p) { return replace(p, "count=100", "count=99"); });
      CHECK(verify_step(forgets, *problem, 1).status == Status::fail);
      const Step shifted = with_problem([&](const std::string& p) { return replace(p, "shape=30,48", "shape=29,48"); });
      CHECK(verify_step(shifted, *problem, 1).status == Status::fail);
      // By more than a bound of sums in half allows in whichever order: by 1% it found one element, or none.
      const Step scaled = with_problem([&](const std::string& p) { return p + " alpha=1.25"; });
      CHECK(verify_step(scaled, *problem, 1).status == Status::fail);
    }
  }
  // A half that a thousand halves are added to one by one: off by more than rounding once.
  const auto wide = make_case("shape=1,64 dim=0 count=8000 dtype=half");
  REQUIRE(as_index_add(*wide).needs_wide_sums());
  CHECK(verify_step(right, *wide, 1).status == Status::skipped);
  CHECK(verify_step(step_named("sorted_segments"), *wide, 1).status == Status::pass);
}

TEST_CASE("steps without atomics give the same result on every run") {
  for (const std::string version : {"v8a", "row_owner", "private_rows", "sorted_segments"}) {
    const Step step = step_named(version);
    for (const std::string type : {"float", "half"}) {
      const auto problem = make_case("shape=7,96 dim=0 count=2000 values=real draw=zipf dtype=" + type);
      const HostCase host(*problem, 3);
      const Stream stream;
      Transfer transfer(stream);
      const DeviceCase device(host, device_fences(), transfer);
      std::vector<std::byte> first;
      for (int run = 0; run < 4; ++run) {
        REQUIRE(verify_step(step, host, device, stream, transfer).status == Status::pass);
        std::vector<std::byte> result(device.main().output().bytes());
        transfer.download(device.main().output().data(), result);
        if (run == 0) first = result;
        CHECK(std::memcmp(first.data(), result.data(), result.size()) == 0);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------- the rules

TEST_CASE("PyTorch's example: sizes, strides and result") {
  // x = ones(5, 3); x.index_add_(0, [0, 4, 2], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
  const std::int64_t dst_shape[2] = {5, 3};
  const std::int64_t src_shape[2] = {3, 3};
  IndexAddProblem p;
  p.dst = contiguous_view(2, dst_shape);
  p.src = contiguous_view(2, src_shape);
  CHECK(refuse_problem(p) == nullptr);
  CHECK(p.row_elements() == 3);  // sliceSize
  CHECK(p.rows() == 5);          // selfAddDimSize
  CHECK(p.entries() == 3);
  CHECK(p.dst.count() == 15);                      // selfNumel
  for (const TensorView& view : {p.dst, p.src}) {  // selfInfo, sourceInfo
    const auto row = v2::TensorRow::of(view, 0);
    CHECK(row.dims == 2);
    CHECK(row.size[0] == 1);
    CHECK(row.size[1] == 3);
    CHECK(row.stride[0] == 3);
    CHECK(row.stride[1] == 1);
  }
  CHECK(v5::collapsed_row(p.dst, 0).dims == 1);
  CHECK(v5::collapsed_row(p.dst, 0).sizes[0] == 3);
  CHECK(index_is_major(p.dst, 0));
  CHECK(v2::pytorch_grid(3).blocks == 1);
  CHECK(v2::pytorch_grid(3).threads == 3);

  const std::vector<float> ones(15, 1);
  const std::vector<float> t = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::vector<std::int64_t> index = {0, 4, 2};
  const std::vector<float> expected = {2, 3, 4, 1, 1, 1, 8, 9, 10, 1, 1, 1, 5, 6, 7};
  const DeviceBuffer dst(60);
  const DeviceBuffer src(36);
  const DeviceBuffer rows(24);
  check(cudaMemcpy(dst.data(), ones.data(), 60, cudaMemcpyHostToDevice), "copying");
  check(cudaMemcpy(src.data(), t.data(), 36, cudaMemcpyHostToDevice), "copying");
  check(cudaMemcpy(rows.data(), index.data(), 24, cudaMemcpyHostToDevice), "copying");
  auto* const to = reinterpret_cast<float*>(dst.data());
  const auto* const from = reinterpret_cast<const float*>(src.data());
  const auto* const named = reinterpret_cast<const std::int64_t*>(rows.data());
  std::size_t bytes = 1;
  CHECK(call_index_add(nullptr, bytes, p, to, named, from, nullptr, nullptr) == cudaSuccess);
  const DeviceBuffer workspace(std::max<std::size_t>(bytes, 1));
  CHECK(call_index_add(workspace.data(), bytes, p, to, named, from, nullptr, nullptr) == cudaSuccess);
  std::vector<float> actual(15);
  check(cudaMemcpy(actual.data(), dst.data(), 60, cudaMemcpyDeviceToHost), "copying");
  CHECK(actual == expected);
}

TEST_CASE("the article's cases collapse to rows of one dimension") {
  const std::int64_t shape[3] = {32, 1024, 1024};
  const TensorView view = contiguous_view(3, shape);
  CHECK(v5::collapsed_row(view, 0).dims == 1);
  CHECK(v5::collapsed_row(view, 0).sizes[0] == 1024 * 1024);
  CHECK(v5::collapsed_row(view, 1).dims == 2);
  CHECK(v5::collapsed_row(view, 2).dims == 1);
  CHECK(v5::collapsed_row(view, 2).strides[0] == 1024);
  CHECK(index_is_major(view, 0));
  CHECK(index_is_major(view, 1));
  CHECK_FALSE(index_is_major(view, 2));
}

TEST_CASE("rows merge where both tensors allow it, and words are 16 bytes where all is aligned") {
  const std::int64_t shape[4] = {4, 6, 8, 16};
  IndexAddProblem p;
  p.dim = 1;
  p.dst = contiguous_view(4, shape);
  p.src = p.dst;
  RowDims row = row_dims(p);
  REQUIRE(row.dims == 2);
  CHECK(row.dim[0].size == 4);
  CHECK(row.dim[1].size == 128);
  CHECK(word_elements(p, row, 16) == 4);
  p.alignment = 8;
  CHECK(word_elements(p, row, 16) == 1);
  p.type = ElementType::float16;
  CHECK(widest_word(p, row) == 4);
  p.alignment = 4;
  CHECK(widest_word(p, row) == 2);
  p.alignment = 16;
  CHECK(widest_word(p, row) == 8);
  p.dst.strides[2] = 17;  // As dst's rows have gaps, src's may not merge either.
  p.dst.strides[1] = 8 * 17;
  p.dst.strides[0] = 6 * 8 * 17;
  row = row_dims(p);
  CHECK(row.dims == 3);
  CHECK(word_elements(p, row, 16) == 1);
}

TEST_CASE("words of halves are as wide as run, strides and arrays allow") {
  const auto widths = [](std::int64_t run, std::uintptr_t address) {
    const std::int64_t shape[3] = {8, 24, run};
    IndexAddProblem p;
    p.type = ElementType::float16;
    p.dim = 1;
    p.dst = contiguous_view(3, shape);
    p.src = p.dst;
    p.alignment = alignment_of(address);
    std::vector<int> elements;
    for (const int bytes : {16, 8, 4}) elements.push_back(word_elements(p, row_dims(p), bytes));
    return elements;
  };
  CHECK(widths(40, 512) == std::vector{8, 4, 2});
  CHECK(widths(40, 0) == std::vector{8, 4, 2});
  CHECK(widths(40, 520) == std::vector{1, 4, 2});
  CHECK(widths(36, 512) == std::vector{1, 4, 2});
  CHECK(widths(36, 520) == std::vector{1, 4, 2});
  CHECK(widths(36, 516) == std::vector{1, 1, 2});
  CHECK(widths(36, 514) == std::vector{1, 1, 1});  // Pairs begin at multiples of 4 bytes.
  CHECK(widths(10, 512) == std::vector{1, 1, 2});
  CHECK(widths(35, 512) == std::vector{1, 1, 1});
}

TEST_CASE("the dispatcher goes by the problem's shape") {
  const auto chosen = [](const std::string& parameters, bool deterministic = false) {
    IndexAddProblem p = as_index_add(*make_case(parameters)).problem();
    p.deterministic = deterministic;
    return chosen_step(p);
  };
  CHECK(chosen("shape=5,3 dim=0 count=0 dtype=float").empty());
  // Few entries of long rows, from 16 MiB on; more entries where rows have the blocks.
  CHECK(chosen("shape=64,262144 dim=0 count=15 dtype=float") == "merged_entries");
  CHECK(chosen("shape=64,262144 dim=0 count=16 dtype=float") == "v8a");
  CHECK(chosen("shape=1024,131072 dim=0 count=64 dtype=float") == "v8a");
  CHECK(chosen("shape=1024,131072 dim=0 count=65 dtype=float") == "merged_entries");
  CHECK(chosen("shape=1024,131070 dim=0 count=64 dtype=float") == "merged_entries");   // Words of 8 bytes.
  CHECK(chosen("shape=1024,131072 dim=0 count=64 dtype=double") == "merged_entries");  // Words of one element.
  CHECK(chosen("shape=32,131072 dim=0 count=64 dtype=half") == "row_owner");
  CHECK(chosen("shape=32,131072 dim=0 count=63 dtype=half") == "merged_entries");
  CHECK(chosen("shape=64,131072 dim=0 count=128 dtype=half") == "row_owner");
  CHECK(chosen("shape=65,131072 dim=0 count=128 dtype=half") == "merged_entries");  // Too few for each row.
  CHECK(chosen("shape=24,131072 dim=0 count=512 dtype=half") == "row_owner");
  CHECK(chosen("shape=24,131072 dim=0 count=513 dtype=half") == "v8b");
  CHECK(chosen("shape=7,131072 dim=0 count=454 dtype=half") == "row_owner");
  CHECK(chosen("shape=7,131072 dim=0 count=455 dtype=half") == "v8b");  // Too many.
  CHECK(chosen("shape=16,32768 dim=0 count=64 dtype=double") == "row_owner");
  CHECK(chosen("shape=16,32767 dim=0 count=256 dtype=double") == "merged_entries");
  CHECK(chosen("shape=8,12,20,24,36 dim=3 count=61 dtype=half") == "row_owner");  // In pieces.
  CHECK(chosen("shape=8,12,20,24,36 dim=3 count=60 dtype=half") == "merged_entries");
  // Few sums in all.
  CHECK(chosen("shape=8,64 dim=0 count=16384 dtype=float") == "private_rows");
  CHECK(chosen("shape=8,64 dim=0 count=16383 dtype=float") == "v8b");
  CHECK(chosen("shape=8,65 dim=0 count=16640 dtype=float") == "v8b");
  CHECK(chosen("shape=8,64 dim=0 count=16384 dtype=half") == "private_rows");
  CHECK(chosen("shape=8,65 dim=0 count=16640 dtype=half") == "kept_tiles");
  CHECK(chosen("shape=16,32 dim=1 count=1024 dtype=float") == "private_rows");
  CHECK(chosen("shape=16,32 dim=1 count=1023 dtype=float") == "merged_entries");
  CHECK(chosen("shape=16,32 dim=1 count=1024 dtype=double") == "merged_entries");
  // Entries that lie side by side: enough of them, or enough for each row.
  CHECK(chosen("shape=64,32768,100 dim=2 count=512 dtype=half") == "private_lines");
  CHECK(chosen("shape=4096,4096 dim=1 count=2048 dtype=float") == "private_lines");
  CHECK(chosen("shape=4096,4096 dim=1 count=2047 dtype=float") == "merged_entries");
  CHECK(chosen("shape=11000,300 dim=1 count=192 dtype=double") == "private_lines");
  CHECK(chosen("shape=35,109,15,11,5 dim=4 count=118 dtype=half") == "private_lines");
  CHECK(chosen("shape=35,109,15,11,5 dim=4 count=75 dtype=half") != "private_lines");
  CHECK(chosen("shape=11000,300 dim=1 count=191 dtype=double") == "merged_entries");
  CHECK(chosen("shape=8,128 dim=1 count=8192 dtype=float") == "private_lines");
  CHECK(chosen("shape=8,128 dim=1 count=8191 dtype=float") == "merged_entries");
  CHECK(chosen("shape=64,9 dim=1 count=4608 dtype=double") == "private_lines");
  CHECK(chosen("shape=64,9 dim=1 count=4607 dtype=double") == "merged_entries");
  CHECK(chosen("shape=3,30000 dim=1 count=32768 dtype=double") == "spread_lines");
  CHECK(chosen("shape=3,30000 dim=1 count=32767 dtype=double") == "merged_entries");
  CHECK(chosen("shape=3,70000 dim=1 count=70000 dtype=double") == "spread_lines");
  CHECK(chosen("shape=3,70000 dim=1 count=69999 dtype=double") == "merged_entries");
  CHECK(chosen("shape=3,30000 dim=1 count=959999 dtype=float") == "spread_lines");
  CHECK(chosen("shape=3,30000 dim=1 count=960000 dtype=float") == "v8b");
  // Rows of few elements, and what tiles do not take.
  CHECK(chosen("shape=128,4 dim=0 count=16384 dtype=float") == "private_lines");
  CHECK(chosen("shape=128,4 dim=0 count=16383 dtype=float") == "merged_entries");
  CHECK(chosen("shape=128,5 dim=0 count=16384 dtype=float") == "merged_entries");
  CHECK(chosen("shape=923 dim=0 count=129783 dtype=int64") == "private_lines");
  CHECK(chosen("shape=16384 dim=0 count=2097152 dtype=float") == "private_lines");
  CHECK(chosen("shape=16384 dim=0 count=2097151 dtype=float") == "short_rows");
  CHECK(chosen("shape=24577 dim=0 count=4194304 dtype=float") == "merged_entries");  // They do not fit.
  CHECK(chosen("shape=24000 dim=0 count=10000000 dtype=double") ==
        "merged_entries");  // A sort costs more than the adds.
  CHECK(chosen("shape=256,31 dim=0 count=262144 dtype=double") == "private_lines");
  CHECK(chosen("shape=256,31 dim=0 count=262143 dtype=double") == "merged_entries");
  CHECK(chosen("shape=16,64 dim=0 count=131072 dtype=double") == "private_lines");
  CHECK(chosen("shape=16,64 dim=0 count=131073 dtype=double") == "sorted_segments");
  CHECK(chosen("shape=4,384 dim=0 count=4096 dtype=int32") == "private_lines");
  CHECK(chosen("shape=4,384 dim=0 count=4095 dtype=int32") == "merged_entries");
  CHECK(chosen("shape=4,1025 dim=0 count=1024 dtype=int32") == "sorted_segments");
  CHECK(chosen("shape=4,1025 dim=0 count=1023 dtype=int32") == "merged_entries");
  CHECK(chosen("shape=128,1024 dim=0 count=32768 dtype=double") == "sorted_segments");
  CHECK(chosen("shape=128,1024 dim=0 count=32767 dtype=double") == "merged_entries");
  CHECK(chosen("shape=8,20,4 dim=1 count=300000 dtype=double") == "private_lines");  // Four elements lie together.
  CHECK(chosen("shape=20,32 dim=0 count=300000 dtype=double") == "sorted_segments");
  CHECK(chosen("shape=200 dim=0 count=409600 dtype=float") == "private_lines");
  CHECK(chosen("shape=200 dim=0 count=409600 dtype=half") == "private_rows");
  // A queue at each row.
  CHECK(chosen("shape=384,64 dim=0 count=98304 dtype=float") == "v8b");
  CHECK(chosen("shape=384,64 dim=0 count=98303 dtype=float") == "merged_entries");
  CHECK(chosen("shape=384,64 dim=0 count=36864 dtype=half") == "v8b");
  CHECK(chosen("shape=384,64 dim=0 count=36863 dtype=half") == "merged_entries");
  CHECK(chosen("shape=384,31 dim=0 count=36864 dtype=half") == "merged_entries");
  CHECK(chosen("shape=17,30000 dim=1 count=960000 dtype=float") == "spread_lines");  // Too much for columns.
  CHECK(chosen("shape=16,64 dim=0 count=4096 dtype=half") == "v8b");
  CHECK(chosen("shape=16,63 dim=0 count=4096 dtype=half") == "merged_entries");
  CHECK(chosen("shape=64,64 dim=0 count=131071 dtype=half") == "v8b");
  CHECK(chosen("shape=64,64 dim=0 count=131072 dtype=half") == "kept_tiles");
  CHECK(chosen("shape=512,64 dim=0 count=1048576 dtype=half") == "v8b");  // Sums of all rows do not fit.
  // Long rows, of which each is named some times, or might be.
  CHECK(chosen("shape=20,7000 dim=0 count=600 dtype=float") == "v8b");
  CHECK(chosen("shape=20,7000 dim=0 count=599 dtype=float") == "merged_entries");
  CHECK(chosen("shape=16,60000 dim=0 count=256 dtype=float") == "v8b");
  CHECK(chosen("shape=16,60000 dim=0 count=255 dtype=float") == "merged_entries");
  CHECK(chosen("shape=105,20000 dim=0 count=420 dtype=half") == "v8b");
  CHECK(chosen("shape=106,20000 dim=0 count=420 dtype=half") == "merged_entries");
  CHECK(chosen("shape=8000,128 dim=0 count=131072 dtype=float") == "v8b");
  CHECK(chosen("shape=8000,124 dim=0 count=140000 dtype=float") == "merged_entries");
  CHECK(chosen("shape=262144,256 dim=0 count=32768 dtype=float") == "v8b");
  CHECK(chosen("shape=262144,252 dim=0 count=40000 dtype=float") == "merged_entries");
  CHECK(chosen("shape=100000,2048 dim=0 count=16384 dtype=float") == "v8b");
  CHECK(chosen("shape=100000,2048 dim=0 count=16383 dtype=float") == "merged_entries");
  // Short ones.
  CHECK(chosen("shape=1000 dim=0 count=15 dtype=float") == "short_rows");
  CHECK(chosen("shape=64,262144 dim=0 count=4 dtype=float") == "short_rows");
  CHECK(chosen("shape=64,262144 dim=0 count=5 dtype=float") == "merged_entries");
  CHECK(chosen("shape=64,262144 dim=0 count=1 dtype=double") == "short_rows");
  CHECK(chosen("shape=64,262144 dim=0 count=2 dtype=double") == "merged_entries");
  CHECK(chosen("shape=1024,252 dim=0 count=15 dtype=float") == "merged_entries");
  // Without atomics.
  CHECK(chosen("shape=5000,64 dim=0 count=1024 dtype=float", true) == "v8a");
  CHECK(chosen("shape=5000,64 dim=0 count=1025 dtype=float", true) == "sorted_segments");
  CHECK(chosen("shape=7,16384 dim=0 count=64 dtype=float", true) == "row_owner");
  CHECK(chosen("shape=7,16384 dim=0 count=63 dtype=float", true) == "v8a");
  CHECK(chosen("shape=40,5000 dim=1 count=64 dtype=float", true) == "v8a");
  CHECK(chosen("shape=40,5000 dim=1 count=65 dtype=float", true) == "sorted_segments");
  CHECK(chosen("shape=16,64 dim=0 count=4096 dtype=float", true) == "private_rows");
  CHECK(chosen("shape=17,64 dim=0 count=4096 dtype=float", true) == "sorted_segments");
  CHECK(chosen("shape=17,64 dim=0 count=4096 dtype=int8") == "sorted_segments");
}

TEST_CASE("every rule's evidence is a recorded case that the rule decides") {
  const std::vector<std::string> evidence = rules_evidence();
  const std::vector<CaseSpec> cases = chapter().cases;
  for (std::size_t rule = 0; rule < evidence.size(); ++rule) {
    if (evidence[rule].empty()) continue;
    INFO(evidence[rule]);
    CHECK(std::ranges::count(cases, evidence[rule], &CaseSpec::parameters) == 1);
    CHECK(deciding_rule(as_index_add(*make_case(evidence[rule])).problem()) == rule);
  }
}

TEST_CASE("the data are what the comparison takes them for") {
  // Enough terms for exactness in each type, one too many, and Zipf's skew.
  const auto wide = [](const std::string& parameters) {
    return as_index_add(*make_case(parameters)).needs_wide_sums();
  };
  CHECK_FALSE(wide("shape=1,4 dim=0 count=2047 dtype=half"));
  CHECK(wide("shape=1,4 dim=0 count=2048 dtype=half"));
  CHECK_FALSE(wide("shape=1,4 dim=0 count=255 dtype=bfloat16"));
  CHECK(wide("shape=1,4 dim=0 count=256 dtype=bfloat16"));
  CHECK_FALSE(wide("shape=1,4 dim=0 count=100000 dtype=float"));
  // How often rows are named does not depend on the seed, so the bytes to move do not either.
  const auto problem = make_case("shape=100,4 dim=0 count=80 draw=zipf outside=3");
  const IndexAddCase& c = as_index_add(*problem);
  for (const std::uint64_t seed : {1, 2, 77}) {
    std::vector<std::int64_t> index = c.index(seed);
    std::erase_if(index, [](std::int64_t row) { return row < 0 || row >= 100; });
    CHECK(index.size() == 77);
    std::sort(index.begin(), index.end());
    index.erase(std::unique(index.begin(), index.end()), index.end());
    CHECK(static_cast<std::int64_t>(index.size()) == c.distinct_rows());
  }
  CHECK(c.index(1) != c.index(2));
  CHECK(c.bytes_moved() == 80 * 4 * 4 + 80 * 8 + 2 * c.distinct_rows() * 16);
}

TEST_CASE("case parameters that are none are refused in one line") {
  for (const std::string bad : {"dim=0 count=3",
                                "shape=5,3 dim=2 count=3",
                                "shape=5,3 dim=-1 count=3",
                                "shape=5,3 count=-2",
                                "shape=5,3",
                                "shape=5,-3 count=1",
                                "shape= count=1",
                                "shape=5,3 count=3 dtype=complex64",
                                "shape=5,3 count=3 index=int16",
                                "shape=5,3 count=3 draw=often",
                                "shape=5,3 count=6 draw=distinct",
                                "shape=5,3 count=3 alpha=much",
                                "shape=5,3 count=3 alpha=1e39",
                                "shape=5,3 count=3 alpha=3e38",
                                "shape=100,10 count=50 alpha=5000 dtype=half",
                                "shape=5,3 count=3 alpha=1e5 dtype=half",
                                "shape=5,3 count=9 alpha=1e308 dtype=double",
                                "shape=5,3 count=3 alpha=1e30 dtype=int64",
                                "shape=5,3 count=3 alpha=0.5 dtype=int32",
                                "shape=5,3 count=3 outside=4",
                                "shape=5,3 count=3 offset=256",
                                "shape=0,3 count=1",
                                "shape=3000000000 count=1 index=int32",
                                "shape=5,3 count=3 dst=broadcast",
                                "shape=5,3 count=3 sort=yes",
                                "shape=1000000,1000000,1000000 count=1"}) {
    INFO(bad);
    try {
      make_case(bad);
      FAIL("accepted");
    } catch (const BadInput& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  // A case's own text makes it again.
  for (const std::string text :
       {"shape=5,3 dim=1 count=7 dtype=half index=int32 draw=zipf dst=gaps src=broadcast alpha=0.5 offset=3 outside=2",
        "shape=5,3 dim=0 count=3 dtype=float values=real"}) {
    CHECK(make_case(text)->parameters() == text);
  }
}

TEST_CASE("the take-away function can be captured in a graph") {
  // One problem for each kernel that it chooses between.
  for (const std::string parameters :
       {"shape=500,64 dim=0 count=400 dtype=int32", "shape=4,64 dim=0 count=5000 dtype=float",
        "shape=8,1024 dim=0 count=9 dtype=float", "shape=50,64 dim=0 count=3000 dtype=int8"}) {
    INFO(parameters);
    const auto problem = make_case(parameters);
    const Step step = step_named("v9");
    const HostCase host(*problem, 1);
    const Stream stream;
    Transfer transfer(stream);
    const DeviceCase device(host, device_fences(), transfer);
    device.main().output().fill_fences(transfer);
    device.restore(device.main(), stream);
    stream.synchronize();
    const Graph graph =
        Graph::capture(stream, [&](cudaStream_t s) { return step.run(*problem, device.main().arrays(), s); });
    graph.launch(stream);
    stream.synchronize();
    CHECK(verify_contents(step, host, device, transfer).status == Status::pass);
  }
}

}  // namespace warpbook::chapter5
