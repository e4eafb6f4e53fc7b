// What a host function is given is deleted before the stream has come to the function.
// expect: host_data

#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(int* out) { out[threadIdx.x] = threadIdx.x; }

struct Message {
  int number;
};

void say(void* data) { std::printf("%d\n", static_cast<Message*>(data)->number); }

int main(int argc, char**) {
  const bool fixed = argc > 1;  // with any argument: the program as it should be
  int* out;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&out, 32 * sizeof(int));
  fill<<<1, 32, 0, stream>>>(out);
  Message* message = new Message{7};
  cudaLaunchHostFunc(stream, say, message);  // <- other
  if (fixed) cudaStreamSynchronize(stream);
  delete message;  // <- bug
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(out);
}
