// The host asks again and again whether a stream or an event is done, behind a kernel that waits for the host; and has
// a function run behind such a kernel.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void answer(volatile int* mail) {
  while (mail[0] == 0) {
  }
  mail[1] = 7;
}

int main() {
  int* mail;
  cudaMallocHost(&mail, 2 * sizeof(int));
  cudaEvent_t done;
  cudaEventCreate(&done);
  int wrong = 0;
  for (const bool by_event : {false, true}) {
    mail[0] = mail[1] = 0;
    answer<<<1, 1>>>(mail);
    cudaEventRecord(done);
    *static_cast<volatile int*>(mail) = 1;
    cudaError_t state = cudaErrorNotReady;
    while (state == cudaErrorNotReady) state = by_event ? cudaEventQuery(done) : cudaStreamQuery(nullptr);
    wrong += state != cudaSuccess || mail[1] != 7;
    cudaDeviceSynchronize();
  }
  mail[0] = mail[1] = 0;
  int seen = 0;
  answer<<<1, 1>>>(mail);
  cudaLaunchHostFunc(nullptr, [](void* place) { *static_cast<int*>(place) += 1; }, &seen);
  *static_cast<volatile int*>(mail) = 1;
  cudaDeviceSynchronize();
  wrong += seen != 1 || mail[1] != 7;

  mail[0] = mail[1] = 0;
  answer<<<1, 1>>>(mail);
  *static_cast<volatile int*>(mail) = 1;
  cudaLaunchHostFunc(nullptr, [](void* place) { *static_cast<volatile int*>(place) = 2; }, &seen);
  while (*static_cast<volatile int*>(&seen) != 2) {
  }
  cudaDeviceSynchronize();
  cudaEventDestroy(done);
  cudaFreeHost(mail);
  if (wrong != 0) std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
