/// \file
/// Many small cases in a row: all their launches are queued, and the device is waited for once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/cuda/resources.hpp"
#include "common/harness/case_data.hpp"
#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"

namespace warpbook {

/// Runs steps over cases, tens of them in flight. It finds what verify_step finds (a wrong output, an input or a fence
/// overwritten, a launch that fails) and says of it only that there is something: verify_step then tells what.
class QueuedCases {
public:
  /// A further look at what a step left in the first bytes of the scratch memory; false where it is wrong.
  using Look = std::function<bool(const Case&, std::span<const std::byte> scratch)>;
  static constexpr std::size_t kLookedAt = 8;  ///< Bytes that it sees, where the scratch memory has as many.

  /// What came of a case.
  struct Ran {
    std::string parameters;
    std::uint64_t seed = 0;
    std::vector<std::size_t> right;    ///< Steps, by their place in the list.
    std::vector<std::size_t> wrong;    ///< The same.
    std::vector<std::size_t> refused;  ///< The same.
  };

  /// Where the time went, in seconds.
  struct Spent {
    double making = 0;    ///< Inputs and references, on the host.
    double queueing = 0;  ///< Launches and copies.
    double waiting = 0;   ///< For the device.
    double judging = 0;   ///< Comparing, on the host.
  };

  QueuedCases(const std::vector<Step>& steps, Look look)
      : steps_(steps), look_(std::move(look)), staging_(kPoolBytes), images_(kPoolBytes) {}

  /// Queues a case. \return false where it is too large for that; it is not queued then.
  bool add(std::unique_ptr<Case> problem, const std::string& parameters, std::uint64_t seed) {
    const auto begun = Clock::now();
    auto pending = std::make_unique<Pending>(std::move(problem), parameters, seed);
    spent_.making += seconds_since(begun);
    place(*pending);
    const std::size_t image = pending->head + pending->tail;
    const std::size_t needed = round_up(image) * (1 + steps_.size());
    if (needed > kPoolBytes) return false;
    if (used_ + needed > kPoolBytes) flush();
    if (work_.bytes() < pending->end) {
      flush();
      work_ = DeviceBuffer(round_up(2 * pending->end));
    }
    const auto made = Clock::now();
    queue(*pending);
    spent_.queueing += seconds_since(made);
    pending_.push_back(std::move(pending));
    return true;
  }

  /// Waits for what is queued. \throws std::runtime_error with the cases' names, where the device failed.
  void flush() {
    const auto begun = Clock::now();
    if (cudaStreamSynchronize(stream_.get()) != cudaSuccess) {
      std::string names;
      for (const auto& p : pending_) names += "\n  --case '" + p->parameters + "' --seed " + std::to_string(p->seed);
      throw std::runtime_error("a kernel failed in one of these:" + names);
    }
    const bool reported = !take_device_report().empty();
    spent_.waiting += seconds_since(begun);
    const auto ended = Clock::now();
    for (const auto& p : pending_) done_.push_back(judged(*p, reported));
    spent_.judging += seconds_since(ended);
    pending_.clear();
    used_ = 0;
  }

  /// What has ended since the last call.
  std::vector<Ran> take() { return std::exchange(done_, {}); }

  const Spent& spent() const { return spent_; }

private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  static constexpr std::size_t kPoolBytes = std::size_t{64} << 20U;
  static constexpr std::size_t kFence = 4096;
  static constexpr std::size_t kBoundary = 256;

  struct Place {
    std::size_t begin = 0;
    std::size_t bytes = 0;
  };
  struct Run {
    std::size_t step;
    std::size_t result;  ///< Where in the staging memory, and on the device before, its result goes.
    cudaError_t error;
  };
  /// Arrays lie behind each other with fences between them: inputs, the output, the scratch memory. `head` bytes, up to
  /// the scratch memory and as much of it as is looked at, and the `tail` behind it are compared.
  struct Pending {
    Pending(std::unique_ptr<Case> c, std::string text, std::uint64_t s)
        : problem(std::move(c)), parameters(std::move(text)), seed(s), host(*problem, s) {}

    std::unique_ptr<Case> problem;
    std::string parameters;
    std::uint64_t seed;
    HostCase host;
    std::vector<Place> inputs;
    Place output;
    Place scratch;
    std::size_t looked_at = 0;
    std::size_t head = 0;
    std::size_t tail = 0;
    std::size_t tail_begin = 0;
    std::size_t end = 0;
    std::size_t image = 0;  ///< Where in the staging memory what they hold at first is.
    std::vector<Run> runs;
    std::vector<std::size_t> refused;
  };

  static std::size_t round_up(std::size_t bytes) { return (bytes + kBoundary - 1) / kBoundary * kBoundary; }

  static void place(Pending& p) {
    std::size_t end = 0;
    const auto next = [&](const BufferLayout& layout) {
      const std::size_t begin = round_up(end + kFence) + static_cast<std::size_t>(layout.offset_bytes);
      end = begin + static_cast<std::size_t>(layout.bytes());
      return Place{begin, static_cast<std::size_t>(layout.bytes())};
    };
    for (const BufferLayout& layout : p.problem->inputs()) p.inputs.push_back(next(layout));
    p.output = next(p.problem->output());
    p.scratch = next({"scratch", p.problem->scratch_bytes(), 1, 0});
    p.looked_at = std::min(kLookedAt, p.scratch.bytes);
    p.head = p.scratch.begin + p.looked_at;
    p.tail_begin = end;
    p.tail = kFence;
    p.end = end + kFence;
  }

  /// What a step has to leave in the output.
  static std::vector<std::byte> expected(const Step& step, const HostCase& host) {
    const std::span<const std::byte> wanted =
        !step.is_yardstick() || step.fills ? host.expected() : host.inputs().at(0);
    std::vector<std::byte> bytes(wanted.begin(), wanted.end());
    if (step.is_yardstick() && step.fills) std::fill(bytes.begin(), bytes.end(), *step.fills);
    return bytes;
  }

  void queue(Pending& p) {
    p.image = take_staging(p);
    std::byte* const image = staging_.data() + p.image;
    for (std::size_t i = 0; i < p.head + p.tail; ++i) {
      image[i] = static_cast<std::byte>((static_cast<std::uint32_t>(i) + 1U) * 2654435761U >> 24U | 0x80U);
    }
    for (std::size_t i = 0; i < p.inputs.size(); ++i) {
      const std::span<const std::byte> bytes = p.host.inputs()[i];
      std::copy(bytes.begin(), bytes.end(), image + p.inputs[i].begin);
    }
    for (std::size_t i = 0; i < p.output.bytes; ++i) {
      image[p.output.begin + i] = p.problem->updates_output() ? p.host.initial()[i] : ~p.host.expected()[i];
    }
    const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
      check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "queueing a copy");
    };
    std::byte* const kept = images_.data() + p.image;
    copy(kept, image, p.head + p.tail, cudaMemcpyHostToDevice);
    Arrays arrays;
    for (const Place& input : p.inputs) arrays.inputs.push_back(work_.data() + input.begin);
    arrays.output = work_.data() + p.output.begin;
    arrays.scratch = work_.data() + p.scratch.begin;
    // Into the arrays and out of them: one copy, where nothing that is not compared lies before the tail.
    const auto copy_arrays = [&](std::byte* to, std::size_t to_tail, const std::byte* from, std::size_t from_tail) {
      const bool whole = to_tail == p.head && from_tail == p.head;
      copy(to, from, whole ? p.head + p.tail : p.head, cudaMemcpyDeviceToDevice);
      if (!whole) copy(to + to_tail, from + from_tail, p.tail, cudaMemcpyDeviceToDevice);
    };
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].refusal && !steps_[s].refusal(*p.problem).empty()) {
        p.refused.push_back(s);
        continue;
      }
      Run run{s, take_staging(p), cudaSuccess};
      copy_arrays(work_.data(), p.tail_begin, kept, p.head);
      const cudaError_t returned = steps_[s].run(*p.problem, arrays, stream_.get());
      const cudaError_t left_behind = cudaGetLastError();
      run.error = returned != cudaSuccess ? returned : left_behind;
      copy_arrays(images_.data() + run.result, p.head, work_.data(), p.tail_begin);
      p.runs.push_back(run);
    }
    if (p.runs.empty()) return;
    const std::size_t first = p.runs.front().result;  // All results of a case lie behind each other.
    copy(staging_.data() + first, images_.data() + first, used_ - first, cudaMemcpyDeviceToHost);
  }

  /// \return where room for what a case's arrays hold begins, in the staging memory and on the device.
  std::size_t take_staging(const Pending& p) { return std::exchange(used_, used_ + round_up(p.head + p.tail)); }

  bool right(const Pending& p, const Run& run) const {
    if (run.error != cudaSuccess) return false;
    const std::byte* const before = staging_.data() + p.image;
    const std::byte* const after = staging_.data() + run.result;
    const std::size_t behind = p.output.begin + p.output.bytes;
    if (std::memcmp(before, after, p.output.begin) != 0) return false;
    if (std::memcmp(before + behind, after + behind, p.scratch.begin - behind) != 0) return false;
    if (std::memcmp(before + p.head, after + p.head, p.tail) != 0) return false;
    if (look_ && !look_(*p.problem, {after + p.scratch.begin, p.looked_at})) return false;
    const std::vector<std::byte> wanted = expected(steps_[run.step], p.host);
    if (wanted.size() != p.output.bytes) return false;
    if (std::equal(wanted.begin(), wanted.end(), after + p.output.begin)) return true;
    const std::span<const std::byte> found(after + p.output.begin, p.output.bytes);
    return !steps_[run.step].is_yardstick() && p.problem->compare(wanted, found).count == 0;
  }

  Ran judged(const Pending& p, bool reported) const {
    Ran ran{p.parameters, p.seed, {}, {}, p.refused};
    for (const Run& run : p.runs) (!reported && right(p, run) ? ran.right : ran.wrong).push_back(run.step);
    return ran;
  }

  const std::vector<Step>& steps_;
  Look look_;
  Stream stream_;
  PinnedBuffer staging_;
  DeviceBuffer images_;  // What arrays hold at first, and what steps left in them.
  DeviceBuffer work_{kBoundary};
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::vector<Ran> done_;
  Spent spent_;
};

}  // namespace warpbook
