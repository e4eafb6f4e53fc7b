#include "common/harness/case_data.hpp"

#include <algorithm>

#include "common/harness/raw_elements.hpp"

namespace warpbook {
namespace {

/// SplitMix64: arrays of one run get unrelated seeds.
std::uint64_t array_seed(std::uint64_t seed, std::size_t array) { return mix(seed + 0x9e3779b97f4a7c15ULL * array); }

std::size_t array_bytes(const BufferLayout& layout) { return static_cast<std::size_t>(layout.bytes()); }

BufferLayout scratch_layout(const Case& problem) { return {"scratch", problem.scratch_bytes(), 1, 0}; }

std::vector<FencedArray> allocate_inputs(const Case& problem, FenceWidth fence) {
  std::vector<FencedArray> arrays;
  for (const BufferLayout& layout : problem.inputs()) arrays.emplace_back(layout, fence);
  return arrays;
}

}  // namespace

HostCase::HostCase(const Case& problem, std::uint64_t seed) : problem_(problem) {
  const std::vector<BufferLayout> layouts = problem.inputs();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    inputs_.emplace_back(array_bytes(layouts[i]));
    problem.fill(i, array_seed(seed, i), inputs_.back().span());
  }
  expected_ = HostBytes(array_bytes(problem.output()));
  if (problem.updates_output()) {
    initial_ = HostBytes(array_bytes(problem.output()));
    problem.fill(layouts.size(), array_seed(seed, layouts.size()), initial_.span());
    std::copy(initial_.span().begin(), initial_.span().end(), expected_.span().begin());
  }
  problem.reference(inputs(), expected_.span());
}

std::vector<std::span<const std::byte>> HostCase::inputs() const {
  std::vector<std::span<const std::byte>> spans;
  for (const HostBytes& input : inputs_) spans.push_back(input.span());
  return spans;
}

std::size_t HostCase::footprint(const Case& problem) {
  std::size_t bytes = 0;
  for (const BufferLayout& layout : problem.inputs()) bytes += array_bytes(layout);
  // The reference and a step's result; of an updated output the first content, too.
  return bytes + array_bytes(problem.output()) * (problem.updates_output() ? 3 : 2);
}

DeviceArrays::DeviceArrays(const Case& problem, FenceWidth fence)
    : inputs_(allocate_inputs(problem, fence)), output_(problem.output(), fence),
      scratch_(scratch_layout(problem), fence) {}

Arrays DeviceArrays::arrays() const {
  Arrays result;
  for (const FencedArray& input : inputs_) result.inputs.push_back(input.data());
  result.output = output_.data();
  result.scratch = scratch_.data();
  return result;
}

void DeviceArrays::copy_inputs_from(const DeviceArrays& other, const Stream& stream) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].bytes() == 0) continue;
    check(cudaMemcpyAsync(inputs_[i].data(), other.inputs_[i].data(), inputs_[i].bytes(), cudaMemcpyDeviceToDevice,
                          stream.get()),
          "copying the inputs");
  }
}

std::size_t DeviceArrays::footprint(const Case& problem, FenceWidth fence) {
  std::size_t bytes = FencedArray::footprint(problem.output(), fence);
  bytes += FencedArray::footprint(scratch_layout(problem), fence);
  for (const BufferLayout& layout : problem.inputs()) bytes += FencedArray::footprint(layout, fence);
  return bytes;
}

DeviceCase::DeviceCase(const HostCase& host, FenceWidth fence, Transfer& transfer)
    : main_(host.problem(), fence), before_launch_(array_bytes(host.problem().output())) {
  const auto contents = host.inputs();
  for (std::size_t i = 0; i < contents.size(); ++i) {
    main_.inputs()[i].fill_fences(transfer);
    transfer.upload(main_.inputs()[i].data(), contents[i]);
  }
  main_.scratch().fill_fences(transfer);
  if (host.problem().updates_output()) {
    transfer.upload(before_launch_.data(), host.initial());
  } else {
    const std::span<const std::byte> expected = host.expected();
    transfer.upload(before_launch_.data(), expected.size(), [&](std::span<std::byte> chunk, std::size_t offset) {
      parallel_for(static_cast<std::int64_t>(chunk.size()), [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          chunk[i] = ~expected[offset + i];
        }
      });
    });
  }
}

void DeviceCase::restore(const DeviceArrays& set, const Stream& stream) const {
  if (before_launch_.bytes() == 0) return;
  check(cudaMemcpyAsync(set.output().data(), before_launch_.data(), before_launch_.bytes(), cudaMemcpyDeviceToDevice,
                        stream.get()),
        "restoring the output");
}

std::size_t DeviceCase::footprint(const Case& problem, FenceWidth fence) {
  return DeviceArrays::footprint(problem, fence) + array_bytes(problem.output());
}

}  // namespace warpbook
