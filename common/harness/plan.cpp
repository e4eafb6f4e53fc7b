#include "common/harness/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/harness/case_data.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"

namespace warpbook {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 62U;
/// What a run needs besides its case: staging buffers, the L2 flush, CUDA's own.
constexpr std::size_t kSlackBytes = std::size_t{256} << 20U;
constexpr std::size_t kEmulatorSlackBytes = std::size_t{64} << 20U;

/// Bytes of an array, where even the product may not fit 64 bits.
double wide_bytes(const BufferLayout& layout) { return static_cast<double>(layout.elements) * layout.element_bytes; }

std::string amount(std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(std::min(bytes, kMost))); }

}  // namespace

Memory free_memory() {
  return {.device_bytes = device_free_bytes(), .host_bytes = host_free_bytes(), .shared = device_emulated()};
}

Memory needed_memory(const Case& problem) {
  double sum = wide_bytes(problem.output());
  for (const BufferLayout& layout : problem.inputs()) sum += wide_bytes(layout);
  if (!(sum < static_cast<double>(kMost) / 8)) return {kMost, kMost, device_emulated()};

  const std::size_t slack = device_emulated() ? kEmulatorSlackBytes : kSlackBytes;
  const std::size_t copy = static_cast<std::size_t>(std::max<std::int64_t>(0, problem.bytes_moved()));
  return {.device_bytes = std::max(DeviceCase::footprint(problem, device_fences()), copy) + slack,
          .host_bytes = HostCase::footprint(problem),
          .shared = device_emulated()};
}

std::string does_not_fit(const Memory& needed, const Memory& free) {
  if (needed.shared) {
    const std::size_t sum = needed.device_bytes + needed.host_bytes;
    const std::size_t available = std::min(free.device_bytes, free.host_bytes);
    if (sum <= available) return {};
    return fmt::format("needs {} of memory, {} is free", amount(sum), amount(available));
  }
  if (needed.device_bytes > free.device_bytes) {
    return fmt::format("needs {} of device memory, {} is free", amount(needed.device_bytes), amount(free.device_bytes));
  }
  if (needed.host_bytes > free.host_bytes) {
    return fmt::format("needs {} of host memory, {} is free", amount(needed.host_bytes), amount(free.host_bytes));
  }
  return {};
}

Plan make_plan(std::vector<const Step*> steps, std::vector<SelectedCase> cases) {
  const Memory free = free_memory();
  Plan plan{.steps = std::move(steps), .cases = {}, .left_out = {}};
  for (SelectedCase& selected : cases) {
    if (!selected.by_name && device_emulated() && selected.problem->bytes_moved() > kEmulatorCaseBytes) {
      plan.left_out.push_back(
          {selected.problem->title(), fmt::format("more than {}, which takes the emulator long (--case runs it)",
                                                  format_bytes(kEmulatorCaseBytes))});
      continue;
    }
    if (const std::string why = does_not_fit(needed_memory(*selected.problem), free); !why.empty()) {
      if (selected.by_name) throw TooLittleMemory(selected.problem->title() + ": " + why);
      plan.left_out.push_back({selected.problem->title(), why});
      continue;
    }
    plan.cases.push_back(std::move(selected));
  }
  return plan;
}

}  // namespace warpbook
