/// \file
/// What the parts of the emulated runtime share: errors, streams with their modelled clocks, captures.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/emulator/execution/async_work.hpp"
#include "common/emulator/execution/engine.hpp"
#include "common/emulator/include/cuda_runtime_api.h"

namespace warpbook::emulator {

/// A piece of work. Running it, as part of a graph or not, returns its modelled seconds.
using Work = std::function<double(bool from_graph)>;

/// Memory that a graph's node allocates, at the same addresses in each launch.
struct GraphMemory {
  std::byte* begin = nullptr;  ///< its first byte
  std::size_t bytes = 0;       ///< how much it is
  const void* pc = nullptr;    ///< where the program asked for it

  /// Takes what the arena gave; the last node that knows of it gives it back.
  GraphMemory(std::byte* at, std::size_t size, const void* asked) : begin(at), bytes(size), pc(asked) {}
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
};

/// One operation of a captured graph.
struct GraphNode {
  cudaGraphNodeType type;                         ///< As CUDA calls it.
  Work run;                                       ///< Does it.
  std::shared_ptr<GraphMemory> memory = nullptr;  ///< what it allocates or frees
};

/// A capture under way; each stream that takes part holds it.
struct Capture {
  cudaStream_t origin = nullptr;                             ///< The stream on which the capture was begun.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;  ///< As asked for.
  bool invalid = false;                                      ///< Something was done that cannot be captured.
  std::vector<std::shared_ptr<GraphNode>> nodes;             ///< In the order in which they were enqueued.
  std::vector<std::pair<std::size_t, std::size_t>> edges;    ///< from, to
};

}  // namespace warpbook::emulator

/// A stream: in order, and done at once. Its clock is where modelled time stands.
struct CUstream_st {
  bool blocking = true;  ///< waits for the legacy default stream and is waited for by it
  int priority = 0;      ///< As given; it changes nothing here.
  std::map<cudaLaunchAttributeID, cudaLaunchAttributeValue> attributes;  ///< The same.
  double clock = 0.0;                                                    ///< seconds
  std::shared_ptr<warpbook::emulator::Capture> capture;  ///< The capture that the stream takes part in, or null.
  std::size_t captured = 0;                              ///< nodes of the capture when this stream last added one
  unsigned number = 0;                                   ///< of all streams that the program ever had
  warpbook::emulator::Progress done;                     ///< what comes before its next operation, its own ones with it
  std::size_t joined = 0;           ///< nodes up to which another stream of the capture has waited for this one
  std::vector<std::size_t> before;  ///< those that its next one comes behind
};

/// What a `cudaEvent_t` points to.
struct CUevent_st {
  bool timed = true;                                   ///< Made without `cudaEventDisableTiming`.
  bool recorded = false;                               ///< Recorded at least once.
  double time = 0.0;                                   ///< seconds
  warpbook::emulator::Progress done;                   ///< what came before it
  std::weak_ptr<warpbook::emulator::Capture> capture;  ///< when it was recorded in one
  bool captured = false;                               ///< Recorded while its stream was captured: it tells no time.
  cudaStream_t stream = nullptr;                       ///< that captured it
  std::size_t nodes = 0;                               ///< of the capture when it was recorded
  std::vector<std::size_t> before;                     ///< those that it comes behind
};

namespace warpbook::emulator {

/// Guards the state of the runtime. Kernels run, and host functions are called, while their launcher holds it; calls
/// from inside a kernel, which CUDA does not have, end the kernel instead of waiting for it.
class RuntimeLock {
public:
  RuntimeLock();
  ~RuntimeLock();
  RuntimeLock(const RuntimeLock&) = delete;
  RuntimeLock& operator=(const RuntimeLock&) = delete;
};

/// Remembers a call's error for cudaGetLastError and returns it. A sticky error takes precedence.
cudaError_t remember(cudaError_t error);
/// Sets an error that stays until the device is reset.
void set_sticky(cudaError_t error);
/// The error after which a process has no device any more; cudaSuccess before one.
cudaError_t sticky_error();
/// Forgets all errors; for cudaDeviceReset.
void clear_errors();

/// Whether a call can work at all: cudaErrorNoDevice or a sticky error where not.
cudaError_t device_state();

/// How many bytes kernels may use from an address on; 0 where it leads to none of the device's memory.
std::size_t device_bytes(const void* pointer);

/// Whether it is memory that the driver mapped there, which cuMemUnmap takes away and cudaFree does not.
bool is_mapped(const void* pointer);

/// The device's current pool has given out this memory.
void pool_allocated(const void* pointer);

/// The stream object behind a handle; nullptr when it is none.
CUstream_st* find_stream(cudaStream_t handle);

/// Runs work on a stream, or adds it to the stream's capture. `later`: it may be run after this call, where a launch
/// before it waits for the host.
cudaError_t submit(cudaStream_t handle, cudaGraphNodeType type, Work run, bool later = false);

/// A node that allocates memory.
cudaError_t allocating_node(std::size_t bytes, GraphNode& node);
/// A node that frees memory, which a graph allocates at that address.
cudaError_t freeing_node(void* pointer, GraphNode& node);

/// Adds such a node to the capture of a stream.
cudaError_t capture_node(cudaStream_t stream, GraphNode node);

/// Whether these nodes, in this order, allocate what is not there and free what is. `frees_first`: what an earlier
/// launch left is freed.
cudaError_t check_graph_memory(const std::vector<std::shared_ptr<GraphMemory>>& memory,
                               const std::vector<cudaGraphNodeType>& types, bool frees_first);

/// A number for a branch of a graph, which counts its operations as a stream does.
unsigned new_stream_number();

/// The kernel that is being submitted goes on beside the host, with these arguments; at its end, `end` returns its
/// modelled seconds.
void goes_on_beside(std::shared_ptr<const void> arguments, std::function<double()> end);

/// Sets elements of 1, 2 or 4 bytes on a stream, `width` of them in each of `height` rows.
cudaError_t fill(void* pointer, std::size_t pitch, unsigned value, unsigned element_bytes, std::size_t width,
                 std::size_t height, cudaStream_t stream, bool is_async);

/// Visits all streams.
void each_stream(const std::function<void(CUstream_st&)>& visit);

/// Modelled seconds at which new work of a stream would begin.
double stream_time(CUstream_st& stream);
/// The host waits for all that a stream was given.
void host_waits_for(CUstream_st& stream);
/// The host waits for all that the device was given.
void host_waits_for_all();

/// Ends captures that a forbidden call spoils. Returns whether any stream is being captured (in a mode that minds).
bool capture_forbids_unsafe_calls();

/// Forgets streams' clocks and captures; for cudaDeviceReset.
void reset_streams();

}  // namespace warpbook::emulator
