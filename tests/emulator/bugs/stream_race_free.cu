// Memory is freed in the order of one stream while a kernel of another one uses it.
// expect: stream_race

#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = 1; }  // <- other

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  int* out;
  cudaMallocAsync(&out, 32 * sizeof(int), one);
  cudaStreamSynchronize(one);
  fill<<<1, 32, 0, two>>>(out);
  cudaFreeAsync(out, fixed ? two : one);  // <- bug
  cudaDeviceSynchronize();
  cudaStreamDestroy(one);
  cudaStreamDestroy(two);
}
