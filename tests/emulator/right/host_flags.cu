// Kernels that wait for what the host sets after their launch: a flag in mapped and in managed memory, a mailbox, a host thread.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

void expect(const char* what, long value, long wanted) {
  if (value == wanted) return;
  std::printf("%s: %ld, not %ld\n", what, value, wanted);
  std::exit(2);
}

__global__ void waits(volatile int* flag, const volatile int* data, int* out) {
  while (*flag == 0) {}
  __threadfence_system();
  *out = *data + 1;
}

__global__ void waits_by_atomics(int* flag, int* out) {
  while (atomicAdd_system(flag, 0) == 0) __nanosleep(100);
  if (threadIdx.x == 0) *out = 7;
}

__global__ void serves(volatile int* box, int rounds) {
  for (int i = 1; i <= rounds; ++i) {
    while (box[0] != i) {}
    __threadfence_system();
    box[2] = 2 * box[1];
    __threadfence_system();
    box[3] = i;
  }
}

__global__ void announces(int* data, volatile int* done) {
  data[threadIdx.x] = 2;
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *done = 1;
}

__global__ void add(int* out, int more) { *out += more; }

int main() {
  int *box, *mapped, *flag, *out, result = 0;
  cudaMallocManaged(&box, 64);
  cudaHostAlloc(&mapped, 64, cudaHostAllocMapped);
  cudaHostGetDevicePointer(&flag, mapped, 0);
  cudaMalloc(&out, 4);
  cudaMemset(out, 0, 4);
  for (int i = 0; i < 16; ++i) mapped[i] = 0;

  waits<<<1, 1>>>(flag, flag + 1, out);
  mapped[1] = 41;
  mapped[0] = 1;
  cudaDeviceSynchronize();
  cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
  expect("mapped", result, 42);

  waits_by_atomics<<<2, 32>>>(box, out);
  *static_cast<volatile int*>(box) = 1;
  cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost);
  expect("atomics", result, 7);

  volatile int* const mail = box;
  mail[0] = 0;
  serves<<<1, 1>>>(box, 3);
  for (int i = 1; i <= 3; ++i) {
    mail[1] = 10 * i;
    mail[0] = i;
    while (mail[3] != i) {}
    expect("mailbox", mail[2], 20 * i);
  }
  cudaDeviceSynchronize();

  mapped[0] = 0;
  announces<<<1, 8>>>(flag + 1, flag);
  while (*static_cast<volatile int*>(mapped) == 0) {}
  expect("announced", mapped[8], 2);
  cudaDeviceSynchronize();

  // Behind the kernel that waits: another one, a copy, an event.
  cudaStream_t stream, other;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  mapped[0] = 0;
  waits<<<1, 1, 0, stream>>>(flag, flag + 1, out);
  add<<<1, 1, 0, stream>>>(out, 100);
  cudaMemcpyAsync(mapped + 8, out, 4, cudaMemcpyDeviceToHost, stream);
  cudaEventRecord(event, stream);
  expect("stream", cudaStreamQuery(stream), cudaErrorNotReady);
  expect("event", cudaEventQuery(event), cudaErrorNotReady);
  mapped[9] = 5;
  cudaMemcpyAsync(mapped + 1, mapped + 9, 4, cudaMemcpyDefault, other);
  cudaStreamSynchronize(other);
  mapped[0] = 1;
  cudaEventSynchronize(event);
  expect("behind", mapped[8], 106);

  mapped[0] = 0;
  std::thread helper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    *static_cast<volatile int*>(mapped) = 1;
  });
  waits_by_atomics<<<2, 32>>>(flag, out);
  cudaDeviceSynchronize();
  helper.join();

  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaStreamDestroy(other);
  cudaFree(box);
  cudaFree(out);
  cudaFreeHost(mapped);
}
