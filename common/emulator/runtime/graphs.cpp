/// \file
/// Graphs, made by capturing streams.

#include <algorithm>
#include <unordered_map>

#include "common/emulator/runtime/state.hpp"

struct CUgraph_st {
  std::vector<std::shared_ptr<const warpbook::emulator::GraphNode>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::shared_ptr<const warpbook::emulator::GraphNode>> nodes;
};

namespace warpbook::emulator {
namespace {

struct Graphs {
  std::unordered_map<CUgraph_st*, std::unique_ptr<CUgraph_st>> graphs;
  std::unordered_map<CUgraphExec_st*, std::unique_ptr<CUgraphExec_st>> executables;
};

Graphs& graphs() {
  static Graphs& instance = *new Graphs;
  return instance;
}

CUgraph_st* find_graph(cudaGraph_t handle) {
  const auto found = graphs().graphs.find(handle);
  return found == graphs().graphs.end() ? nullptr : found->second.get();
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess || stream == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidResourceHandle);
  }
  if (stream == find_stream(nullptr)) {
    return remember(cudaErrorStreamCaptureUnsupported);  // CUDA cannot capture the legacy default stream
  }
  if (stream->capture != nullptr) {
    return remember(cudaErrorIllegalState);
  }
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = handle;
  stream->capture->mode = mode;
  stream->captured = stream->joined = 0;
  return remember(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || graph == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *graph = nullptr;
  if (stream->capture == nullptr) {
    return remember(cudaErrorIllegalState);
  }
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != handle) {
    capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnmatched);
  }
  bool unjoined = false;
  each_stream([&](CUstream_st& other) {
    if (other.capture == capture) {
      unjoined = unjoined || (&other != stream && other.captured > other.joined);
      other.capture = nullptr;
    }
  });
  if (capture->invalid || unjoined) {
    return remember(capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined);
  }
  auto created = std::make_unique<CUgraph_st>(CUgraph_st{std::move(capture->nodes)});
  *graph = created.get();
  graphs().graphs.emplace(*graph, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const RuntimeLock lock;
  const CUstream_st* stream = find_stream(handle);
  if (stream == nullptr || status == nullptr) {
    return remember(stream == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
  }
  *status = stream->capture == nullptr ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const RuntimeLock lock;
  return remember(graphs().graphs.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) {
      nodes[i] = i < graph->nodes.size()
                     ? reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(graph->nodes[i].get()))
                     : nullptr;
    }
    *count = std::min(*count, graph->nodes.size());
  } else {
    *count = graph->nodes.size();
  }
  return remember(cudaSuccess);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const RuntimeLock lock;
  if (node == nullptr || type == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *type = reinterpret_cast<const GraphNode*>(node)->type;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t handle, unsigned long long flags) {
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (graph == nullptr || executable == nullptr || flags != 0) {
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->nodes});
  *executable = created.get();
  graphs().executables.emplace(*executable, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const RuntimeLock lock;
  return remember(graphs().executables.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const RuntimeLock lock;
  const bool known = graphs().executables.contains(executable) && find_stream(stream) != nullptr;
  return remember(known ? device_state() : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  const auto found = graphs().executables.find(executable);
  if (found == graphs().executables.end()) {
    return remember(cudaErrorInvalidValue);
  }
  const auto nodes = found->second->nodes;
  CUstream_st* target = find_stream(stream);
  if (target != nullptr && target->capture != nullptr) {
    target->capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  const cudaError_t error = submit(stream, cudaGraphNodeTypeEmpty, [&nodes](bool) {
    double seconds = 0.0;
    for (const auto& node : nodes) {
      if (sticky_error() == cudaSuccess) seconds += node->run(true);
    }
    return seconds;
  });
  return error == cudaSuccess ? error : remember(error);
}
