/// \file
/// Streams, events and their modelled clocks.

#include <algorithm>
#include <chrono>
#include <string>
#include <unordered_map>

#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/device_runtime.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

struct Streams {
  CUstream_st legacy;
  CUstream_st per_thread;
  std::unordered_map<CUstream_st*, std::unique_ptr<CUstream_st>> created;
  std::unordered_map<CUevent_st*, std::unique_ptr<CUevent_st>> events;
  double host = 0.0;     ///< modelled seconds until which the host has waited
  Progress waited;       ///< what the host has waited for
  Progress gone;         ///< what streams were given that are no more
  unsigned numbers = 2;  ///< given to streams so far: the legacy stream's is 0, the thread's own 1

  /// Work that waits for the launch beside the host.
  struct Later {
    cudaStream_t stream;
    Progress done;
    Work run;
  };
  struct {
    cudaStream_t stream = nullptr;
    unsigned number = 0;
    std::uint64_t operation = 0;
    std::shared_ptr<const void> arguments;
    std::function<double()> end;
    std::vector<Later> later;
  } beside;  ///< the launch that goes on beside the host, where there is one

  /// What host functions were given, as far as the host does not know that they have run.
  struct HostData {
    const void* data;
    Progress done;
    const void* pc;
  };
  std::vector<HostData> host_data;

  Streams() { per_thread.number = 1; }

  template <class Visit> void each(Visit&& visit) {
    visit(legacy);
    visit(per_thread);
    for (auto& [handle, stream] : created) {
      visit(*stream);
    }
  }
};

Streams& streams() {
  static Streams& instance = *new Streams;
  return instance;
}

CUevent_st* find_event(cudaEvent_t handle) {
  const auto found = streams().events.find(handle);
  return found == streams().events.end() ? nullptr : found->second.get();
}

cudaError_t create_stream(cudaStream_t* stream, unsigned int flags) {
  if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0) {
    return cudaErrorInvalidValue;
  }
  auto created = std::make_unique<CUstream_st>();
  created->number = streams().numbers++;
  created->blocking = (flags & cudaStreamNonBlocking) == 0;
  *stream = created.get();
  streams().created.emplace(*stream, std::move(created));
  return cudaSuccess;
}

/// A synchronising call on a stream that is being captured spoils the capture.
bool spoils_capture(CUstream_st& stream) {
  if (stream.capture == nullptr) {
    return false;
  }
  stream.capture->invalid = true;
  return true;
}

}  // namespace

CUstream_st* find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return &streams().legacy;
  }
  if (handle == cudaStreamPerThread) {
    return &streams().per_thread;
  }
  const auto found = streams().created.find(handle);
  return found == streams().created.end() ? nullptr : found->second.get();
}

void each_stream(const std::function<void(CUstream_st&)>& visit) { streams().each(visit); }

double stream_time(CUstream_st& stream) {
  double time = std::max(stream.clock, streams().host);
  if (&stream == &streams().legacy) {
    streams().each([&](CUstream_st& other) { time = other.blocking ? std::max(time, other.clock) : time; });
  } else if (stream.blocking) {
    time = std::max(time, streams().legacy.clock);
  }
  return time;
}

namespace {

/// What comes before an operation that a stream is given now.
Progress progress_of(CUstream_st& stream) {
  Progress done = stream.done;
  if (&stream == &streams().legacy) {
    streams().each([&](CUstream_st& other) {
      if (other.blocking) join(done, other.done);
    });
  } else if (stream.blocking) {
    join(done, streams().legacy.done);
  }
  return done;
}

void host_waits_until(double seconds) { streams().host = std::max(streams().host, seconds); }

}  // namespace

namespace {

void host_has_waited_for(const Progress& progress) {
  join(streams().waited, progress);
  async_end(progress);
}

/// A host function begins as if the host had waited for an event recorded right before it (CUDA Runtime API,
/// cudaStreamAddCallback). Which threads of the host learn of that, and how, nobody sees: all of them count.
void host_function_begins() {
  Progress before = current_progress();
  --before.at(current_stream());  // The operation itself goes on.
  async_end(before);
  join(streams().waited, before);
}

/// Whether the host knows that all of it is done.
bool is_done(const Progress& progress) {
  return std::all_of(progress.begin(), progress.end(), [](const auto& stream) {
    const auto known = streams().waited.find(stream.first);
    return known != streams().waited.end() && known->second >= stream.second;
  });
}

}  // namespace

namespace {

/// Whether the launch beside the host comes before the end of all this.
bool is_behind_launch(const Progress& progress) {
  if (!launch_is_beside()) return false;
  const auto found = progress.find(streams().beside.number);
  return found != progress.end() && found->second >= streams().beside.operation;
}

/// Hands a host function to a stream.
cudaError_t submit_host_function(cudaStream_t handle, Work run, const void* data) {
  const cudaError_t error = submit(handle, cudaGraphNodeTypeHost, std::move(run), true);
  const CUstream_st* stream = find_stream(handle);
  auto& all = streams().host_data;
  std::erase_if(all, [data](const auto& each) { return each.data == data || is_done(each.done); });
  if (error == cudaSuccess && data != nullptr && stream->capture == nullptr)
    all.push_back({data, stream->done, ApiCall::pc()});
  return error;
}

void finish_launch();

/// The host asks whether work is done: what has ended by itself is.
void ask_launch() {
  if (launch_beside_ends_within(std::chrono::milliseconds{0})) finish_launch();
}

/// The host waits for the launch beside it, and for what comes behind that.
void finish_launch() {
  if (!launch_is_beside()) return;
  const auto launch = std::move(streams().beside);
  streams().beside = {};
  const double seconds = launch.end();
  if (CUstream_st* stream = find_stream(launch.stream)) stream->clock += seconds;
  for (const auto& work : launch.later) {
    CUstream_st* stream = find_stream(work.stream);
    if (stream == nullptr) continue;
    finish_launch();
    const double begin = stream_time(*stream);
    async_operation(stream->number, work.done);
    stream->clock = begin + work.run(false);
    if (launch_is_beside()) streams().beside.stream = work.stream;
  }
  finish_launch();
}

}  // namespace

unsigned new_stream_number() { return streams().numbers++; }

void goes_on_beside(std::shared_ptr<const void> arguments, std::function<double()> end) {
  streams().beside.arguments = std::move(arguments);
  streams().beside.end = std::move(end);
  streams().beside.number = current_stream();
  streams().beside.operation = current_progress().at(current_stream());
}

void host_waits_for(CUstream_st& stream) {
  if (is_behind_launch(progress_of(stream))) finish_launch();
  host_waits_until(stream_time(stream));
  host_has_waited_for(progress_of(stream));
}

void host_waits_for_all() {
  finish_launch();
  Progress done = streams().gone;
  streams().each([&](CUstream_st& stream) {
    host_waits_until(stream.clock);
    join(done, stream.done);
  });
  host_has_waited_for(done);
}

bool capture_forbids_unsafe_calls() {
  bool forbidden = false;
  streams().each([&](CUstream_st& stream) {
    if (stream.capture != nullptr && stream.capture->mode != cudaStreamCaptureModeRelaxed) {
      stream.capture->invalid = true;
      forbidden = true;
    }
  });
  return forbidden;
}

void reset_streams() {
  host_waits_for_all();
  streams().each([](CUstream_st& stream) {
    stream.capture = nullptr;
    stream.clock = 0.0;
  });
  streams().host = 0.0;
}

cudaError_t capture_node(cudaStream_t handle, GraphNode node) {
  CUstream_st* stream = find_stream(handle);
  if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  Capture& capture = *stream->capture;
  for (const std::size_t before : stream->before) capture.edges.emplace_back(before, capture.nodes.size());
  stream->before = {capture.nodes.size()};
  capture.nodes.push_back(std::make_shared<GraphNode>(std::move(node)));
  stream->captured = capture.nodes.size();
  return cudaSuccess;
}

cudaError_t submit(cudaStream_t handle, cudaGraphNodeType type, Work run, bool later) {
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (stream == &streams().legacy) {
    // Work there waits for all blocking streams, which a capture cannot express.
    bool implicit = false;
    streams().each([&](CUstream_st& other) {
      if (other.capture != nullptr && other.blocking) {
        other.capture->invalid = true;
        implicit = true;
      }
    });
    if (implicit) {
      return cudaErrorStreamCaptureImplicit;
    }
  }
  if (stream->capture != nullptr) {
    return capture_node(handle, {type, std::move(run)});
  }
  // One kernel runs at a time; of another stream, the rest does not wait for it.
  if (launch_is_beside() &&
      (type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeEmpty || is_behind_launch(progress_of(*stream)))) {
    // The host may look for what a function of its does: that runs at once, if what is before it ends soon.
    const bool ends = type == cudaGraphNodeTypeHost && launch_beside_ends_within(std::chrono::seconds{1});
    if (later && !ends) {
      stream->done = progress_of(*stream);
      ++stream->done[stream->number];
      join(stream->done, {{streams().beside.number, streams().beside.operation}});
      streams().beside.later.push_back({handle, stream->done, std::move(run)});
      return cudaSuccess;
    }
    finish_launch();
  }
  const bool was_beside = launch_is_beside();
  const double begin = stream_time(*stream);
  stream->done = progress_of(*stream);
  ++stream->done[stream->number];
  async_operation(stream->number, stream->done);
  stream->clock = begin + run(false);
  join(stream->done, current_progress());  // Of a graph, it has the branches.
  if (launch_is_beside() && !was_beside) streams().beside.stream = handle;
  return cudaSuccess;
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

/// The program's variable ends, or is freed, which a host function may have been given.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_host_data_ends(const void* data) {
  const void* const pc = __builtin_return_address(0);
  const RuntimeLock lock;
  auto& all = streams().host_data;
  const auto found = std::find_if(all.begin(), all.end(), [data](const auto& each) { return each.data == data; });
  if (found == all.end()) return;
  if (!is_done(found->done)) {
    const auto line = [](const void* at) {
      const std::string place = at == nullptr ? std::string{} : observer().locate_caller(at);
      return place.empty() ? std::string{"an unknown line"} : place;
    };
    observer().report("host_data", pc,
                      "========= What a host function is given ends before the function is sure to have run\n"
                      "=========     at " +
                          line(pc) + "\n=========     The stream was given the function at " + line(found->pc) +
                          "\n=========     Keep it until the host has waited for the stream, or let the function free "
                          "it.\n");
  }
  all.erase(found);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (in_kernel()) return remember(create_stream_in_kernel(stream, flags));
  const ApiCall api("cudaStreamCreateWithFlags");
  const RuntimeLock lock;
  const cudaError_t state = device_state();
  return remember(state != cudaSuccess ? state : create_stream(stream, flags));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  const cudaError_t error = cudaStreamCreateWithFlags(stream, flags);
  if (error == cudaSuccess) (*stream)->priority = std::clamp(priority, -5, 0);
  return error;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (in_kernel()) return remember(destroy_stream_in_kernel(stream));
  const ApiCall api("cudaStreamDestroy");
  const RuntimeLock lock;
  if (const CUstream_st* known = find_stream(stream)) join(streams().gone, known->done);
  return remember(streams().created.erase(stream) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const ApiCall api("cudaStreamSynchronize");
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess || stream == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidResourceHandle);
  }
  if (spoils_capture(*stream)) {
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  host_waits_for(*stream);
  return remember(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const ApiCall api("cudaStreamQuery");
  {
    const RuntimeLock lock;
    ask_launch();
    CUstream_st* stream = find_stream(handle);
    if (stream != nullptr && is_behind_launch(progress_of(*stream))) return remember(cudaErrorNotReady);
  }
  return cudaStreamSynchronize(handle);  // work is done when a call returns
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int flags) {
  const ApiCall api("cudaStreamWaitEvent");
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  CUevent_st* event = find_event(event_handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (stream == nullptr || event == nullptr) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  if (flags != 0) {
    return remember(cudaErrorInvalidValue);
  }
  if (event->captured) {
    const std::shared_ptr<Capture> capture = event->capture.lock();
    if (capture == nullptr) {
      return remember(cudaErrorCapturedEvent);
    }
    if (stream->capture == nullptr) {
      if (stream == &streams().legacy) {
        capture->invalid = true;
        return remember(cudaErrorStreamCaptureImplicit);
      }
      stream->capture = capture;  // the stream joins the capture
      stream->captured = stream->joined = 0;
      stream->before.clear();
    } else if (stream->capture != capture) {
      stream->capture->invalid = capture->invalid = true;
      return remember(cudaErrorStreamCaptureMerge);
    }
    if (CUstream_st* source = find_stream(event->stream); source != nullptr) {
      source->joined = std::max(source->joined, event->nodes);
    }
    for (const std::size_t node : event->before)
      if (std::find(stream->before.begin(), stream->before.end(), node) == stream->before.end())
        stream->before.push_back(node);
    return remember(cudaSuccess);
  }
  if (stream->capture != nullptr) {
    stream->capture->invalid = true;
    return remember(cudaErrorStreamCaptureIsolation);
  }
  observer().event_waited(event, event->recorded, ApiCall::pc());
  if (event->recorded) {
    stream->clock = std::max(stream->clock, event->time);
    join(stream->done, event->done);
  }
  return remember(cudaSuccess);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  const RuntimeLock lock;
  const CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || priority == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *priority = stream->priority;
  return remember(device_state());
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  const RuntimeLock lock;
  const CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || flags == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *flags = stream->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  return remember(device_state());
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  const RuntimeLock lock;
  const CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || id == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *id = stream->number;
  return remember(device_state());
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  const RuntimeLock lock;
  return find_stream(stream) == nullptr ? remember(cudaErrorInvalidResourceHandle) : cudaGetDevice(device);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  const ApiCall api("cudaStreamSetAttribute");
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || value == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  if (attribute == cudaLaunchAttributePriority) stream->priority = value->priority;
  stream->attributes[attribute] = *value;
  return remember(device_state());
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  const ApiCall api("cudaStreamGetAttribute");
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || value == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *value = stream->attributes[attribute];
  if (attribute == cudaLaunchAttributePriority) value->priority = stream->priority;
  return remember(device_state());
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user_data, unsigned flags) {
  const ApiCall api("cudaStreamAddCallback");
  const RuntimeLock lock;
  if (callback == nullptr || flags != 0) {
    return remember(cudaErrorInvalidValue);
  }
  const auto call = [=](bool) {
    host_function_begins();
    const ApiCall::HostFunction guard;
    callback(stream, sticky_error(), user_data);
    return 0.0;
  };
  return remember(submit_host_function(stream, call, user_data));
}

/// The host may use all managed memory at all times, which is more than any stream could be given.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t, unsigned) {
  const RuntimeLock lock;
  return remember(find_stream(stream) == nullptr ? cudaErrorInvalidResourceHandle
                  : pointer == nullptr           ? cudaErrorInvalidValue
                                                 : device_state());
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  const ApiCall api("cudaLaunchHostFunc");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess || function == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidValue);
  }
  const auto call = [=](bool) {
    host_function_begins();
    const ApiCall::HostFunction guard;
    function(user_data);
    return 0.0;
  };
  return remember(submit_host_function(stream, call, user_data));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  const ApiCall api("cudaEventCreateWithFlags");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (event == nullptr || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) != 0 ||
      ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)) {
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUevent_st>();
  created->timed = (flags & cudaEventDisableTiming) == 0;
  *event = created.get();
  streams().events.emplace(*event, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const ApiCall api("cudaEventDestroy");
  const RuntimeLock lock;
  observer().event_gone(event);
  return remember(streams().events.erase(event) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t handle) {
  const ApiCall api("cudaEventRecord");
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  CUevent_st* event = find_event(event_handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (stream == nullptr || event == nullptr) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  event->captured = stream->capture != nullptr;
  event->capture = stream->capture;
  event->stream = handle;
  event->nodes = stream->captured;
  event->before = stream->before;
  event->recorded = !event->captured;
  event->time = stream_time(*stream);
  event->done = progress_of(*stream);
  return remember(cudaSuccess);
}

namespace {

cudaError_t wait_for_event(cudaEvent_t handle, bool query) {
  const RuntimeLock lock;
  const CUevent_st* event = find_event(handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess || event == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidResourceHandle);
  }
  if (event->captured) {
    if (const std::shared_ptr<Capture> capture = event->capture.lock(); capture != nullptr) {
      capture->invalid = true;
    }
    return remember(cudaErrorCapturedEvent);
  }
  if (query) ask_launch();
  if (is_behind_launch(event->done)) {
    if (query) return remember(cudaErrorNotReady);
    finish_launch();
    if (const cudaError_t state = device_state(); state != cudaSuccess) return remember(state);
  }
  if (!query || event->recorded) observer().event_waited(event, event->recorded, ApiCall::pc());
  host_waits_until(event->time);
  host_has_waited_for(event->done);
  return remember(cudaSuccess);
}

}  // namespace

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const ApiCall api("cudaEventSynchronize");
  return wait_for_event(handle, false);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const ApiCall api("cudaEventQuery");
  return wait_for_event(handle, true);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const ApiCall api("cudaEventElapsedTime");
  const RuntimeLock lock;
  const CUevent_st* first = find_event(start);
  const CUevent_st* last = find_event(end);
  if (const cudaError_t state = device_state(); state != cudaSuccess || milliseconds == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidValue);
  }
  if (first == nullptr || last == nullptr || !first->recorded || !last->recorded || !first->timed || !last->timed) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  if (!is_done(first->done) || !is_done(last->done)) {
    ApiCall::explain("api_error", "The host has not waited for the event: call cudaEventSynchronize before.");
    ApiCall::failed(cudaErrorNotReady);  // On a GPU it depends on how long the work takes.
    return remember(cudaErrorNotReady);
  }
  *milliseconds = static_cast<float>((last->time - first->time) * 1e3);
  return remember(cudaSuccess);
}
