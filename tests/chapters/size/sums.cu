/// \file
/// Chapters 4 and 5 on large arrays. All values are -1, 0 or 1 and all sums exact, so that no order of additions
/// matters and results are compared bit for bit.

#include <mutex>

#include "chapters/chapter4_atomic_add/atomic_add.cuh"
#include "chapters/chapter5_index_add/index_add.cuh"
#include "common/harness/chapter.hpp"
#include "tests/chapters/size/size.cuh"

namespace warpbook::size {
namespace {

__host__ __device__ inline SmallValue value() { return {0x1111}; }
__host__ __device__ inline SmallValue other_value() { return {0x2222}; }

/// Place i goes to.
struct Target {
  std::int64_t places;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const {
    return static_cast<std::int64_t>((mix(i ^ 0x3333) >> 1U) % static_cast<std::uint64_t>(places));
  }
};

/// What an array of exact sums holds.
struct SumsOf {
  const int* sums;
  __device__ float operator()(std::int64_t i) const { return static_cast<float>(sums[i]); }
};

// -------------------------------------------------------------------------------------------------- inner product

__global__ void exact_inner_product(unsigned long long* sum, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  long long mine = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    mine += value()(i) * other_value()(i);
  }
  atomicAdd(sum, static_cast<unsigned long long>(mine));
}

template <class T> Outcome dot(std::int64_t least) {
  const std::int64_t count = least + 9;
  const Array<T> a(count);
  const Array<T> b(count);
  a.fill(value());
  b.fill(other_value());
  const Array<T> result(1);
  std::size_t bytes = 0;
  check(inner_product<T>(nullptr, bytes, result.data(), a.data(), b.data(), count, nullptr), "asking for a workspace");
  const DeviceBuffer workspace(bytes);
  check(inner_product<T>(workspace.data(), bytes, result.data(), a.data(), b.data(), count, nullptr), "inner_product");

  const Array<unsigned long long> exact(1);
  exact.zero();
  check(launch(exact_inner_product, {.grid = blocks_for(count), .block = kThreads}, exact.data(), count), "adding up");
  T found{};
  long long on_device = 0;
  check(cudaMemcpy(&found, result.data(), sizeof(T), cudaMemcpyDeviceToHost), "reading the result");
  check(cudaMemcpy(&on_device, exact.data(), 8, cudaMemcpyDeviceToHost), "reading the exact sum");

  std::mutex mutex;
  long long on_host = 0;  // Of all elements.
  parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
    long long mine = 0;
    for (std::int64_t i = begin; i < end; ++i) mine += value()(i) * other_value()(i);
    const std::lock_guard lock(mutex);
    on_host += mine;
  });
  Outcome outcome;
  outcome.elements = count;
  outcome.bytes = count * static_cast<std::int64_t>(sizeof(T));
  outcome.sampled = count;
  const auto rounded = [](long long sum) { return static_cast<float>(static_cast<T>(static_cast<float>(sum))); };
  outcome.wrong = static_cast<float>(found) == rounded(on_device) ? 0 : 1;
  outcome.wrong_samples = static_cast<float>(found) == rounded(on_host) ? 0 : 1;
  return outcome;
}

// ---------------------------------------------------------------------------------------------------- scatter_add

__global__ void exact_scatter(int* sums, std::int64_t count, Target target) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    atomicAdd(sums + target(i), value()(i));
  }
}

template <class Index> Outcome scatter(std::int64_t count, std::int64_t places) {
  const Target target{places};
  const Array<float> values(count);
  const Array<Index> index(count);
  const Array<float> dst(places);
  const Array<int> sums(places);
  values.fill(value());
  index.fill(target);
  dst.zero();
  sums.zero();
  std::size_t bytes = 0;
  const auto add = [&](void* workspace) {
    return scatter_add<float, Index>(workspace, bytes, dst.data(), values.data(), index.data(), count, places, nullptr);
  };
  check(add(nullptr), "asking for a workspace");
  const DeviceBuffer workspace(bytes);
  check(add(workspace.data()), "scatter_add");
  check(launch(exact_scatter, {.grid = blocks_for(count), .block = kThreads}, sums.data(), count, target), "adding up");
  Outcome outcome;
  compare_all(outcome, dst, SumsOf{sums.data()});
  if (count > outcome.elements) {
    outcome.elements = count;
    outcome.bytes = count * 4;
  }

  constexpr std::int64_t kPart = 64;  // Places at both ends that the host adds up, from all values.
  std::mutex mutex;
  std::vector<int> host(2 * kPart);
  parallel_for(count, [&](std::int64_t begin, std::int64_t end) {
    std::vector<int> mine(2 * kPart);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t place = target(i);
      if (place < kPart) mine[static_cast<std::size_t>(place)] += value()(i);
      if (place >= places - kPart) mine[static_cast<std::size_t>(place - places + 2 * kPart)] += value()(i);
    }
    const std::lock_guard lock(mutex);
    for (std::size_t p = 0; p < host.size(); ++p) host[p] += mine[p];
  });
  std::vector<float> found(2 * kPart);
  check(cudaMemcpy(found.data(), dst.data(), kPart * 4, cudaMemcpyDeviceToHost), "reading a part");
  check(cudaMemcpy(found.data() + kPart, dst.data() + places - kPart, kPart * 4, cudaMemcpyDeviceToHost), "reading");
  for (std::size_t p = 0; p < found.size(); ++p) {
    outcome.wrong_samples += found[p] == static_cast<float>(host[p]) ? 0 : 1;
  }
  outcome.sampled = 2 * kPart;
  return outcome;
}

Outcome scatter_many_values(std::int64_t least) { return scatter<std::int32_t>(least + 3, 1'000'003); }
Outcome scatter_few_places(std::int64_t least) { return scatter<std::int32_t>(least + 3, 1009); }
Outcome scatter_many_places(std::int64_t least) { return scatter<std::int64_t>(least / 1024 + 3, least + 11); }

// ------------------------------------------------------------------------------------------------------ index_add

__global__ void exact_rows(int* sums, std::int64_t entries, std::int64_t columns, Target target) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < entries * columns; i += step) {
    atomicAdd(sums + target(i / columns) * columns + i % columns, value()(i));
  }
}

Outcome add_rows(std::int64_t entries, std::int64_t rows, std::int64_t columns, bool deterministic) {
  const Target target{rows};
  const Array<float> src(entries * columns);
  const Array<std::int64_t> index(entries);
  const Array<float> dst(rows * columns);
  const Array<int> sums(rows * columns);
  src.fill(value());
  index.fill(target);
  dst.zero();
  sums.zero();
  IndexAddProblem problem;
  const std::int64_t dst_sizes[2] = {rows, columns};
  const std::int64_t src_sizes[2] = {entries, columns};
  problem.dst = contiguous_view(2, dst_sizes);
  problem.src = contiguous_view(2, src_sizes);
  problem.deterministic = deterministic;
  std::size_t bytes = 0;
  const auto add = [&](void* workspace) {
    return index_add<float, std::int64_t>(workspace, bytes, problem, dst.data(), index.data(), src.data(), nullptr,
                                          nullptr);
  };
  check(add(nullptr), "asking for a workspace");
  const DeviceBuffer workspace(std::max<std::size_t>(bytes, 1));
  check(add(workspace.data()), "index_add");
  check(launch(exact_rows, {.grid = blocks_for(entries * columns), .block = kThreads}, sums.data(), entries, columns,
               target),
        "adding up");
  Outcome outcome;
  compare_all(outcome, dst, SumsOf{sums.data()});
  if (src.count() > outcome.elements) {
    outcome.elements = src.count();
    outcome.bytes = src.count() * 4;
  }

  constexpr std::int64_t kSampledRows = 32;
  std::vector<float> found(static_cast<std::size_t>(columns));
  for (std::int64_t k = 0; k < kSampledRows; ++k) {
    const std::int64_t row = k == 0 ? 0 : k == 1 ? rows - 1 : target(mix(-k) >> 1U);
    check(cudaMemcpy(found.data(), dst.data() + row * columns, found.size() * 4, cudaMemcpyDeviceToHost), "reading");
    std::vector<int> exact(found.size());
    for (std::int64_t e = 0; e < entries; ++e) {
      if (target(e) != row) continue;
      for (std::int64_t c = 0; c < columns; ++c) exact[static_cast<std::size_t>(c)] += value()(e * columns + c);
    }
    for (std::size_t c = 0; c < found.size(); ++c) {
      outcome.wrong_samples += found[c] == static_cast<float>(exact[c]) ? 0 : 1;
    }
    outcome.sampled += columns;
  }
  return outcome;
}

constexpr std::int64_t kColumns = 4099;

Outcome add_large_rows(std::int64_t least) {
  return add_rows(least / kColumns + 1, least / kColumns + 5, kColumns, false);
}
Outcome add_wide_words(std::int64_t least) { return add_rows(least / 4096 + 1, least / 4096 + 5, 4096, false); }
Outcome add_into_few_rows(std::int64_t least) { return add_rows(least / kColumns + 1, 101, kColumns, true); }
Outcome add_to_many_rows(std::int64_t least) { return add_rows(4096, least / 3 + 1, 3, false); }

}  // namespace

std::vector<Check> sum_checks() {
  return {{"4", "inner_product of halves", dot<__half>},
          {"4", "inner_product of floats", dot<float>},
          {"4", "scatter_add to a million places", scatter_many_values},
          {"4", "scatter_add to a thousand places", scatter_few_places},
          {"4", "scatter_add to more than 2^31 places", scatter_many_places},
          {"5", "index_add: odd rows, both tensors large", add_large_rows},
          {"5", "index_add: rows of whole words", add_wide_words},
          {"5", "index_add: the same result on every run", add_into_few_rows},
          {"5", "index_add: a large tensor of short rows", add_to_many_rows}};
}

}  // namespace warpbook::size
