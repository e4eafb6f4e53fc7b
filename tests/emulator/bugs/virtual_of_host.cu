// An object with virtual functions is made by the host and copied: a kernel cannot call them.
// expect: hosts_table

#include <cuda_runtime.h>
#include <new>

struct Shape {
  __host__ __device__ virtual float area() const { return 0; }
};
struct Square : Shape {
  float side = 2;
  __host__ __device__ float area() const override { return side * side; }
};

__global__ void make(Square* square) { new (square) Square; }
__global__ void ask(const Shape* shape, float* area) { *area = shape->area(); }  // <- bug

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  Square square, *copy;
  float* area;
  cudaMalloc(&copy, sizeof square);
  cudaMalloc(&area, sizeof(float));
  if (fixed)
    make<<<1, 1>>>(copy);
  else
    cudaMemcpy(copy, &square, sizeof square, cudaMemcpyHostToDevice);
  ask<<<1, 1>>>(copy, area);
  cudaDeviceSynchronize();
  cudaFree(copy);
  cudaFree(area);
}
