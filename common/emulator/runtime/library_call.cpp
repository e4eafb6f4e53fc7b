/// \file
/// Operations of CUDA's libraries, done by the host in the place of kernels.
#include "common/emulator/include/warpbook_library.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/emulator/base/device_table.hpp"
#include "common/emulator/base/text.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

std::size_t extent(const LibraryOperand& operand) {
  return operand.count == 0 || operand.width == 0 ? 0 : operand.pitch * (operand.count - 1) + operand.width;
}

/// Tells of a scalar that the host could not have used.
bool is_host_memory(const LibraryCall& call, const LibraryOperand& operand) {
  const Allocation* allocation = find_allocation(operand.begin);
  if (allocation == nullptr || allocation->kind != MemoryKind::device) return true;
  const std::string place = call.pc == nullptr ? std::string{} : observer().locate(call.pc);
  observer().report(
      "host_access", call.pc,
      formatted("========= Invalid host {} by {}\n=========     at {}\n=========     The operand is {}. It lies in "
                "device memory, and the handle's pointer mode says that scalars are the host's.\n",
                operand.written ? "write" : "read", call.function, place.empty() ? "an unknown line" : place,
                operand.name));
  return false;
}

/// Tells of an operand that kernels could not have used.
bool is_device_memory(const LibraryCall& call, const LibraryOperand& operand) {
  const std::size_t wanted = extent(operand);
  const std::size_t there = device_bytes(operand.begin);
  if (wanted == 0 || there >= wanted) return true;
  const std::string place = call.pc == nullptr ? std::string{} : observer().locate(call.pc);
  const std::string why = there != 0
                              ? formatted("It has {} bytes; from the pointer on, {} are allocated.", wanted, there)
                              : std::string("The pointer does not lead to device memory.");
  observer().report(
      "out_of_bounds", call.pc,
      formatted("========= Invalid __global__ {} by {}\n=========     at {}\n=========     The operand is {}. {}\n",
                operand.written ? "write" : "read", call.function, place.empty() ? "an unknown line" : place,
                operand.name, why));
  return false;
}

/// The pieces of an operand; those that touch each other as one.
template <class Visit> void each_piece(const LibraryOperand& operand, Visit visit) {
  const auto* begin = static_cast<const std::byte*>(operand.begin);
  if (operand.pitch == operand.width) {
    visit(begin, operand.width * operand.count);
    return;
  }
  for (std::size_t i = 0; i < operand.count; ++i) visit(begin + i * operand.pitch, operand.width);
}

/// The time of its bytes, or of its arithmetic at the card's peak without tensor cores, whichever is longer.
double modelled_seconds(const LibraryCall& call, const std::vector<LibraryOperand>& operands, bool from_graph) {
  std::size_t read = 0;
  std::size_t written = 0;
  for (const LibraryOperand& operand : operands) (operand.written ? written : read) += operand.width * operand.count;
  const DeviceTable& device = device_table();
  const double float_peak = 2.0 * device.float_lanes * device.multiprocessors * clock_hz(device);
  const double peak = float_peak * 4.0 / call.element_bytes;
  return std::max(observer().copy_seconds(CopyKind::device_to_device, read, written, from_graph), call.flops / peak);
}

double run_now(const LibraryCall& call, bool from_graph) {
  std::vector<LibraryOperand> operands = call.operands();
  for (const LibraryOperand& operand : operands) {
    if (!(operand.of_host ? is_host_memory(call, operand) : is_device_memory(call, operand))) {
      set_sticky(cudaErrorIllegalAddress);
      return 0;
    }
  }
  std::erase_if(operands, [](const LibraryOperand& operand) { return operand.of_host; });
  call.run();
  for (const LibraryOperand& operand : operands) {
    each_piece(operand, [&](const std::byte* begin, std::size_t bytes) {
      if (bytes == 0) return;
      if (operand.written) observer().memory_written(begin, bytes);
      if (!call.host_waits) {
        async_begin({.name = call.function, .range = {begin, begin + bytes}, .writes = operand.written, .pc = call.pc});
      }
    });
  }
  return modelled_seconds(call, operands, from_graph);
}

}  // namespace

cudaError_t run_library_call(LibraryCall call) {
  const ApiCall api(call.function, call.pc);
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) return remember(state);
  CUstream_st* stream = find_stream(call.stream);
  if (stream == nullptr) return remember(cudaErrorInvalidResourceHandle);
  if (call.host_waits && stream->capture != nullptr) {
    stream->capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  const bool host_waits = call.host_waits;
  const cudaError_t error = submit(call.stream, cudaGraphNodeTypeKernel,
                                   [call = std::move(call)](bool from_graph) { return run_now(call, from_graph); });
  if (error == cudaSuccess && host_waits) host_waits_for(*stream);
  if (error != cudaSuccess) return remember(error);
  return host_waits ? sticky_error() : cudaSuccess;
}

void library_refused(const char* function, const void* pc, const char* name, int number, const char* why) {
  if (sticky_error() != cudaSuccess) return;  // What came before is told, and calls fail by it.
  observer().api_failed({.function = function,
                         .pc = pc,
                         .error = static_cast<cudaError_t>(number),
                         .name = name,
                         .text = why,
                         .advice = "The library did nothing. Look at the status that each of its functions returns."});
}

}  // namespace warpbook::emulator
