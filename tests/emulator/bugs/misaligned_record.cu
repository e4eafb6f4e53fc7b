// An int lies behind a byte in a packed stream of records.
// expect: misaligned

#include <cuda_runtime.h>

template <bool kFixed> __global__ void read_record(int* out, const unsigned char* bytes) {
  const int stride = kFixed ? 8 : 5;
  out[threadIdx.x] = *reinterpret_cast<const int*>(bytes + threadIdx.x * stride);  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  void (*run)(int*, const unsigned char*) = fixed ? read_record<true> : read_record<false>;
  int* out;
  unsigned char* bytes;
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMalloc(&bytes, 256);
  cudaMemset(bytes, 0, 256);
  run<<<1, 32>>>(out, bytes);
  cudaFree(out);
  cudaFree(bytes);
}
