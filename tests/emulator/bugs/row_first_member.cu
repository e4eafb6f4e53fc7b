// A filter has nine weights, and the loop over them ends one late: it adds what lies behind them, the filter's offset.
// expect: row_bounds

#include <cuda_runtime.h>

struct Filter {
  float weights[9];
  float offset;
};

__global__ void apply(float* out, const float* in, const Filter* filter, int last) {
  float sum = filter->offset;
  for (int i = 0; i <= last; ++i) {
    sum += filter->weights[i] * in[threadIdx.x + i];  // <- bug
  }
  out[threadIdx.x] = sum;
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  Filter* filter;
  float *in, *out;
  cudaMalloc(&filter, sizeof(Filter));
  cudaMalloc(&in, 64 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(float));
  cudaMemset(filter, 0, sizeof(Filter));
  cudaMemset(in, 0, 64 * sizeof(float));
  apply<<<1, 32>>>(out, in, filter, fixed ? 8 : 9);
  cudaFree(filter);
  cudaFree(in);
  cudaFree(out);
}
