// Threads and blocks that wait for each other, each in a way of its own.

#include <cuda_runtime.h>

#include <cstdio>

/// All blocks meet; they all have to be on the card at a time.
__device__ void grid_barrier(int* arrived, int count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < count) __nanosleep(100);
  }
  __syncthreads();
}
__global__ void phases(int* out, int* data, int* arrived, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;
  grid_barrier(arrived, gridDim.x);
  out[i] = data[n - 1 - i];
  grid_barrier(arrived, 2 * gridDim.x);
  data[i] = out[(i + 100) % n];
}

/// Threads are served in the order of their tickets.
__global__ void queue(int* order, int* next, int* serving, int* sum) {
  const int ticket = atomicAdd(next, 1);
  while (atomicAdd(serving, 0) != ticket) {
  }
  __threadfence();
  order[ticket] = *sum;
  *sum += 1;
  __threadfence();
  atomicAdd(serving, 1);
}

/// Each block waits for the one behind it.
__global__ void backwards(volatile int* done, int* out) {
  const bool last = blockIdx.x + 1 == gridDim.x;
  if (!last)
    while (done[blockIdx.x + 1] == 0) {
    }
  __threadfence();
  out[blockIdx.x] = last ? 0 : out[blockIdx.x + 1] + 1;
  __threadfence();
  done[blockIdx.x] = 1;
}

/// The same by loads that fetch again each time.
__global__ void fetches(int* flag, int* out) {
  if (blockIdx.x == 0) {
    while (__ldcv(flag) == 0) {
    }
    *out = 1;
  } else {
    atomicExch(flag, 1);
  }
}

/// A lock in shared memory, which each thread takes.
__global__ void lock(int* out) {
  __shared__ int taken;
  __shared__ int sum;
  if (threadIdx.x == 0) taken = sum = 0;
  __syncthreads();
  for (bool done = false; !done;) {
    if (atomicCAS(&taken, 0, 1) != 0) continue;
    __threadfence_block();
    sum += threadIdx.x;
    __threadfence_block();
    atomicExch(&taken, 0);
    done = true;
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}

/// One warp fills two buffers in turn, another one empties them.
__global__ void pipe(int* out, const int* in, int n) {
  __shared__ volatile int full[2];
  __shared__ int buffer[2][32];
  if (threadIdx.x < 2) full[threadIdx.x] = 0;
  __syncthreads();
  const int lane = threadIdx.x % 32;
  const bool fills = threadIdx.x < 32;
  for (int i = 0; i < n; ++i) {
    if (lane == 0)
      while ((full[i % 2] == 0) != fills) {
      }
    __syncwarp();
    if (fills)
      buffer[i % 2][lane] = in[i * 32 + lane];
    else
      out[i * 32 + lane] = 2 * buffer[i % 2][lane];
    __threadfence_block();
    __syncwarp();
    if (lane == 0) full[i % 2] = fills ? 1 : 0;
  }
}

/// Persistent blocks take pieces of work until all are done; most pieces make two more.
__global__ void persistent(int* items, int* head, int* tail, int* pending, int* sum) {
  __shared__ int item;
  for (;;) {
    if (threadIdx.x == 0) {
      for (item = -1; item < 0 && atomicAdd(pending, 0) != 0;) {
        const int at = atomicAdd(head, 0);
        if (at < atomicAdd(tail, 0) && atomicCAS(head, at, at + 1) == at)
          while (item < 0) item = atomicAdd(&items[at], 0);
        else
          __nanosleep(50);
      }
    }
    __syncthreads();
    const int mine = item;
    __syncthreads();
    if (mine < 0) return;
    atomicAdd(sum, mine);
    if (threadIdx.x != 0) continue;
    for (int i = 0; mine > 1 && i < 2; ++i) {
      atomicAdd(pending, 1);
      atomicExch(&items[atomicAdd(tail, 1)], mine / 2);
    }
    atomicSub(pending, 1);
  }
}

int main() {
  constexpr int kMost = 4096;
  static int host[kMost];
  int* data;
  int* out;
  int* words;
  cudaMalloc(&data, kMost * sizeof(int));
  cudaMalloc(&out, kMost * sizeof(int));
  cudaMalloc(&words, kMost * sizeof(int));
  int bad = 0;
  const auto check = [&](const char* name, const int* result, int n, auto&& expected) {
    cudaMemcpy(host, result, n * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != expected(i);
    if (wrong != 0) std::printf("%s: %d of %d are wrong\n", name, wrong, n);
    bad += wrong;
    cudaMemset(words, 0, kMost * sizeof(int));
  };
  cudaMemset(words, 0, kMost * sizeof(int));
  for (const int blocks : {4, 32}) {
    const int n = 64 * blocks;
    phases<<<blocks, 64>>>(out, data, words, n);
    check("phases", data, n, [=](int i) { return n - 1 - (i + 100) % n; });
  }
  queue<<<4, 64>>>(out, words, words + 1, words + 2);
  check("queue", out, 256, [](int i) { return i; });
  backwards<<<100, 1>>>(words, out);
  check("backwards", out, 100, [](int i) { return 99 - i; });
  fetches<<<2, 1>>>(words, out);
  check("fetches", out, 1, [](int) { return 1; });
  lock<<<1, 64>>>(out);
  check("lock", out, 1, [](int) { return 2016; });
  for (int i = 0; i < 320; ++i) host[i] = i;
  cudaMemcpy(data, host, 320 * sizeof(int), cudaMemcpyHostToDevice);
  pipe<<<1, 64>>>(out, data, 10);
  check("pipe", out, 320, [](int i) { return 2 * i; });
  const int first = 64;
  const int counts[4] = {0, 1, 1, 0};
  cudaMemset(data, 255, kMost * sizeof(int));
  cudaMemcpy(data, &first, sizeof first, cudaMemcpyHostToDevice);
  cudaMemcpy(words, counts, sizeof counts, cudaMemcpyHostToDevice);
  persistent<<<6, 32>>>(data, words, words + 1, words + 2, words + 3);
  check("persistent", words + 3, 1, [](int) { return 32 * 7 * 64; });
  cudaFree(data);
  cudaFree(out);
  cudaFree(words);
  return bad == 0 ? 0 : 1;
}
