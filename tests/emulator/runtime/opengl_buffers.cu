// OpenGL's buffers in kernels. What OpenGL does with its one buffer is the program's own here.
// flags: -Xcompiler -rdynamic
// prints: no buffer 1, mapped twice 208
// prints: 8 bytes at another place
// prints: drawn 2 4, bound 3
// prints: discarded 5 5
// prints: read alone 5 5
// prints: by name 6 6
// prints: gone 400
// reports: CUDA API call to cudaGraphicsGLRegisterBuffer
// reports: CUDA API call to cudaGraphicsMapResources
// reports: Uninitialized __global__ memory read
// reports: CUDA API call to cudaGLMapBufferObject
// reports: Invalid __global__ write
#include <cuda_gl_interop.h>

#include <cstdio>
#include <cstring>

int buffer[2] = {1, 3};
unsigned bound = 3;

extern "C" {
unsigned char glIsBuffer(unsigned name) { return name == 7; }
void glBindBuffer(unsigned, unsigned name) { bound = name; }
void glGetIntegerv(unsigned, int* value) { *value = static_cast<int>(bound); }
void glGetBufferParameteriv(unsigned, unsigned, int* value) { *value = bound == 7 ? sizeof buffer : 0; }
void glGetBufferSubData(unsigned, long offset, long bytes, void* data) { std::memcpy(data, (char*)buffer + offset, bytes); }
void glBufferSubData(unsigned, long offset, long bytes, const void* data) { std::memcpy((char*)buffer + offset, data, bytes); }
}

__global__ void add(int* x, int value) { x[threadIdx.x] += value; }
__global__ void set(int* x, int value) { x[threadIdx.x] = value; }

cudaGraphicsResource* resource;
int* map(unsigned flags) {
  int* x = nullptr;
  cudaGraphicsResourceSetMapFlags(resource, flags);
  cudaGraphicsMapResources(1, &resource);
  cudaGraphicsResourceGetMappedPointer((void**)&x, nullptr, resource);
  return x;
}
void unmap() { cudaGraphicsUnmapResources(1, &resource); }

int main() {
  const int missing = cudaGraphicsGLRegisterBuffer(&resource, 8, cudaGraphicsRegisterFlagsNone);
  cudaGraphicsGLRegisterBuffer(&resource, 7, cudaGraphicsRegisterFlagsNone);
  int* x = map(cudaGraphicsMapFlagsNone);
  const int twice = cudaGraphicsMapResources(1, &resource);
  std::printf("no buffer %d, mapped twice %d\n", missing, twice);
  std::size_t bytes = 0;
  cudaGraphicsResourceGetMappedPointer((void**)&x, &bytes, resource);
  std::printf("%zu bytes at %s place\n", bytes, x == buffer ? "the same" : "another");
  add<<<1, 2>>>(x, 1);
  unmap();
  std::printf("drawn %d %d, bound %u\n", buffer[0], buffer[1], bound);
  x = map(cudaGraphicsMapFlagsWriteDiscard);
  add<<<1, 1>>>(x, 1);  // What was there is lost.
  set<<<1, 2>>>(x, 5);
  unmap();
  std::printf("discarded %d %d\n", buffer[0], buffer[1]);
  set<<<1, 2>>>(map(cudaGraphicsMapFlagsReadOnly), 1);
  unmap();
  std::printf("read alone %d %d\n", buffer[0], buffer[1]);
  cudaGraphicsUnregisterResource(resource);
  cudaGLRegisterBufferObject(7);
  cudaGLMapBufferObject((void**)&x, 7);
  set<<<1, 2>>>(x, 6);
  cudaGLUnmapBufferObject(7);
  cudaGLUnregisterBufferObject(7);
  std::printf("by name %d %d\n", buffer[0], buffer[1]);
  std::printf("gone %d\n", cudaGLMapBufferObject((void**)&x, 7));
  set<<<1, 2>>>(x, 7);  // It is mapped no more.
  cudaDeviceSynchronize();
}
