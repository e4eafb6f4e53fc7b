#include "common/harness/verify.hpp"

#include <cstring>
#include <exception>
#include <vector>

#include "common/harness/device.hpp"
#include "common/harness/diagnose.hpp"
#include "common/harness/format.hpp"
#include "common/harness/interrupt.hpp"

namespace warpbook {
namespace {

void append(std::string& text, const std::string& part, const char* separator = "; ") {
  if (part.empty()) return;
  if (!text.empty()) text += separator;
  text += part;
}

/// What the step has to produce. A yardstick copies input 0, or fills.
class Expected {
public:
  Expected(const Step& step, const HostCase& host) {
    if (!step.is_yardstick()) {
      span_ = host.expected();
    } else if (!step.fills) {
      span_ = host.inputs().at(0);
    } else {
      filled_ = HostBytes(host.expected().size());
      std::memset(filled_.span().data(), std::to_integer<int>(*step.fills), filled_.span().size());
      span_ = filled_.span();
    }
  }

  std::span<const std::byte> span() const { return span_; }

private:
  HostBytes filled_;  // Where nothing else holds it.
  std::span<const std::byte> span_;
};

/// Puts the output and its fences into the state before a launch.
void prepare_output(const Step& step, const HostCase& host, const DeviceCase& device, const Stream& stream,
                    Transfer& transfer) {
  const FencedArray& output = device.main().output();
  output.fill_fences(transfer);
  if (!step.is_yardstick()) {
    device.restore(device.main(), stream);
    return;
  }
  const Expected expectation(step, host);
  const std::span<const std::byte> expected = expectation.span();
  transfer.upload(output.data(), expected.size(), [&](std::span<std::byte> chunk, std::size_t offset) {
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] = ~expected[offset + i];
  });
}

/// True for what a kernel does while it runs; other errors say that it could not be launched.
bool is_kernel_fault(cudaError_t error) {
  switch (error) {
  case cudaErrorIllegalAddress:
  case cudaErrorMisalignedAddress:
  case cudaErrorLaunchFailure:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorIllegalInstruction:
  case cudaErrorHardwareStackError:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
    return true;
  default:
    return false;
  }
}

/// Launches the step as a graph. \return false where that cannot be; nothing was launched then.
bool launch_in_graph(const Step& step, const HostCase& host, const DeviceCase& device, const Stream& stream) {
  try {
    const Graph graph =
        Graph::capture(stream, [&](cudaStream_t own) { return step.run(host.problem(), device.main().arrays(), own); });
    graph.launch(stream);
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {  // It allocates or waits, say, or fails: the plain launch tells.
    static_cast<void>(cudaGetLastError());
    return false;
  }
}

/// Calls the step's `run`, or its `prepare`. \return an error's text; empty for none.
std::string launch_step(const decltype(Step::run)& launch, const HostCase& host, const DeviceCase& device,
                        const Stream& stream) {
  static_cast<void>(cudaGetLastError());  // An error from before is not this step's.
  cudaError_t returned = cudaSuccess;
  try {
    returned = launch(host.problem(), device.main().arrays(), stream.get());
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {  // No fault of the step's.
    throw;
  } catch (const std::exception& error) {
    static_cast<void>(cudaGetLastError());
    return std::string("the launcher threw: ") + error.what();
  }
  const cudaError_t left_behind = cudaGetLastError();
  const cudaError_t error = returned != cudaSuccess ? returned : left_behind;
  if (error == cudaSuccess) return {};
  if (is_kernel_fault(error)) return "the kernel failed: " + CudaError::describe(error);
  return (returned != cudaSuccess ? "launch failed: " : "launch failed, and the step did not say so: ") +
         CudaError::describe(error);
}

/// Marks the failure, and finds out whether the device still works.
void fail_with_error(Verification& result, const std::string& text) {
  result.status = Status::fail;
  result.reason = one_line(text);
  append(result.reason, take_device_report());
  static_cast<void>(cudaGetLastError());
  result.device_lost = cudaDeviceSynchronize() != cudaSuccess;
  static_cast<void>(cudaGetLastError());
}

/// Says of the run-to-run behaviour what the output alone cannot tell. Leaves a second result on the device.
std::string rerun_hint(const Step& step, const HostCase& host, const DeviceCase& device, const Stream& stream,
                       Transfer& transfer, std::span<const std::byte> first_result) {
  prepare_output(step, host, device, stream, transfer);
  if (!launch_step(step.run, host, device, stream).empty()) return {};
  if (cudaStreamSynchronize(stream.get()) != cudaSuccess) return {};
  if (transfer.holds(device.main().output().data(), first_result)) return {};
  return "two runs gave different results: a race, or a missing barrier?";
}

void finish_reason(Verification& result, const Step& step, const HostCase& host) {
  if (result.difference.count > 0) {
    const std::int64_t elements = host.problem().output().elements;
    std::string text = "first wrong at " + result.coordinate + ": expected " + result.difference.expected + ", got " +
                       result.difference.actual + "; " + format_count(result.difference.count) + " of " +
                       format_quantity(elements, "element") + (result.difference.count == 1 ? " differs" : " differ") +
                       (!step.is_yardstick() ? ""
                        : step.fills         ? " from the fill"
                                             : " from the input");
    append(text, result.cause);
    result.reason = one_line(text);
  } else {
    result.reason = one_line(result.cause);
  }
}

}  // namespace

Verification verify_contents(const Step& step, const HostCase& host, const DeviceCase& device, Transfer& transfer) {
  Verification result;
  const Case& problem = host.problem();
  const BufferLayout layout = problem.output();
  const FencedArray& output = device.main().output();
  const Expected expectation(step, host);
  const std::span<const std::byte> expected = expectation.span();

  if (!transfer.holds(output.data(), expected)) {
    HostBytes actual(expected.size());
    transfer.download(output.data(), actual.span());
    result.difference = step.is_yardstick() ? compare_bits(expected, actual.span(), layout.element_bytes)
                                            : problem.compare(expected, actual.span());
    if (result.difference.count > 0) {
      result.coordinate = problem.coordinate(result.difference.first);
      const auto inputs = host.inputs();
      result.cause = diagnose({.problem = problem,
                               .inputs = inputs,
                               .expected = expected,
                               .actual = actual.span(),
                               .initial = step.is_yardstick() ? std::span<const std::byte>() : host.initial(),
                               .difference = result.difference});
    }
  }

  append(result.cause, output.inspect_fences(transfer).describe(layout.name));
  const std::vector<BufferLayout> layouts = problem.inputs();
  const auto contents = host.inputs();
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const FencedArray& input = device.main().inputs()[i];
    if (!transfer.holds(input.data(), contents[i])) {
      append(result.cause, "input " + layouts[i].name + " was overwritten");
      transfer.upload(input.data(), contents[i]);  // The next step gets it as it was.
    }
    if (const FenceDamage damage = input.inspect_fences(transfer)) {
      append(result.cause, damage.describe(layouts[i].name));
      input.fill_fences(transfer);
    }
  }
  if (const FenceDamage damage = device.main().scratch().inspect_fences(transfer)) {
    append(result.cause, damage.describe("the scratch memory"));
    device.main().scratch().fill_fences(transfer);
  }

  if (result.difference.count > 0 || !result.cause.empty()) result.status = Status::fail;
  finish_reason(result, step, host);
  return result;
}

Verification verify_step(const Step& step, const HostCase& host, const DeviceCase& device, const Stream& stream,
                         Transfer& transfer, bool in_graph) {
  Verification result;
  if (step.refusal) {
    if (const std::string why = step.refusal(host.problem()); !why.empty()) {
      result.status = Status::skipped;
      result.reason = one_line(why);
      return result;
    }
  }

  if (step.prepare) {
    if (const std::string error = launch_step(step.prepare, host, device, stream); !error.empty()) {
      fail_with_error(result, "preparing: " + error);
      return result;
    }
  }
  prepare_output(step, host, device, stream, transfer);
  stream.synchronize();
  static_cast<void>(take_device_report());
  static_cast<void>(take_launch_counters());
  const Event start;
  const Event stop;
  start.record(stream);
  if (!in_graph || !launch_in_graph(step, host, device, stream)) {
    if (const std::string error = launch_step(step.run, host, device, stream); !error.empty()) {
      fail_with_error(result, error);
      return result;
    }
  }
  const cudaError_t recorded = cudaEventRecord(stop.get(), stream.get());
  const cudaError_t finished = cudaStreamSynchronize(stream.get());
  if (finished != cudaSuccess || recorded != cudaSuccess) {
    fail_with_error(result, "the kernel failed: " + CudaError::describe(finished != cudaSuccess ? finished : recorded));
    return result;
  }
  const double seconds = stop.seconds_since(start);
  LaunchCounters counted = take_launch_counters();

  result = verify_contents(step, host, device, transfer);
  result.seconds = seconds;
  result.counted = std::move(counted);
  // Bugs that the device watched for, and that did not stop the kernel: they are failures, whatever the output holds.
  if (const std::string report = take_device_report(); !report.empty()) {
    result.status = Status::fail;
    append(result.cause, report);
    finish_reason(result, step, host);
  }
  if (result.difference.count > 0) {
    HostBytes actual(host.expected().size());
    transfer.download(device.main().output().data(), actual.span());
    const std::string hint = rerun_hint(step, host, device, stream, transfer, actual.span());
    if (!hint.empty()) {
      append(result.cause, hint);
      finish_reason(result, step, host);
    }
  }
  return result;
}

Verification verify_step(const Step& step, const Case& problem, std::uint64_t seed) {
  const HostCase host(problem, seed);
  const Stream stream;
  Transfer transfer(stream);
  const DeviceCase device(host, device_fences(), transfer);
  return verify_step(step, host, device, stream, transfer);
}

}  // namespace warpbook
