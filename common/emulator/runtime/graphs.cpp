/// \file
/// Graphs, made by capturing streams or by hand.

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

struct CUgraph_st {
  std::vector<std::shared_ptr<warpbook::emulator::GraphNode>> nodes;
  /// From, to. A captured graph's nodes come in the order of their capture.
  std::vector<std::pair<cudaGraphNode_t, cudaGraphNode_t>> edges;
};
struct CUgraphExec_st {
  /// In an order that the edges allow, each with the node of the graph that it came from.
  std::vector<std::pair<cudaGraphNode_t, warpbook::emulator::Work>> works;
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

cudaGraphNode_t handle_of(const std::shared_ptr<GraphNode>& node) {
  return reinterpret_cast<cudaGraphNode_t>(node.get());
}

bool has_node(const CUgraph_st& graph, cudaGraphNode_t handle) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [=](const auto& node) { return handle_of(node) == handle; });
}

/// What a call on a stream does, as one piece of work.
template <class Call> cudaError_t work_of(Call call, Work& work) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaStreamCreate(&stream);
  if (error != cudaSuccess) return error;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  error = call(stream);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  cudaStreamDestroy(stream);
  if (error != cudaSuccess || ended != cudaSuccess) return error != cudaSuccess ? error : ended;
  work = [nodes = find_graph(graph)->nodes](bool from_graph) {
    double seconds = 0.0;
    for (const auto& node : nodes) seconds += node->run(from_graph);
    return seconds;
  };
  return cudaGraphDestroy(graph);
}

cudaError_t kernel_work(const cudaKernelNodeParams* params, Work& work) {
  if (params == nullptr || params->extra != nullptr) return remember(cudaErrorInvalidValue);
  return work_of(
      [&](cudaStream_t stream) {
        return cudaLaunchKernel(static_cast<const void*>(params->func), params->gridDim, params->blockDim,
                                params->kernelParams, params->sharedMemBytes, stream);
      },
      work);
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* dependencies, std::size_t count,
                     cudaGraphNodeType type, Work work) {
  CUgraph_st* graph = find_graph(handle);
  if (node == nullptr || graph == nullptr || (dependencies == nullptr && count != 0)) {
    return remember(cudaErrorInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!has_node(*graph, dependencies[i])) return remember(cudaErrorInvalidValue);
  graph->nodes.push_back(std::make_shared<GraphNode>(GraphNode{type, std::move(work)}));
  *node = handle_of(graph->nodes.back());
  for (std::size_t i = 0; i < count; ++i) graph->edges.emplace_back(dependencies[i], *node);
  return remember(cudaSuccess);
}

/// The nodes in an order that the edges allow, as far as they go without a circle.
std::vector<std::shared_ptr<GraphNode>> ordered(const CUgraph_st& graph) {
  std::vector<std::shared_ptr<GraphNode>> left = graph.nodes;
  std::vector<std::shared_ptr<GraphNode>> order;
  for (;;) {
    const auto next = std::find_if(left.begin(), left.end(), [&](const auto& node) {
      return std::none_of(graph.edges.begin(), graph.edges.end(), [&](const auto& edge) {
        return edge.second == handle_of(node) &&
               std::any_of(left.begin(), left.end(), [&](const auto& other) { return handle_of(other) == edge.first; });
      });
    });
    if (next == left.end()) return order;
    order.push_back(*next);
    left.erase(next);
  }
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
  auto created = std::make_unique<CUgraph_st>(CUgraph_st{std::move(capture->nodes), {}});
  for (std::size_t i = 1; i < created->nodes.size(); ++i)
    created->edges.emplace_back(handle_of(created->nodes[i - 1]), handle_of(created->nodes[i]));
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
      nodes[i] = i < graph->nodes.size() ? handle_of(graph->nodes[i]) : nullptr;
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
  const ApiCall api("cudaGraphInstantiate");
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (graph == nullptr || executable == nullptr || flags != 0) {
    return remember(cudaErrorInvalidValue);
  }
  const auto order = ordered(*graph);
  if (order.size() != graph->nodes.size()) {
    ApiCall::explain("api_error", "The graph's edges make a circle.");
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUgraphExec_st>();
  for (const auto& node : order) created->works.emplace_back(handle_of(node), node->run);
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
  const auto works = found->second->works;
  CUstream_st* target = find_stream(stream);
  if (target != nullptr && target->capture != nullptr) {
    target->capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  const cudaError_t error = submit(stream, cudaGraphNodeTypeEmpty, [&works](bool) {
    double seconds = 0.0;
    for (const auto& [node, run] : works) {
      if (sticky_error() == cudaSuccess) seconds += run(true);
    }
    return seconds;
  });
  return error == cudaSuccess ? error : remember(error);
}

// ---- By hand

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  const ApiCall api("cudaGraphCreate");
  const RuntimeLock lock;
  if (graph == nullptr || flags != 0) {
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUgraph_st>();
  *graph = created.get();
  graphs().graphs.emplace(*graph, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const ApiCall api("cudaGraphClone");
  const RuntimeLock lock;
  const CUgraph_st* original = find_graph(graph);
  if (clone == nullptr || original == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_unique<CUgraph_st>();
  std::unordered_map<cudaGraphNode_t, cudaGraphNode_t> copies;
  for (const auto& node : original->nodes) {
    created->nodes.push_back(std::make_shared<GraphNode>(*node));
    copies[handle_of(node)] = handle_of(created->nodes.back());
  }
  for (const auto& [from, to] : original->edges) created->edges.emplace_back(copies[from], copies[to]);
  *clone = created.get();
  graphs().graphs.emplace(*clone, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaKernelNodeParams* params) {
  const ApiCall api("cudaGraphAddKernelNode");
  const RuntimeLock lock;
  Work work;
  if (const cudaError_t error = kernel_work(params, work); error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeKernel, std::move(work));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemcpy3DParms* params) {
  const ApiCall api("cudaGraphAddMemcpyNode");
  const RuntimeLock lock;
  Work work;
  const cudaError_t error = work_of([&](cudaStream_t stream) { return cudaMemcpy3DAsync(params, stream); }, work);
  if (error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, std::move(work));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     std::size_t count, void* destination, const void* source, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  const ApiCall api("cudaGraphAddMemcpyNode1D");
  const RuntimeLock lock;
  Work work;
  const cudaError_t error =
      work_of([&](cudaStream_t stream) { return cudaMemcpyAsync(destination, source, bytes, kind, stream); }, work);
  if (error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy, std::move(work));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemsetParams* params) {
  const ApiCall api("cudaGraphAddMemsetNode");
  const RuntimeLock lock;
  if (params == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  Work work;
  const cudaError_t error = work_of(
      [&](cudaStream_t stream) {
        return fill(params->dst, params->pitch, params->value, params->elementSize, params->width, params->height,
                    stream, true);
      },
      work);
  if (error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeMemset, std::move(work));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 std::size_t count, const cudaHostNodeParams* params) {
  const ApiCall api("cudaGraphAddHostNode");
  const RuntimeLock lock;
  if (params == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  Work work;
  const cudaError_t error =
      work_of([&](cudaStream_t stream) { return cudaLaunchHostFunc(stream, params->fn, params->userData); }, work);
  if (error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeHost, std::move(work));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  std::size_t count) {
  const ApiCall api("cudaGraphAddEmptyNode");
  const RuntimeLock lock;
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeEmpty, [](bool) { return 0.0; });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       std::size_t count, cudaGraph_t child) {
  const ApiCall api("cudaGraphAddChildGraphNode");
  const RuntimeLock lock;
  const CUgraph_st* inner = find_graph(child);
  if (inner == nullptr || child == graph) {
    return remember(cudaErrorInvalidValue);
  }
  std::vector<Work> works;
  for (const auto& each : ordered(*inner)) works.push_back(each->run);
  return add_node(node, graph, dependencies, count, cudaGraphNodeTypeGraph, [works](bool from_graph) {
    double seconds = 0.0;
    for (const Work& work : works)
      if (sticky_error() == cudaSuccess) seconds += work(from_graph);
    return seconds;
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* /*data*/, std::size_t count) {
  const ApiCall api("cudaGraphAddDependencies");
  const RuntimeLock lock;
  CUgraph_st* graph = find_graph(handle);
  for (std::size_t i = 0; i < count; ++i) {
    if (graph == nullptr || !has_node(*graph, from[i]) || !has_node(*graph, to[i]) || from[i] == to[i]) {
      return remember(cudaErrorInvalidValue);
    }
    graph->edges.emplace_back(from[i], to[i]);
  }
  return remember(graph == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (graph == nullptr || count == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  std::size_t found = 0;
  for (const auto& node : graph->nodes) {
    if (std::any_of(graph->edges.begin(), graph->edges.end(),
                    [&](const auto& edge) { return edge.second == handle_of(node); })) {
      continue;
    }
    if (nodes != nullptr && found < *count) nodes[found] = handle_of(node);
    ++found;
  }
  *count = nodes == nullptr ? found : std::min(*count, found);
  return remember(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  const ApiCall api("cudaGraphKernelNodeSetParams");
  const RuntimeLock lock;
  for (auto& [handle, graph] : graphs().graphs)
    if (has_node(*graph, node)) return kernel_work(params, reinterpret_cast<GraphNode*>(node)->run);
  return remember(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  const ApiCall api("cudaGraphExecKernelNodeSetParams");
  const RuntimeLock lock;
  const auto found = graphs().executables.find(executable);
  if (found == graphs().executables.end()) {
    return remember(cudaErrorInvalidValue);
  }
  for (auto& [handle, work] : found->second->works)
    if (handle == node) return kernel_work(params, work);
  return remember(cudaErrorInvalidValue);
}
