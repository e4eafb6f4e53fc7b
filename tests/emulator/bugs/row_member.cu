// A loop over the three coordinates of a body makes a fourth turn, which changes its velocity.
// expect: row_bounds

#include <cuda_runtime.h>

struct Body {
  float place[3];
  float velocity[3];
};

__global__ void move(Body* bodies, int last) {
  Body& body = bodies[threadIdx.x];
  for (int i = 0; i <= last; ++i) {
    body.place[i] += 0.5f;  // <- bug
  }
}

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  Body* bodies;
  cudaMalloc(&bodies, 32 * sizeof(Body));
  cudaMemset(bodies, 0, 32 * sizeof(Body));
  move<<<1, 32>>>(bodies, fixed ? 2 : 3);
  cudaFree(bodies);
}
