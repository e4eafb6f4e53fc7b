// A host function in a stream frees memory of the device: it may not call CUDA.
// expect: api_error

#include <cuda_runtime.h>

void release(void* memory) {
  cudaFree(memory);  // <- bug
}
void nothing(void*) {}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaStream_t stream;
  cudaMalloc(&out, 64 * sizeof(int));
  cudaStreamCreate(&stream);
  cudaLaunchHostFunc(stream, fixed ? nothing : release, out);
  cudaStreamSynchronize(stream);
  if (fixed) cudaFree(out);
  cudaStreamDestroy(stream);
}
