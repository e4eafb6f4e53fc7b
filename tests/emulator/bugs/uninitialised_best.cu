// A search for the nearest point remembers none where all are too far away.
// expect: uninitialised_local

#include <cuda_runtime.h>

__global__ void nearest(int* out, const float* points, int n, float limit) {
  int best;
  float least = limit;
  for (int i = 0; i < n; ++i) {
    const float distance = fabsf(points[i] - threadIdx.x);
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  out[threadIdx.x] = best;  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  int* out;
  float* points;
  cudaMalloc(&points, 8 * sizeof(float));
  cudaMalloc(&out, 32 * sizeof(int));
  cudaMemset(points, 0, 8 * sizeof(float));
  nearest<<<1, 32>>>(out, points, 8, fixed ? 100 : 10);
  cudaDeviceSynchronize();
  cudaFree(points);
  cudaFree(out);
}
