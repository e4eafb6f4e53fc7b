// Threads of a block take the next free place in a queue in shared memory and count it then.
// expect: race

#include <cuda_runtime.h>

template <bool kFixed> __global__ void keep(const int* in, int* out) {
  __shared__ int queue[64], count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int place;
  if (kFixed) {
    place = atomicAdd(&count, 1);
  } else {
    place = count;         // <- bug
    atomicAdd(&count, 1);  // <- other
  }
  __syncthreads();
  if (kFixed || threadIdx.x % 32 == 0) queue[place] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < (kFixed ? count : 1)) out[threadIdx.x] = queue[threadIdx.x];
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(const int*, int*) = fixed ? keep<true> : keep<false>;
  int *in, *out;
  cudaMalloc(&in, 64 * sizeof(int));
  cudaMalloc(&out, 64 * sizeof(int));
  cudaMemset(in, 1, 64 * sizeof(int));
  run<<<1, 64>>>(in, out);
  cudaFree(in);
  cudaFree(out);
}
