// A struct is copied to the device, and the array that it points to is not.
// expect: out_of_bounds

#include <cuda_runtime.h>
#include <vector>

struct Image {
  int width, height;
  float* pixels;
};

__global__ void invert(Image* image) {
  const int i = threadIdx.x;
  if (i < image->width * image->height) image->pixels[i] = 1 - image->pixels[i];  // <- bug
}

int main(int argc, char**) {
  const bool fixed = argc > 1;
  std::vector<float> pixels(64);
  Image host{8, 8, pixels.data()};
  float* copy = nullptr;
  Image* image;
  if (fixed) {
    cudaMalloc(&copy, 64 * sizeof(float));
    cudaMemcpy(copy, pixels.data(), 64 * sizeof(float), cudaMemcpyHostToDevice);
    host.pixels = copy;
  }
  cudaMalloc(&image, sizeof(Image));
  cudaMemcpy(image, &host, sizeof host, cudaMemcpyHostToDevice);
  invert<<<1, 64>>>(image);
  cudaDeviceSynchronize();
  cudaFree(image);
  cudaFree(copy);
}
