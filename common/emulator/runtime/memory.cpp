/// \file
/// Memory of the emulated device: allocating, copying, filling.

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "common/emulator/execution/arena.hpp"
#include "common/emulator/execution/device_heap.hpp"
#include "common/emulator/execution/host_ranges.hpp"
#include "common/emulator/execution/symbols.hpp"
#include "common/emulator/execution/worker_pool.hpp"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/device_runtime.hpp"
#include "common/emulator/runtime/faults.hpp"
#include "common/emulator/runtime/host_heap.hpp"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::size_t kPitchBytes = 512;

/// A variable that the host may hand to the runtime by its address.
struct Symbol {
  std::size_t bytes = 0;
  bool managed = false;
};

/// The `__managed__` variables, and the `__device__` and `__constant__` ones that the program has asked the address of.
std::map<const std::byte*, Symbol>& symbols() {
  static auto& instance = *new std::map<const std::byte*, Symbol>;
  return instance;
}

/// The variable that holds the address, and how many of its bytes follow there; no bytes: there is none.
Symbol symbol_at(const void* pointer) {
  const auto* address = static_cast<const std::byte*>(pointer);
  const auto after = symbols().upper_bound(address);
  if (after == symbols().begin()) return {};
  const auto& [begin, symbol] = *std::prev(after);
  const auto offset = static_cast<std::size_t>(address - begin);
  return offset < symbol.bytes ? Symbol{symbol.bytes - offset, symbol.managed} : Symbol{};
}

/// What a pointer points to, and how many bytes follow it there.
struct Place {
  bool device = false;  ///< kernels may use it
  bool host = false;    ///< the host may use it
  std::size_t bytes = 0;
};

Place place_of(const void* pointer, bool captured = false) {
  const auto* address = static_cast<const std::byte*>(pointer);
  if (const Allocation* allocation = find_allocation(pointer); allocation != nullptr) {
    const auto rest = static_cast<std::size_t>(allocation->begin + allocation->bytes - address);
    return {true, allocation->kind != MemoryKind::device, rest};
  }
  if (in_arena(pointer)) {
    // What a graph allocates is not there yet when a node is made that uses it.
    const AddressRange range = captured ? arena_reserved(pointer) : AddressRange{};
    return {range.begin != nullptr, false, static_cast<std::size_t>(range.end - address)};
  }
  if (const AddressRange range = registered_range(pointer); range.begin != nullptr) {
    return {true, true, static_cast<std::size_t>(range.end - address)};
  }
  if (const Symbol symbol = symbol_at(pointer); symbol.bytes != 0) return {true, symbol.managed, symbol.bytes};
  const AddressRange variable = variable_at(pointer);
  return {false, true,
          variable.begin == nullptr ? host_heap_rest(pointer) : static_cast<std::size_t>(variable.end - address)};
}

/// The bytes that `height` rows touch, from the first to the last.
std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
  return height == 0 || width == 0 ? 0 : pitch * (height - 1) + width;
}

/// Where the program's variables end that the next copy leads to: destination, source; null where that is not known.
thread_local constinit std::array<const std::byte*, 2> host_ends{};

struct Copy {
  void* destination = nullptr;
  std::size_t destination_pitch = 0;
  const void* source = nullptr;
  std::size_t source_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;

  void run() const {
    if (width == 0 || height == 0) {
      return;
    }
    if (height == 1 || (destination_pitch == width && source_pitch == width)) {
      run_row(destination, source, width * height);
      return;
    }
    for (std::size_t row = 0; row < height; ++row) {
      run_row(static_cast<std::byte*>(destination) + row * destination_pitch,
              static_cast<const std::byte*>(source) + row * source_pitch, width);
    }
  }

  static void run_row(void* to, const void* from, std::size_t bytes) {
    if (in_arena(to)) {
      if (in_arena(from))
        observer().memory_copied(to, from, bytes);
      else
        observer().memory_written(to, bytes);
    }
    std::memmove(to, from, bytes);
  }
};

/// True where a kernel asked for the memory by malloc or new.
bool is_of_heap(const void* pointer) {
  const HeapPiece piece = heap_near(pointer);
  const auto* const address = static_cast<const std::byte*>(pointer);
  return !piece.freed && address >= piece.range.begin && address < piece.range.end;
}

/// Checks a copy as far as CUDA does, and further: both ends must hold what is copied.
cudaError_t check_copy(const Copy& copy, CopyKind& kind, bool captured = false) {
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (copy.height > 1 && (copy.width > copy.destination_pitch || copy.width > copy.source_pitch)) {
    return cudaErrorInvalidPitchValue;
  }
  Place to = place_of(copy.destination, captured);
  Place from = place_of(copy.source, captured);
  const auto ends = std::exchange(host_ends, {});
  const auto take_end = [](Place& place, const void* pointer, const std::byte* end) {
    const auto* const begin = static_cast<const std::byte*>(pointer);
    if (!place.device && end >= begin && end != nullptr)
      place.bytes = std::min(place.bytes, static_cast<std::size_t>(end - begin));
  };
  take_end(to, copy.destination, ends[0]);
  take_end(from, copy.source, ends[1]);
  const bool to_device = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice ||
                         (copy.kind == cudaMemcpyDefault && to.device && !to.host);
  const bool from_device = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice ||
                           (copy.kind == cudaMemcpyDefault && from.device && !from.host);
  kind = to_device ? (from_device ? CopyKind::device_to_device : CopyKind::host_to_device)
                   : (from_device ? CopyKind::device_to_host : CopyKind::host_to_host);
  const std::size_t written = extent(copy.destination_pitch, copy.width, copy.height);
  const std::size_t read = extent(copy.source_pitch, copy.width, copy.height);
  if (written == 0) {
    return cudaSuccess;
  }
  const char* wrong = copy.destination == nullptr || copy.source == nullptr ? "A pointer is null."
                      : to.bytes == 0                                       ? "The destination is not allocated."
                      : from.bytes == 0                                     ? "The source is not allocated."
                      : (to_device ? !to.device : !to.host) || (from_device ? !from.device : !from.host)
                          ? "The pointers do not lie where the copy's direction says."
                          : nullptr;
  if (wrong == nullptr && ApiCall::pc() != nullptr && (is_of_heap(copy.destination) || is_of_heap(copy.source)))
    wrong = "What a kernel's malloc() or new gave is for kernels alone: let one copy it to what cudaMalloc gave.";
  if (wrong != nullptr) {
    ApiCall::explain("invalid_copy", wrong);
    return cudaErrorInvalidValue;
  }
  if (to.bytes < written || from.bytes < read) {
    const bool destination = to.bytes < written;
    ApiCall::explain("invalid_copy", "The copy is of " + std::to_string(destination ? written : read) +
                                         " bytes; from its " + (destination ? "destination" : "source") + " on, " +
                                         std::to_string(destination ? to.bytes : from.bytes) + " are allocated.");
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

bool is_captured(cudaStream_t handle) {
  const CUstream_st* stream = find_stream(handle);
  return stream != nullptr && stream->capture != nullptr;
}

/// Does a copy that a kernel asked for, after that kernel.
void follow_copy(const Copy& copy) {
  CopyKind kind{};
  if (const cudaError_t error = check_copy(copy, kind); error != cudaSuccess)
    set_sticky(cudaErrorIllegalAddress);
  else
    copy.run();
}

/// What others must leave alone until the work is done, row by row. Of memory that is not pinned, CUDA makes a copy of
/// its own.
void add_rows(std::vector<AsyncWork>& all, const void* pointer, std::size_t pitch, const Copy& copy, AsyncWork row) {
  if (find_allocation(pointer) == nullptr && symbol_at(pointer).bytes == 0) {
    return;
  }
  const auto* begin = static_cast<const std::byte*>(pointer);
  for (std::size_t i = 0; i < copy.height && copy.width != 0; ++i) {
    row.range = {begin + i * pitch, begin + i * pitch + copy.width};
    all.push_back(row);
  }
}

std::vector<AsyncWork> work_of(const Copy& copy, const void* pc) {
  std::vector<AsyncWork> all;
  add_rows(all, copy.destination, copy.destination_pitch, copy, {.writes = true, .pc = pc});
  add_rows(all, copy.source, copy.source_pitch, copy, {.writes = false, .pc = pc});
  return all;
}

/// Before a copy or a memset is done; `host_waits`: nothing that the host does later comes beside it.
void begin_work(const std::vector<AsyncWork>& all, bool host_waits) {
  for (const AsyncWork& work : all) {
    observer().copy_begins(work);
    if (!host_waits) async_begin(work);
  }
}

/// Copies in CUDA may go in any order: where the two ranges overlap, the result is anything. Rows apart are not looked
/// at: two columns of one matrix are no mistake.
void check_overlap(const Copy& copy) {
  const bool in_one = copy.height == 1 || (copy.destination_pitch == copy.width && copy.source_pitch == copy.width);
  const auto* to = static_cast<const std::byte*>(copy.destination);
  const auto* from = static_cast<const std::byte*>(copy.source);
  const auto bytes = static_cast<std::ptrdiff_t>(copy.width * copy.height);
  if (!in_one || bytes == 0 || to - from >= bytes || from - to >= bytes) {
    return;
  }
  const std::string place = ApiCall::pc() == nullptr ? std::string{} : observer().locate(ApiCall::pc());
  observer().report("overlapping_copy", ApiCall::pc(),
                    "========= Source and destination of a copy overlap\n=========     at " +
                        (place.empty() ? "an unknown line" : place) + "\n=========     The copy is of " +
                        std::to_string(bytes) + " bytes, and the two begin " +
                        std::to_string(to > from ? to - from : from - to) +
                        " bytes apart: copy by way of other memory.\n");
}

/// Whether device memory that a graph's node uses is not there when it runs; then the launch ends.
bool is_gone(const void* pointer, const void* pc) {
  if (!in_arena(pointer) || find_allocation(pointer) != nullptr) return false;
  const std::string place = pc == nullptr ? std::string{} : observer().locate(pc);
  const FreedAllocation freed = find_freed(pointer);
  const std::string where = freed.pc == nullptr ? std::string{} : observer().locate(freed.pc);
  observer().report("use_after_free", pc,
                    "========= Copy or memset of a graph in memory that is not allocated\n=========     at " +
                        (place.empty() ? "an unknown line" : place) + "\n=========     " +
                        (where.empty() ? "It is allocated after this, or not at all."
                                       : "It was freed at " + where + ", before this ran.") +
                        "\n");
  set_sticky(cudaErrorIllegalAddress);
  return true;
}

cudaError_t copy(const Copy& what, cudaStream_t stream, bool host_waits) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  CopyKind kind{};
  const bool captured = is_captured(stream);
  if (const cudaError_t error = check_copy(what, kind, captured); error != cudaSuccess) {
    return remember(error);
  }
  check_overlap(what);
  const void* const pc = ApiCall::pc();
  const cudaError_t error = submit(
      stream, cudaGraphNodeTypeMemcpy,
      [=](bool from_graph) {
        if (captured && (is_gone(what.destination, pc) || is_gone(what.source, pc))) return 0.0;
        begin_work(work_of(what, pc), host_waits);
        if (kind == CopyKind::device_to_host)
          observer().host_reads({what.source, what.source_pitch, what.width, what.height}, pc);
        what.run();
        return observer().copy_seconds(kind, what.width * what.height, what.width * what.height, from_graph);
      },
      !host_waits && find_allocation(what.source) != nullptr && find_allocation(what.destination) != nullptr);
  if (error == cudaSuccess && host_waits) {
    host_waits_for(*find_stream(stream));
  }
  return remember(error);
}

/// A row of elements of one value.
void fill_row(std::byte* row, unsigned value, unsigned element_bytes, std::size_t count) {
  if (element_bytes == 1) {
    std::memset(row, static_cast<int>(value), count);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(row + i * element_bytes, &value, element_bytes);
}

}  // namespace

namespace {

/// True where a fill's elements do not show the value that was given: of 1000, a byte is 232.
bool is_cut(unsigned value, unsigned element_bytes) {
  if (element_bytes == sizeof(value)) return false;
  const unsigned bits = 8 * element_bytes;
  const unsigned repeats = element_bytes == 1 ? 0x01010101U : 0x00010001U;
  const auto number = static_cast<int>(value);
  return (number < -(1 << (bits - 1)) || number >= 1 << bits) && value != (value & ((1U << bits) - 1)) * repeats;
}

}  // namespace

void note_fill(double value) {
  if (value != 0) observer().fill_cut(value, 1, __builtin_return_address(0));
}

cudaError_t fill(void* pointer, std::size_t pitch, unsigned value, unsigned element_bytes, std::size_t count,
                 std::size_t height, cudaStream_t stream, bool is_async) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if ((element_bytes != 1 && element_bytes != 2 && element_bytes != 4) ||
      reinterpret_cast<std::uintptr_t>(pointer) % element_bytes != 0) {
    return remember(cudaErrorInvalidValue);
  }
  const std::size_t width = count * element_bytes;
  const bool captured = is_captured(stream);
  const Place place = place_of(pointer, captured);
  const std::size_t bytes = extent(pitch, width, height);
  if ((height > 1 && width > pitch) || (bytes != 0 && (!place.device || place.bytes < bytes))) {
    ApiCall::explain("invalid_copy", !place.device
                                         ? "The pointer does not lead to device memory."
                                         : std::to_string(bytes) + " bytes are to be set; from the pointer on, " +
                                               std::to_string(place.bytes) + " are allocated.");
    return remember(height > 1 && width > pitch ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue);
  }
  // Of memory that the host reaches, too, it waits for what is not called asynchronous.
  const bool host_waits = !is_async && place.host;
  const void* const pc = ApiCall::pc();
  if (is_cut(value, element_bytes)) observer().fill_cut(static_cast<int>(value), element_bytes, pc);
  const cudaError_t error = submit(
      stream, cudaGraphNodeTypeMemset,
      [=](bool from_graph) {
        if (captured && is_gone(pointer, pc)) return 0.0;
        std::vector<AsyncWork> work;
        add_rows(work, pointer, pitch, {.width = width, .height = height},
                 {.name = "memset", .writes = true, .pc = pc});
        begin_work(work, host_waits);  // The host does not wait for a cudaMemset of the device's own memory.
        for (std::size_t row = 0; row < height && width != 0; ++row) {
          fill_row(static_cast<std::byte*>(pointer) + row * pitch, value, element_bytes, count);
          if (in_arena(pointer)) observer().memory_written(static_cast<std::byte*>(pointer) + row * pitch, width);
        }
        return observer().copy_seconds(CopyKind::fill, 0, width * height, from_graph);
      },
      !host_waits);
  if (error == cudaSuccess && host_waits) {
    host_waits_for(*find_stream(stream));
  }
  return remember(error);
}

namespace {

cudaError_t allocate(void** pointer, std::size_t bytes, MemoryKind kind) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (pointer == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *pointer = nullptr;
  if (capture_forbids_unsafe_calls()) {
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  if (bytes == 0) {
    return remember(kind == MemoryKind::managed ? cudaErrorInvalidValue : cudaSuccess);
  }
  if (!allocation_fails()) *pointer = arena_allocate(bytes, kind, ApiCall::pc());
  return remember(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

/// Why there is nothing to free.
void explain_release(const void* pointer, const Allocation* allocation, bool pinned) {
  const FreedAllocation freed = find_freed(pointer);
  if (allocation == nullptr && freed.allocation.serial != 0) {
    const char* const kCopied = "Is this a destructor? A kernel's parameter is a copy, which ends after the launch.";
    const std::string place = freed.pc == nullptr ? std::string{} : observer().locate(freed.pc);
    const std::string here = ApiCall::pc() == nullptr ? std::string{} : observer().locate(ApiCall::pc());
    ApiCall::explain("double_free", "The allocation of " + std::to_string(freed.allocation.bytes) +
                                        " bytes was freed before" + (place.empty() ? "" : ", at " + place) + "." +
                                        (place.empty() || place != here ? "" : " " + std::string(kCopied)));
  } else if (allocation != nullptr && allocation->begin == pointer) {
    ApiCall::explain("invalid_free", pinned ? "This is device memory, which cudaFree frees."
                                            : "This is memory of the host, which cudaFreeHost frees.");
  } else {
    ApiCall::explain("invalid_free", allocation != nullptr ? "The pointer leads into an allocation, not to its begin."
                                                           : "The pointer is none that CUDA allocated.");
  }
}

cudaError_t release(void* pointer, bool pinned) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (pointer == nullptr) {
    return remember(cudaSuccess);
  }
  if (capture_forbids_unsafe_calls()) {
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  if (launch_is_beside()) host_waits_for_all();
  const Allocation* allocation = find_allocation(pointer);
  if (is_mapped(pointer)) {
    ApiCall::explain("invalid_free", "This memory was mapped by cuMemMap; cuMemUnmap takes it away.");
    return remember(cudaErrorInvalidValue);
  }
  if (allocation == nullptr || (allocation->kind == MemoryKind::pinned_host) != pinned ||
      !arena_release(pointer, ApiCall::pc())) {
    explain_release(pointer, allocation, pinned);
    return remember(cudaErrorInvalidValue);
  }
  host_waits_for_all();  // freeing waits for the device
  return remember(cudaSuccess);
}

}  // namespace

std::size_t device_bytes(const void* pointer) {
  const Place place = place_of(pointer);
  return place.device ? place.bytes : 0;
}

cudaError_t allocate_device(void** pointer, std::size_t bytes) {
  if (in_kernel()) {
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    {
      const Unwatched unwatched;
      *pointer = heap_allocate(bytes);
    }
    return remember(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
  }
  const ApiCall api("cudaMalloc");
  return allocate(pointer, bytes, MemoryKind::device);
}
cudaError_t allocate_managed(void** pointer, std::size_t bytes) {
  const ApiCall api("cudaMallocManaged");
  return allocate(pointer, bytes, MemoryKind::managed);
}
cudaError_t allocate_pinned(void** pointer, std::size_t bytes) {
  const ApiCall api("cudaMallocHost");
  return allocate(pointer, bytes, MemoryKind::pinned_host);
}

cudaError_t allocate_device_async(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const ApiCall api("cudaMallocAsync");
  const RuntimeLock lock;
  const CUstream_st* target = find_stream(stream);
  if (target == nullptr) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  if (target->capture != nullptr) {
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    GraphNode node{};
    if (const cudaError_t error = allocating_node(bytes, node); error != cudaSuccess) return remember(error);
    *pointer = node.memory->begin;
    return remember(capture_node(stream, std::move(node)));
  }
  const cudaError_t error = allocate(pointer, bytes, MemoryKind::device);
  if (error != cudaSuccess || *pointer == nullptr) return error;
  pool_allocated(*pointer);
  // Another stream may use the memory only behind this, as if it were written here.
  const auto* const begin = static_cast<const std::byte*>(*pointer);
  const auto begins = [range = AddressRange{begin, begin + bytes}, pc = ApiCall::pc()](bool) {
    async_begin({.name = "cudaMallocAsync", .range = range, .writes = true, .pc = pc});
    return 0.0;
  };
  return remember(submit(stream, cudaGraphNodeTypeMemset, begins, false));
}

cudaError_t allocate_pitched(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  const ApiCall api("cudaMallocPitch");
  if (pitch == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *pitch = (width + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
  return allocate(pointer, *pitch * height, MemoryKind::device);
}

cudaError_t register_symbol(const void* symbol, std::size_t bytes) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  symbols().try_emplace(static_cast<const std::byte*>(symbol), Symbol{bytes});
  return remember(cudaSuccess);
}

cudaError_t copy_symbol(const char* function, void* destination, const void* source, std::size_t bytes,
                        cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  const ApiCall api(function);
  return copy({destination, bytes, source, bytes, bytes, 1, kind}, stream, waits);
}

}  // namespace warpbook::emulator

using namespace warpbook::emulator;

// NOLINTNEXTLINE(readability-identifier-naming): the pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_host_objects(const void* destination_end, const void* source_end) {
  host_ends = {static_cast<const std::byte*>(destination_end), static_cast<const std::byte*>(source_end)};
}

/// A variable of the program that is the host's own; its module calls this before it begins.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_host_variable(const void* variable, std::size_t bytes) {
  note_host_variable(variable, bytes);
}

/// A `__managed__` variable of the program; its module calls this before it begins.
// NOLINTNEXTLINE(readability-identifier-naming): the compiler pass knows it by this name.
extern "C" WARPBOOK_EXPORT void __warpbook_managed(const void* variable, std::size_t bytes) {
  const RuntimeLock lock;
  const auto* const begin = static_cast<const std::byte*>(variable);
  symbols()[begin] = {bytes, true};
  const bool first = managed_range.begin == nullptr;
  managed_range = {first ? begin : std::min(begin, managed_range.begin), std::max(begin + bytes, managed_range.end)};
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (free_bytes == nullptr || total_bytes == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  *total_bytes = device_memory_bytes();
  *free_bytes = *total_bytes - std::min(*total_bytes, arena_bytes_in_use());
  return remember(cudaSuccess);
}

cudaError_t cudaFree(void* pointer) {
  if (in_kernel()) {
    const bool freed = [pointer] {
      const Unwatched unwatched;
      return pointer == nullptr || heap_free(pointer);
    }();
    return remember(freed ? cudaSuccess : cudaErrorInvalidValue);
  }
  const ApiCall api("cudaFree");
  return release(pointer, false);
}

cudaError_t cudaFreeHost(void* pointer) {
  const ApiCall api("cudaFreeHost");
  return release(pointer, true);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const ApiCall api("cudaFreeAsync");
  const RuntimeLock lock;
  const CUstream_st* target = find_stream(stream);
  if (target == nullptr) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  if (target->capture != nullptr) {
    GraphNode node{};
    if (const cudaError_t error = freeing_node(pointer, node); error != cudaSuccess) return remember(error);
    return remember(capture_node(stream, std::move(node)));
  }
  // What other streams may still do there is looked for as if it were written.
  if (const Allocation* freed = find_allocation(pointer); freed != nullptr && freed->begin == pointer) {
    const AddressRange range{freed->begin, freed->begin + freed->bytes};
    const void* const pc = ApiCall::pc();
    const auto look = [=](bool) {
      observer().copy_begins({.name = "cudaFreeAsync", .range = range, .writes = true, .pc = pc});
      visit_async([=](const AsyncWork& work) { return work.launch == 0 && work.range.begin == range.begin; });
      return 0.0;
    };
    if (const cudaError_t error = submit(stream, cudaGraphNodeTypeMemset, look, false); error != cudaSuccess)
      return remember(error);
  }
  return release(pointer, false);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  const ApiCall api("cudaHostRegister");
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess) {
    return remember(state);
  }
  if (pointer == nullptr || bytes == 0) {
    return remember(cudaErrorInvalidValue);
  }
  if (in_arena(pointer) || registered_range(pointer).begin != nullptr) {
    return remember(cudaErrorHostMemoryAlreadyRegistered);
  }
  register_range(pointer, bytes);
  return remember(cudaSuccess);
}

cudaError_t cudaHostUnregister(void* pointer) {
  const ApiCall api("cudaHostUnregister");
  const RuntimeLock lock;
  return remember(unregister_range(pointer) ? device_state() : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  const ApiCall api("cudaHostGetDevicePointer");
  const RuntimeLock lock;
  if (device == nullptr) {
    return remember(cudaErrorInvalidValue);
  }
  const Place place = place_of(host);
  *device = place.device && place.host ? host : nullptr;
  return remember(*device == nullptr ? cudaErrorInvalidValue : device_state());
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const RuntimeLock lock;
  if (const cudaError_t state = device_state(); state != cudaSuccess || attributes == nullptr) {
    return remember(state != cudaSuccess ? state : cudaErrorInvalidValue);
  }
  auto* const address = const_cast<void*>(pointer);
  const Allocation* allocation = find_allocation(pointer);
  const Symbol symbol = symbol_at(pointer);
  if (symbol.bytes != 0) {
    *attributes = {symbol.managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice, 0, address,
                   symbol.managed ? address : nullptr};
  } else if (allocation == nullptr) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  } else if (allocation->kind == MemoryKind::device) {
    *attributes = {cudaMemoryTypeDevice, 0, address, nullptr};
  } else {
    const bool managed = allocation->kind == MemoryKind::managed;
    *attributes = {managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost, 0, address, address};
  }
  return remember(cudaSuccess);
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpy");
  return copy({destination, bytes, source, bytes, bytes, 1, kind}, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (in_kernel()) {
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) return remember(cudaErrorInvalidMemcpyDirection);
    return remember(submit_in_kernel(stream, [=](bool) {
      follow_copy({destination, bytes, source, bytes, bytes, 1, cudaMemcpyDefault});
      return observer().copy_seconds(CopyKind::device_to_device, bytes, bytes, false);
    }));
  }
  const ApiCall api("cudaMemcpyAsync");
  return copy({destination, bytes, source, bytes, bytes, 1, kind}, stream, false);
}

cudaError_t cudaMemcpy2D(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
  const ApiCall api("cudaMemcpy2D");
  return copy({destination, destination_pitch, source, source_pitch, width, height, kind}, nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                              std::size_t source_pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  const ApiCall api("cudaMemcpy2DAsync");
  return copy({destination, destination_pitch, source, source_pitch, width, height, kind}, stream, false);
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  const ApiCall api("cudaMemset");
  return fill(pointer, bytes, static_cast<unsigned>(value), 1, bytes, 1, nullptr, false);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  if (in_kernel()) {
    return remember(submit_in_kernel(stream, [=](bool) {
      if (place_of(pointer).bytes < bytes) {
        set_sticky(cudaErrorIllegalAddress);
        return 0.0;
      }
      std::memset(pointer, value, bytes);
      if (in_arena(pointer)) observer().memory_written(pointer, bytes);
      return observer().copy_seconds(CopyKind::fill, 0, bytes, false);
    }));
  }
  const ApiCall api("cudaMemsetAsync");
  return fill(pointer, bytes, static_cast<unsigned>(value), 1, bytes, 1, stream, true);
}

cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  const ApiCall api("cudaMemset2D");
  return fill(pointer, pitch, static_cast<unsigned>(value), 1, width, height, nullptr, false);
}

cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  const ApiCall api("cudaMemset2DAsync");
  return fill(pointer, pitch, static_cast<unsigned>(value), 1, width, height, stream, true);
}
