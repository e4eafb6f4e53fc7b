/// \file
/// OpenGL's buffers in kernels, by copies. The functions of OpenGL are looked for in the program.
#include <dlfcn.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>

#include "common/emulator/include/cuda_gl_interop.h"
#include "common/emulator/runtime/api_call.hpp"
#include "common/emulator/runtime/state.hpp"

struct cudaGraphicsResource {
  unsigned buffer;
  unsigned flags;
  void* memory = nullptr;  ///< the device's, while it is mapped
  std::size_t bytes = 0;
};

namespace warpbook::emulator {
namespace {

constexpr unsigned kArrayBuffer = 0x8892;
constexpr unsigned kArrayBufferBinding = 0x8894;
constexpr unsigned kBufferSize = 0x8764;
constexpr unsigned kReadOnly = cudaGraphicsMapFlagsReadOnly;
constexpr unsigned kWriteDiscard = cudaGraphicsMapFlagsWriteDiscard;

struct OpenGl {
  unsigned char (*is_buffer)(unsigned);
  void (*bind)(unsigned target, unsigned buffer);
  void (*get_integer)(unsigned name, int* value);
  void (*get_parameter)(unsigned target, unsigned name, int* value);
  void (*read)(unsigned target, std::ptrdiff_t offset, std::ptrdiff_t bytes, void* data);
  void (*write)(unsigned target, std::ptrdiff_t offset, std::ptrdiff_t bytes, const void* data);
};

template <class Function> bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

std::optional<OpenGl> open_gl() {
  OpenGl gl{};
  const bool complete = find(gl.is_buffer, "glIsBuffer") && find(gl.bind, "glBindBuffer") &&
                        find(gl.get_integer, "glGetIntegerv") && find(gl.get_parameter, "glGetBufferParameteriv") &&
                        find(gl.read, "glGetBufferSubData") && find(gl.write, "glBufferSubData");
  return complete ? std::optional(gl) : std::nullopt;
}

/// Does something with a buffer while it is the bound one.
template <class Action> void with_bound(const OpenGl& gl, unsigned buffer, Action action) {
  int before = 0;
  gl.get_integer(kArrayBufferBinding, &before);
  gl.bind(kArrayBuffer, buffer);
  action();
  gl.bind(kArrayBuffer, static_cast<unsigned>(before));
}

std::map<cudaGraphicsResource_t, std::unique_ptr<cudaGraphicsResource>>& resources() {
  static auto& instance = *new std::map<cudaGraphicsResource_t, std::unique_ptr<cudaGraphicsResource>>;
  return instance;
}

/// Those that are registered by their buffers' names.
std::map<unsigned, cudaGraphicsResource_t>& by_name() {
  static auto& instance = *new std::map<unsigned, cudaGraphicsResource_t>;
  return instance;
}

cudaGraphicsResource_t named(unsigned buffer) {
  const auto found = by_name().find(buffer);
  return found == by_name().end() ? nullptr : found->second;
}

cudaError_t map_resource(const OpenGl& gl, cudaGraphicsResource& resource) {
  if (resource.memory != nullptr) return remember(cudaErrorAlreadyMapped);
  cudaError_t error = cudaSuccess;
  with_bound(gl, resource.buffer, [&] {
    int bytes = 0;
    gl.get_parameter(kArrayBuffer, kBufferSize, &bytes);
    resource.bytes = static_cast<std::size_t>(bytes);
    error = allocate_device(&resource.memory, resource.bytes);
    if (error != cudaSuccess || (resource.flags & kWriteDiscard) != 0) return;
    const auto copy = std::make_unique<std::byte[]>(resource.bytes);
    gl.read(kArrayBuffer, 0, bytes, copy.get());
    error = cudaMemcpy(resource.memory, copy.get(), resource.bytes, cudaMemcpyHostToDevice);
  });
  return error;
}

cudaError_t unmap_resource(const OpenGl& gl, cudaGraphicsResource& resource) {
  if (resource.memory == nullptr) return remember(cudaErrorNotMapped);
  cudaError_t error = cudaSuccess;
  if ((resource.flags & kReadOnly) == 0) {
    const auto copy = std::make_unique<std::byte[]>(resource.bytes);
    error = cudaMemcpy(copy.get(), resource.memory, resource.bytes, cudaMemcpyDeviceToHost);
    with_bound(gl, resource.buffer,
               [&] { gl.write(kArrayBuffer, 0, static_cast<std::ptrdiff_t>(resource.bytes), copy.get()); });
  }
  const cudaError_t freed = cudaFree(resource.memory);
  resource.memory = nullptr;
  return error == cudaSuccess ? freed : error;
}

template <class Each>
cudaError_t for_each(int count, const cudaGraphicsResource_t* list, cudaStream_t stream, Each each) {
  const auto gl = open_gl();
  if (count < 0 || (count > 0 && list == nullptr)) return remember(cudaErrorInvalidValue);
  cudaError_t error = cudaStreamSynchronize(stream);
  for (int i = 0; error == cudaSuccess && i < count; ++i)
    error = gl && resources().contains(list[i]) ? each(*gl, *list[i]) : remember(cudaErrorInvalidResourceHandle);
  return error;
}

}  // namespace
}  // namespace warpbook::emulator

using namespace warpbook::emulator;

cudaError_t cudaGLGetDevices(unsigned* count, int* devices, unsigned room, cudaGLDeviceList) {
  const ApiCall api("cudaGLGetDevices");
  if (count == nullptr || (room > 0 && devices == nullptr)) return remember(cudaErrorInvalidValue);
  *count = 1;
  if (room > 0) devices[0] = 0;
  return remember(cudaSuccess);
}

cudaError_t cudaGLSetGLDevice(int device) {
  const ApiCall api("cudaGLSetGLDevice");
  return cudaSetDevice(device);
}

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, unsigned buffer, unsigned flags) {
  const ApiCall api("cudaGraphicsGLRegisterBuffer");
  const RuntimeLock lock;
  const auto gl = open_gl();
  if (!gl) {
    ApiCall::explain("invalid_graphics", "The program has no functions of OpenGL: is it linked with -lGL?");
    return remember(cudaErrorInvalidGraphicsContext);
  }
  if (resource == nullptr || gl->is_buffer(buffer) == 0) return remember(cudaErrorInvalidValue);
  auto made = std::make_unique<cudaGraphicsResource>(cudaGraphicsResource{.buffer = buffer, .flags = flags});
  *resource = made.get();
  resources()[*resource] = std::move(made);
  return remember(cudaSuccess);
}

cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t*, unsigned, unsigned, unsigned) {
  const ApiCall api("cudaGraphicsGLRegisterImage");
  ApiCall::explain("invalid_graphics", "The emulator takes OpenGL's buffers, but not its images.");
  return remember(cudaErrorNotSupported);
}

cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
  const ApiCall api("cudaGraphicsUnregisterResource");
  const RuntimeLock lock;
  if (!resources().contains(resource)) return remember(cudaErrorInvalidResourceHandle);
  const cudaError_t error = resource->memory == nullptr ? cudaSuccess : cudaFree(resource->memory);
  resources().erase(resource);
  return remember(error);
}

cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags) {
  const ApiCall api("cudaGraphicsResourceSetMapFlags");
  const RuntimeLock lock;
  if (!resources().contains(resource)) return remember(cudaErrorInvalidResourceHandle);
  if (resource->memory != nullptr) return remember(cudaErrorAlreadyMapped);
  resource->flags = flags;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* list, cudaStream_t stream) {
  const ApiCall api("cudaGraphicsMapResources");
  return for_each(count, list, stream, map_resource);
}

cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* list, cudaStream_t stream) {
  const ApiCall api("cudaGraphicsUnmapResources");
  return for_each(count, list, stream, unmap_resource);
}

cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, std::size_t* bytes, cudaGraphicsResource_t resource) {
  const ApiCall api("cudaGraphicsResourceGetMappedPointer");
  const RuntimeLock lock;
  if (!resources().contains(resource)) return remember(cudaErrorInvalidResourceHandle);
  if (resource->memory == nullptr) return remember(cudaErrorNotMapped);
  if (pointer != nullptr) *pointer = resource->memory;
  if (bytes != nullptr) *bytes = resource->bytes;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t*, cudaGraphicsResource_t, unsigned, unsigned) {
  const ApiCall api("cudaGraphicsSubResourceGetMappedArray");
  return remember(cudaErrorNotMappedAsArray);
}

cudaError_t cudaGLRegisterBufferObject(unsigned buffer) {
  const ApiCall api("cudaGLRegisterBufferObject");
  cudaGraphicsResource_t made = nullptr;
  const cudaError_t error = cudaGraphicsGLRegisterBuffer(&made, buffer, cudaGraphicsRegisterFlagsNone);
  if (error == cudaSuccess) by_name()[buffer] = made;
  return error;
}

cudaError_t cudaGLMapBufferObject(void** pointer, unsigned buffer) {
  const ApiCall api("cudaGLMapBufferObject");
  cudaGraphicsResource_t resource = named(buffer);
  const cudaError_t error = cudaGraphicsMapResources(1, &resource, nullptr);
  return error == cudaSuccess ? cudaGraphicsResourceGetMappedPointer(pointer, nullptr, resource) : error;
}

cudaError_t cudaGLUnmapBufferObject(unsigned buffer) {
  const ApiCall api("cudaGLUnmapBufferObject");
  cudaGraphicsResource_t resource = named(buffer);
  return cudaGraphicsUnmapResources(1, &resource, nullptr);
}

cudaError_t cudaGLUnregisterBufferObject(unsigned buffer) {
  const ApiCall api("cudaGLUnregisterBufferObject");
  const cudaError_t error = cudaGraphicsUnregisterResource(named(buffer));
  by_name().erase(buffer);
  return error;
}
