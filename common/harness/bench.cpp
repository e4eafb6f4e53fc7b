#include "common/harness/bench.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "common/harness/device.hpp"

namespace warpbook {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

CopyBench::CopyBench(Workbench& bench, std::int64_t bytes_moved, double full_speed) {
  const auto half = static_cast<std::size_t>(bytes_moved / 2);
  const std::size_t pitch = std::max(kAlignment, aligned(half));
  const auto work = [&](std::size_t sets) {
    return TimedWork{.launch =
                         [=, this](std::size_t set, cudaStream_t stream) {
                           check(cudaMemcpyAsync(to_.data() + set * pitch, from_.data() + set * pitch, half,
                                                 cudaMemcpyDeviceToDevice, stream),
                                 "copying");
                         },
                     .restore = {},
                     .sets = sets,
                     .restore_each = false};
  };
  const auto allocate = [&](std::size_t sets) {
    from_ = DeviceBuffer(sets * pitch);
    to_ = DeviceBuffer(sets * pitch);
    check(cudaMemsetAsync(from_.data(), 0x5a, from_.bytes(), bench.stream.get()), "filling the copy's source");
  };

  allocate(1);
  measurement_ = std::make_unique<Measurement>(bench.sampler, work(1), false);
  const bool modelled = bench.sampler.modelled();
  in_graph_ = modelled         ? measurement_->sample() < kShortSeconds
              : full_speed > 0 ? static_cast<double>(bytes_moved) / full_speed < kShortAtFullSpeed
                               : measurement_->pilot_seconds() < kShortSeconds;
  if (!in_graph_) return;
  const std::size_t sets = modelled ? 1 : sets_for_cold_launches(2 * half, bench.sampler.l2_bytes(), false);
  measurement_.reset();
  from_.reset();
  to_.reset();
  allocate(sets);
  measurement_ = std::make_unique<Measurement>(bench.sampler, work(sets), true);
}

const DeviceCase& CaseBench::device(Workbench& bench) {
  if (!device_) device_ = std::make_unique<DeviceCase>(host_, device_fences(), bench.transfer);
  return *device_;
}

Verification CaseBench::verify(const Step& step, Workbench& bench) {
  // What is measured gets its time later; a modelled one is known when the step was verified.
  const bool in_graph = in_graph_ && bench.sampler.modelled();
  Verification result = verify_step(step, host_, device(bench), bench.stream, bench.transfer, in_graph);
  if (result.status == Status::fail) release_device();
  return result;
}

Measurement CaseBench::measure(const Step& step, Workbench& bench) {
  const Case& problem = host_.problem();
  const DeviceCase& main = device(bench);
  const bool restore_each = problem.updates_output();

  std::size_t sets = 1;
  bool in_graph = in_graph_;
  if (in_graph) {
    const std::size_t one = DeviceArrays::footprint(problem, device_fences());
    sets = sets_for_cold_launches(one, bench.sampler.l2_bytes(), restore_each);
    while (copies_.size() + 1 < sets && one < device_free_bytes() / 2) {
      copies_.push_back(std::make_unique<DeviceArrays>(problem, device_fences()));
      copies_.back()->copy_inputs_from(main.main(), bench.stream);
      main.restore(*copies_.back(), bench.stream);
    }
    bench.stream.synchronize();
    if (copies_.size() + 1 < sets) {  // Too few to leave the L2 cold: launches are timed one by one.
      sets = 1;
      in_graph = false;
    }
  }

  const auto set_of = [this, &main](std::size_t set) -> const DeviceArrays& {
    return set == 0 ? main.main() : *copies_[set - 1];
  };
  TimedWork work{.launch =
                     [&step, &problem, set_of](std::size_t set, cudaStream_t stream) {
                       check(step.run(problem, set_of(set).arrays(), stream), "launching");
                     },
                 .restore = [&main, &bench, set_of](std::size_t set) { main.restore(set_of(set), bench.stream); },
                 .sets = sets,
                 .restore_each = restore_each};
  return {bench.sampler, std::move(work), in_graph};
}

Verification CaseBench::verify_after(const Step& step, Workbench& bench) {
  Verification result = verify_contents(step, host_, device(bench), bench.transfer);
  if (result.status == Status::fail) release_device();
  return result;
}

void CaseBench::release_device() {
  copies_.clear();
  device_.reset();
}

void free_and_wait(const std::function<void()>& free) {
  constexpr double kClearedBytesPerSecond = 100e9;  // A quarter of what an H200 seems to do.
  const auto free_bytes = []() -> std::size_t {
    try {
      return device_free_bytes();
    } catch (const CudaError&) {  // What went wrong is the steps' to tell.
      static_cast<void>(cudaGetLastError());
      return 0;
    }
  };
  const std::size_t before = free_bytes();
  free();
  const std::size_t after = free_bytes();
  if (device_emulated() || before == 0 || after <= before) return;
  std::this_thread::sleep_for(
      std::chrono::duration<double>(static_cast<double>(after - before) / kClearedBytesPerSecond));
}

double large_copy_bytes_per_second(Workbench& bench) {
  constexpr std::int64_t kBytesMoved = std::int64_t{2} << 30U;
  constexpr std::int64_t kEmulatedBytesMoved = std::int64_t{256} << 20U;  // The emulator really copies.
  constexpr std::size_t kSamples = 15;
  const std::int64_t bytes_moved = bench.sampler.modelled() ? kEmulatedBytesMoved : kBytesMoved;
  if (static_cast<std::size_t>(bytes_moved) > device_free_bytes() / 2) return 0;

  auto copy = std::make_unique<CopyBench>(bench, bytes_moved);
  std::vector<double> seconds(bench.sampler.modelled() ? 1 : kSamples);
  for (double& s : seconds) s = copy->sample();
  free_and_wait([&] { copy.reset(); });
  return static_cast<double>(bytes_moved) / summarize(seconds).median;
}

double sample_of_nothing_seconds(Workbench& bench) {
  std::array<double, 15> seconds{};
  for (double& s : seconds) s = bench.sampler.sample([](const Stream&) {});
  return summarize(seconds).median;
}

}  // namespace warpbook
