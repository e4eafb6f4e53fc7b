/// \file
/// Graphs, made by capturing streams or by hand.

#include <algorithm>
#include <fstream>
#include <optional>
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
  struct Node {
    cudaGraphNode_t from;  ///< the graph's
    cudaGraphNodeType type;
    warpbook::emulator::Work run;
    std::vector<std::size_t> behind;                          ///< the nodes that it comes behind
    std::shared_ptr<warpbook::emulator::GraphMemory> memory;  ///< that it allocates or frees
    std::size_t branch;  ///< Nodes of a branch follow each other. The first one is the launching stream's.
  };
  std::vector<Node> nodes;          ///< in an order that the edges allow
  std::vector<unsigned> numbers;    ///< of the branches, as streams have
  std::vector<std::uint64_t> done;  ///< operations of each so far
  bool frees_first = false;         ///< what an earlier launch left of its memory
};

namespace warpbook::emulator {
namespace {

constexpr unsigned long long kInstantiateFlags =
    cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority;

struct Graphs {
  std::unordered_map<CUgraph_st*, std::unique_ptr<CUgraph_st>> graphs;
  std::unordered_map<CUgraphExec_st*, std::shared_ptr<CUgraphExec_st>> executables;
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

cudaError_t copy_work(const cudaMemcpy3DParms* params, Work& work) {
  return work_of([&](cudaStream_t stream) { return cudaMemcpy3DAsync(params, stream); }, work);
}

cudaError_t copy_work(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind, Work& work) {
  return work_of([&](cudaStream_t stream) { return cudaMemcpyAsync(destination, source, bytes, kind, stream); }, work);
}

cudaError_t fill_work(const cudaMemsetParams* params, Work& work) {
  if (params == nullptr) return remember(cudaErrorInvalidValue);
  return work_of(
      [&](cudaStream_t stream) {
        return fill(params->dst, params->pitch, params->value, params->elementSize, params->width, params->height,
                    stream, true);
      },
      work);
}

cudaError_t host_work(const cudaHostNodeParams* params, Work& work) {
  if (params == nullptr) return remember(cudaErrorInvalidValue);
  return work_of([&](cudaStream_t stream) { return cudaLaunchHostFunc(stream, params->fn, params->userData); }, work);
}

/// The graph that has a node.
CUgraph_st* graph_with(cudaGraphNode_t node) {
  for (auto& [handle, graph] : graphs().graphs)
    if (has_node(*graph, node)) return graph.get();
  return nullptr;
}

/// What a node does from now on, in the graph or in one made of it.
Work* work_in(cudaGraphNode_t node, cudaGraphNodeType type) {
  auto* const known = graph_with(node) == nullptr ? nullptr : reinterpret_cast<GraphNode*>(node);
  return known == nullptr || known->type != type ? nullptr : &known->run;
}
Work* work_in(cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraphNodeType type) {
  const auto found = graphs().executables.find(executable);
  if (found == graphs().executables.end()) return nullptr;
  for (auto& each : found->second->nodes)
    if (each.from == node && each.type == type) return &each.run;
  return nullptr;
}

/// Hands over a list as CUDA does: its length alone, or as much as there is room for, with nullptr behind it.
cudaError_t hand_over(const std::vector<cudaGraphNode_t>& list, cudaGraphNode_t* nodes, std::size_t* count) {
  if (count == nullptr) return remember(cudaErrorInvalidValue);
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) nodes[i] = i < list.size() ? list[i] : nullptr;
  *count = nodes == nullptr ? list.size() : std::min(*count, list.size());
  return remember(cudaSuccess);
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* dependencies, std::size_t count,
                     GraphNode made) {
  CUgraph_st* graph = find_graph(handle);
  if (node == nullptr || graph == nullptr || (dependencies == nullptr && count != 0)) {
    return remember(cudaErrorInvalidValue);
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!has_node(*graph, dependencies[i])) return remember(cudaErrorInvalidValue);
  graph->nodes.push_back(std::make_shared<GraphNode>(std::move(made)));
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

/// Which nodes each one comes behind, and its branch: that of a node before it which nothing else has gone on from.
void find_branches(const CUgraph_st& graph, CUgraphExec_st& made) {
  std::vector<std::size_t> last;  // of each branch
  for (std::size_t i = 0; i < made.nodes.size(); ++i) {
    CUgraphExec_st::Node& node = made.nodes[i];
    node.branch = last.size();
    for (std::size_t other = 0; other < i; ++other) {
      if (std::find(graph.edges.begin(), graph.edges.end(), std::pair{made.nodes[other].from, node.from}) ==
          graph.edges.end())
        continue;
      node.behind.push_back(other);
      if (node.branch == last.size() && last[made.nodes[other].branch] == other) node.branch = made.nodes[other].branch;
    }
    if (node.branch == last.size()) {
      made.numbers.push_back(last.empty() ? 0 : new_stream_number());
      last.emplace_back();
    }
    last[node.branch] = i;
  }
  made.done.resize(last.size());
}

/// Runs the nodes, each behind those that its edges name. Returns the modelled seconds of the longest way through.
double run_graph(CUgraphExec_st& graph) {
  struct End {
    Progress done;
    double seconds = 0.0;
  };
  const unsigned stream = current_stream();
  End all{current_progress()};
  Progress before = all.done;
  --before.at(stream);  // The launch is the first operation of the first branch.
  if (!graph.done.empty()) graph.done[0] = before.at(stream);
  std::vector<End> ends(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size() && sticky_error() == cudaSuccess; ++i) {
    const CUgraphExec_st::Node& node = graph.nodes[i];
    End& end = ends[i];
    end.done = before;
    for (const std::size_t other : node.behind) {
      join(end.done, ends[other].done);
      end.seconds = std::max(end.seconds, ends[other].seconds);
    }
    const unsigned number = node.branch == 0 ? stream : graph.numbers[node.branch];
    end.done[number] = ++graph.done[node.branch];
    async_operation(number, end.done);
    end.seconds += node.run(true);
    join(all.done, end.done);
    all.seconds = std::max(all.seconds, end.seconds);
  }
  async_operation(stream, all.done);
  return all.seconds;
}

/// The launch's name is told only here: what the graph's own functions do wrong is told with theirs.
cudaError_t check_memory(const CUgraphExec_st& graph, const void* pc) {
  std::vector<std::shared_ptr<GraphMemory>> memory;
  std::vector<cudaGraphNodeType> types;
  for (const auto& node : graph.nodes) {
    memory.push_back(node.memory);
    types.push_back(node.type);
  }
  const ApiCall api("cudaGraphLaunch", pc);
  return remember(check_graph_memory(memory, types, graph.frees_first));
}

bool has_memory_nodes(const CUgraph_st& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) { return node->memory != nullptr; });
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const ApiCall api("cudaStreamBeginCapture");
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
  stream->before.clear();
  return remember(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const RuntimeLock lock;
  CUstream_st* stream = find_stream(handle);
  std::optional<ApiCall> api;  // What made a capture invalid was told.
  if (stream == nullptr || stream->capture == nullptr || !stream->capture->invalid)
    api.emplace("cudaStreamEndCapture", __builtin_return_address(0));
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
  for (const auto& [from, to] : capture->edges)
    created->edges.emplace_back(handle_of(created->nodes[from]), handle_of(created->nodes[to]));
  *graph = created.get();
  graphs().graphs.emplace(*graph, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** data,
                                     std::size_t* count) {
  const ApiCall api("cudaStreamGetCaptureInfo");
  const RuntimeLock lock;
  if (graph != nullptr || nodes != nullptr || data != nullptr || count != nullptr) {
    ApiCall::explain("api_error", "A graph under capture has no handle in the emulator.");
    return remember(cudaErrorNotSupported);
  }
  const cudaError_t error = cudaStreamIsCapturing(handle, status);
  if (error == cudaSuccess && id != nullptr && *status == cudaStreamCaptureStatusActive) {
    *id = find_stream(find_stream(handle)->capture->origin)->number;
  }
  return error;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const ApiCall api("cudaStreamIsCapturing");
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
  const ApiCall api("cudaGraphDestroy");
  const RuntimeLock lock;
  return remember(graphs().graphs.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  const ApiCall api("cudaGraphGetNodes");
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (graph == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  std::vector<cudaGraphNode_t> list;
  for (const auto& node : graph->nodes) list.push_back(handle_of(node));
  return hand_over(list, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const ApiCall api("cudaGraphNodeGetType");
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
  if (graph == nullptr || executable == nullptr || (flags & ~kInstantiateFlags) != 0) {
    return remember(cudaErrorInvalidValue);
  }
  const auto order = ordered(*graph);
  if (order.size() != graph->nodes.size()) {
    ApiCall::explain("api_error", "The graph's edges make a circle.");
    return remember(cudaErrorInvalidValue);
  }
  auto created = std::make_shared<CUgraphExec_st>();
  for (const auto& node : order)
    created->nodes.push_back({handle_of(node), node->type, node->run, {}, node->memory, 0});
  created->frees_first = (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
  find_branches(*graph, *created);
  *executable = created.get();
  graphs().executables.emplace(*executable, std::move(created));
  return remember(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const ApiCall api("cudaGraphExecDestroy");
  const RuntimeLock lock;
  return remember(graphs().executables.erase(executable) == 1 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const ApiCall api("cudaGraphUpload");
  const RuntimeLock lock;
  const bool known = graphs().executables.contains(executable) && find_stream(stream) != nullptr;
  return remember(known ? device_state() : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const ApiCall api("cudaGraphLaunch");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  const auto found = graphs().executables.find(executable);
  if (found == graphs().executables.end()) {
    return remember(cudaErrorInvalidValue);
  }
  CUstream_st* target = find_stream(stream);
  if (target != nullptr && target->capture != nullptr) {
    target->capture->invalid = true;
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  if (const cudaError_t error = check_memory(*found->second, __builtin_return_address(0)); error != cudaSuccess) {
    return error;
  }
  const cudaError_t error =
      submit(stream, cudaGraphNodeTypeEmpty, [graph = found->second](bool) { return run_graph(*graph); });
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
  if (has_memory_nodes(*original)) {
    return remember(cudaErrorNotSupported);  // as in CUDA
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
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeKernel, std::move(work)});
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemcpy3DParms* params) {
  const ApiCall api("cudaGraphAddMemcpyNode");
  const RuntimeLock lock;
  Work work;
  if (const cudaError_t error = copy_work(params, work); error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeMemcpy, std::move(work)});
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     std::size_t count, void* destination, const void* source, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  const ApiCall api("cudaGraphAddMemcpyNode1D");
  const RuntimeLock lock;
  Work work;
  if (const cudaError_t error = copy_work(destination, source, bytes, kind, work); error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeMemcpy, std::move(work)});
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemsetParams* params) {
  const ApiCall api("cudaGraphAddMemsetNode");
  const RuntimeLock lock;
  Work work;
  if (const cudaError_t error = fill_work(params, work); error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeMemset, std::move(work)});
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 std::size_t count, const cudaHostNodeParams* params) {
  const ApiCall api("cudaGraphAddHostNode");
  const RuntimeLock lock;
  Work work;
  if (const cudaError_t error = host_work(params, work); error != cudaSuccess) return error;
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeHost, std::move(work)});
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  std::size_t count) {
  const ApiCall api("cudaGraphAddEmptyNode");
  const RuntimeLock lock;
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeEmpty, [](bool) { return 0.0; }});
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       std::size_t count, cudaGraph_t child) {
  const ApiCall api("cudaGraphAddChildGraphNode");
  const RuntimeLock lock;
  const CUgraph_st* inner = find_graph(child);
  if (inner == nullptr || child == graph) {
    return remember(cudaErrorInvalidValue);
  }
  if (has_memory_nodes(*inner)) {
    return remember(cudaErrorNotSupported);
  }
  std::vector<Work> works;
  for (const auto& each : ordered(*inner)) works.push_back(each->run);
  const auto run = [works](bool from_graph) {
    double seconds = 0.0;
    for (const Work& work : works)
      if (sticky_error() == cudaSuccess) seconds += work(from_graph);
    return seconds;
  };
  return add_node(node, graph, dependencies, count, {cudaGraphNodeTypeGraph, run});
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     std::size_t count, cudaMemAllocNodeParams* params) {
  const ApiCall api("cudaGraphAddMemAllocNode");
  const RuntimeLock lock;
  if (params == nullptr || params->poolProps.allocType != cudaMemAllocationTypePinned ||
      params->poolProps.location.type != cudaMemLocationTypeDevice || params->poolProps.location.id != 0) {
    return remember(cudaErrorInvalidValue);
  }
  GraphNode made{};
  if (const cudaError_t error = allocating_node(params->bytesize, made); error != cudaSuccess) return remember(error);
  params->dptr = made.memory->begin;
  return add_node(node, graph, dependencies, count, std::move(made));
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    std::size_t count, void* pointer) {
  const ApiCall api("cudaGraphAddMemFreeNode");
  const RuntimeLock lock;
  GraphNode made{};
  if (const cudaError_t error = freeing_node(pointer, made); error != cudaSuccess) return remember(error);
  return add_node(node, graph, dependencies, count, std::move(made));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  const ApiCall api("cudaGraphMemFreeNodeGetParams");
  const RuntimeLock lock;
  const auto* known = graph_with(node) == nullptr ? nullptr : reinterpret_cast<const GraphNode*>(node);
  if (known == nullptr || known->type != cudaGraphNodeTypeMemFree || pointer == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *static_cast<void**>(pointer) = known->memory->begin;
  return remember(cudaSuccess);
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
  const ApiCall api("cudaGraphGetRootNodes");
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (graph == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  std::vector<cudaGraphNode_t> list;
  for (const auto& node : graph->nodes) {
    if (std::none_of(graph->edges.begin(), graph->edges.end(),
                     [&](const auto& edge) { return edge.second == handle_of(node); })) {
      list.push_back(handle_of(node));
    }
  }
  return hand_over(list, nodes, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* /*data*/,
                                         std::size_t* count) {
  const ApiCall api("cudaGraphNodeGetDependencies");
  const RuntimeLock lock;
  const CUgraph_st* graph = graph_with(node);
  if (graph == nullptr) return remember(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> list;
  for (const auto& [from, to] : graph->edges)
    if (to == node) list.push_back(from);
  return hand_over(list, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* /*data*/,
                                           std::size_t* count) {
  const ApiCall api("cudaGraphNodeGetDependentNodes");
  const RuntimeLock lock;
  const CUgraph_st* graph = graph_with(node);
  if (graph == nullptr) return remember(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> list;
  for (const auto& [from, to] : graph->edges)
    if (from == node) list.push_back(to);
  return hand_over(list, nodes, count);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* /*data*/, std::size_t* count) {
  const ApiCall api("cudaGraphGetEdges");
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  if (graph == nullptr || count == nullptr || (from == nullptr) != (to == nullptr)) {
    return remember(cudaErrorInvalidValue);
  }
  std::vector<cudaGraphNode_t> begins;
  std::vector<cudaGraphNode_t> ends;
  for (const auto& edge : graph->edges) {
    begins.push_back(edge.first);
    ends.push_back(edge.second);
  }
  std::size_t room = *count;
  hand_over(begins, from, &room);
  return hand_over(ends, to, count);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* params) {
  const ApiCall api("cudaGraphKernelNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(node, cudaGraphNodeTypeKernel);
  return work == nullptr ? remember(cudaErrorInvalidValue) : kernel_work(params, *work);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* params) {
  const ApiCall api("cudaGraphExecKernelNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(executable, node, cudaGraphNodeTypeKernel);
  return work == nullptr ? remember(cudaErrorInvalidValue) : kernel_work(params, *work);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
  const ApiCall api("cudaGraphMemcpyNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(node, cudaGraphNodeTypeMemcpy);
  return work == nullptr ? remember(cudaErrorInvalidValue) : copy_work(params, *work);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
  const ApiCall api("cudaGraphExecMemcpyNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(executable, node, cudaGraphNodeTypeMemcpy);
  return work == nullptr ? remember(cudaErrorInvalidValue) : copy_work(params, *work);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source,
                                           std::size_t bytes, cudaMemcpyKind kind) {
  const ApiCall api("cudaGraphMemcpyNodeSetParams1D");
  const RuntimeLock lock;
  Work* work = work_in(node, cudaGraphNodeTypeMemcpy);
  return work == nullptr ? remember(cudaErrorInvalidValue) : copy_work(destination, source, bytes, kind, *work);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* destination,
                                               const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  const ApiCall api("cudaGraphExecMemcpyNodeSetParams1D");
  const RuntimeLock lock;
  Work* work = work_in(executable, node, cudaGraphNodeTypeMemcpy);
  return work == nullptr ? remember(cudaErrorInvalidValue) : copy_work(destination, source, bytes, kind, *work);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
  const ApiCall api("cudaGraphMemsetNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(node, cudaGraphNodeTypeMemset);
  return work == nullptr ? remember(cudaErrorInvalidValue) : fill_work(params, *work);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  const ApiCall api("cudaGraphExecMemsetNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(executable, node, cudaGraphNodeTypeMemset);
  return work == nullptr ? remember(cudaErrorInvalidValue) : fill_work(params, *work);
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params) {
  const ApiCall api("cudaGraphHostNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(node, cudaGraphNodeTypeHost);
  return work == nullptr ? remember(cudaErrorInvalidValue) : host_work(params, *work);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  const ApiCall api("cudaGraphExecHostNodeSetParams");
  const RuntimeLock lock;
  Work* work = work_in(executable, node, cudaGraphNodeTypeHost);
  return work == nullptr ? remember(cudaErrorInvalidValue) : host_work(params, *work);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t handle, cudaGraphExecUpdateResultInfo* info) {
  const RuntimeLock lock;  // Not reported: programs ask whether it can be, and make a new graph where not.
  const CUgraph_st* graph = find_graph(handle);
  const auto found = graphs().executables.find(executable);
  if (graph == nullptr || found == graphs().executables.end() || info == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *info = {};
  auto& nodes = found->second->nodes;
  const auto order = ordered(*graph);
  if (order.size() != nodes.size()) info->result = cudaGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; i < order.size() && info->result == cudaGraphExecUpdateSuccess; ++i) {
    if (order[i]->type == nodes[i].type) continue;
    *info = {cudaGraphExecUpdateErrorNodeTypeChanged, handle_of(order[i]), nullptr};
  }
  if (info->result != cudaGraphExecUpdateSuccess) return remember(cudaErrorGraphExecUpdateFailure);
  for (std::size_t i = 0; i < order.size(); ++i) {
    nodes[i].run = order[i]->run;
    nodes[i].memory = order[i]->memory;
  }
  return remember(cudaSuccess);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned /*flags*/) {
  const ApiCall api("cudaGraphDebugDotPrint");
  const RuntimeLock lock;
  const CUgraph_st* graph = find_graph(handle);
  std::ofstream file;
  if (graph != nullptr && path != nullptr) file.open(path);
  if (!file) return remember(graph == nullptr ? cudaErrorInvalidValue : cudaErrorOperatingSystem);
  constexpr const char* kTypes[] = {"KERNEL",     "MEMCPY",       "MEMSET",     "HOST",     "GRAPH",     "EMPTY",
                                    "WAIT_EVENT", "EVENT_RECORD", "EXT_SIGNAL", "EXT_WAIT", "MEM_ALLOC", "MEM_FREE"};
  const auto number = [&](cudaGraphNode_t node) {
    return std::find_if(graph->nodes.begin(), graph->nodes.end(),
                        [=](const auto& each) { return handle_of(each) == node; }) -
           graph->nodes.begin();
  };
  file << "digraph dot {\n";
  for (const auto& node : graph->nodes)
    file << "  node_" << number(handle_of(node)) << " [label=\"" << kTypes[node->type] << "\"];\n";
  for (const auto& [from, to] : graph->edges) file << "  node_" << number(from) << " -> node_" << number(to) << ";\n";
  file << "}\n";
  return remember(file ? cudaSuccess : cudaErrorOperatingSystem);
}
