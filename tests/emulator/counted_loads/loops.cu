// Loops that do nothing but load, right and wrong ones; see emulator_counted_loads_test.py. The first argument is the
// kernel's name, the second one the turns, the third one the bytes that are written before.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void product(const float* a, const float* b, float* out, int n) {
  const int row = index() / n % n;
  const int column = index() % n;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  out[index()] = sum;
}
__global__ void different_turns(const float* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n + index() % 37; ++k) sum += a[index() + k * 33];
  out[index()] = sum;
}
__global__ void downwards(const float* a, float* out, int n) {
  float sum = 0;
  for (int k = n - 1; k >= 0; --k) sum = sum * 0.5f + a[index() + k * 3];
  out[index()] = sum;
}
__global__ void bytes(const unsigned char* a, float* out, int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += a[index() * n + k];
  out[index()] = static_cast<float>(sum);
}
__global__ void wide(const float4* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    const float4 v = a[index() + k * 32];
    sum += v.x + v.y + v.z + v.w;
  }
  out[index()] = sum;
}
__global__ void nested(const float* a, float* out, int n) {
  float sum = 0;
  for (int j = 0; j < 40; ++j)
    for (int k = 0; k < n; ++k) sum += a[index() + j * 16 + k];
  out[index()] = sum;
}
__global__ void long_loop(const float* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k];
  for (int k = 0; k < n; ++k) sum -= a[k];
  out[index()] = sum;
}
__global__ void shared(const float* a, float* out, int n) {
  __shared__ float tile[64 * 33];
  const int thread = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (int k = 0; k < 33; ++k) tile[thread * 33 + k] = a[index() + k];
    __syncthreads();
    for (int k = 0; k < n % 33; ++k) sum += tile[thread * 33 + k] + tile[(thread ^ 1) * 33 + k];
    __syncthreads();
  }
  out[index()] = sum;
}
__global__ void between_barriers(float* a, float* out, int n) {
  float sum = 0;
  a[index()] = 1;
  __syncthreads();
  for (int k = 0; k < n % 64; ++k) sum += a[blockIdx.x * blockDim.x + k];
  __syncthreads();
  a[index()] = sum;
  out[index()] = sum;
}

__global__ void shared_race(const float*, float* out, int n) {
  __shared__ float row[64];
  float sum = 0;
  row[threadIdx.x] = 1;
  for (int k = 0; k < n % 64; ++k) sum += row[k];
  out[index()] = sum;
}
__global__ void in_place(float* a, float*, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[index() + k];
  a[index()] = sum;
}
__global__ void stores_first(float* a, float* out, int n) {
  float sum = 0;
  a[index()] = 1;
  for (int k = 0; k < n; ++k) sum += a[index() / 64 * 64 + k];
  out[index()] = sum;
}
__global__ void last_one_writes(float* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[index() + k * 2];
  out[index()] = sum;
  if (threadIdx.x + 1 == blockDim.x && blockIdx.x + 1 == gridDim.x) a[1000] = 3;
}
__global__ void by_itself_in_between(float* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k];
  sum += a[index()];
  for (int k = 0; k < n; ++k) sum *= a[index() + k];
  if (index() == 999) a[index() + 1] = sum;
  out[index()] = sum;
}
__global__ void atomics(float* a, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[k];
  atomicAdd(&a[n - 1], 1.0f);
  out[index()] = sum;
}
__global__ void one_turn_too_many(const float* end, float* out, int n) {
  float sum = 0;
  for (int k = 0; k < n + (index() == 777 ? 1 : 0); ++k) sum += end[k - n];
  out[index()] = sum;
}
__global__ void wraps(const float* a, float* out, unsigned n) {
  float sum = 0;
  for (unsigned k = 0; k < n; ++k) sum += a[4294967290U + k];
  out[index()] = sum;
}
__global__ void misaligned(const float* a, float* out, int n) {
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(a) + (index() == 70 ? 2 : 0));
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += odd[k];
  out[index()] = sum;
}

int main(int, char** words) {
  const char* const name = words[1];
  const int n = std::atoi(words[2]);
  constexpr int kBlocks = 20, kThreads = 64;
  const std::size_t elements = 300000;
  std::vector<float> host(elements);
  for (std::size_t i = 0; i < elements; ++i) host[i] = static_cast<float>(i % 13);
  float *a, *b, *out;
  cudaMalloc(&a, elements * 4);
  cudaMalloc(&b, elements * 4);
  cudaMalloc(&out, elements * 4);
  cudaMemcpy(a, host.data(), static_cast<std::size_t>(std::atol(words[3])), cudaMemcpyHostToDevice);
  cudaMemcpy(b, host.data(), elements * 4, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, elements * 4);
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  for (int again = 0; again < 2; ++again) {
    if (is("product")) product<<<kBlocks, kThreads>>>(a, b, out, n);
    if (is("different_turns")) different_turns<<<kBlocks, kThreads>>>(a, out, n);
    if (is("downwards")) downwards<<<kBlocks, kThreads>>>(a, out, n);
    if (is("bytes")) bytes<<<kBlocks, kThreads>>>(reinterpret_cast<unsigned char*>(a), out, n);
    if (is("wide")) wide<<<kBlocks, kThreads>>>(reinterpret_cast<float4*>(a), out, n);
    if (is("nested")) nested<<<kBlocks, kThreads>>>(a, out, n);
    if (is("long")) long_loop<<<1, 2>>>(a, out, n);
    if (is("shared")) shared<<<kBlocks, kThreads>>>(a, out, n);
    if (is("between_barriers")) between_barriers<<<kBlocks, kThreads>>>(a, out, n);
    if (is("shared_race")) shared_race<<<kBlocks, kThreads>>>(a, out, n);
    if (is("in_place")) in_place<<<kBlocks, kThreads>>>(a, out, n);
    if (is("stores_first")) stores_first<<<kBlocks, kThreads>>>(a, out, n);
    if (is("last_one_writes")) last_one_writes<<<kBlocks, kThreads>>>(a, out, n);
    if (is("by_itself_in_between")) by_itself_in_between<<<kBlocks, kThreads>>>(a, out, n);
    if (is("atomics")) atomics<<<kBlocks, kThreads>>>(a, out, n);
    if (is("one_turn_too_many")) one_turn_too_many<<<kBlocks, kThreads>>>(a + elements, out, n);
    if (is("wraps")) wraps<<<kBlocks, kThreads>>>(a, out, static_cast<unsigned>(n));
    if (is("misaligned")) misaligned<<<kBlocks, kThreads>>>(a, out, n);
    if (is("host_meets")) {  // what was put off of a launch is asked for behind the next one
      float *managed, *pinned;
      cudaStream_t stream, other;
      cudaMallocManaged(&managed, 40000);
      cudaMallocHost(&pinned, 4000);
      cudaStreamCreate(&stream);
      cudaStreamCreate(&other);
      for (int i = 0; i < 10000; ++i) managed[i] = 1;
      downwards<<<kBlocks, kThreads, 0, stream>>>(managed, out, n);
      downwards<<<kBlocks, kThreads, 0, stream>>>(b, out, n);
      managed[100] = 2;
      cudaMemcpyAsync(b + 100, pinned, 4000, cudaMemcpyHostToDevice, other);
      cudaDeviceSynchronize();
      managed[100] = 2;
      cudaStreamDestroy(stream);
      cudaStreamDestroy(other);
      cudaFreeHost(pinned);
      cudaFree(managed);
    }
  }
  const cudaError_t error = cudaDeviceSynchronize();
  double sum = 0;
  if (cudaMemcpy(host.data(), out, elements * 4, cudaMemcpyDeviceToHost) == cudaSuccess)
    for (std::size_t i = 0; i < elements; ++i) sum += host[i] * static_cast<double>(i % 7);
  std::printf("%s %a\n", cudaGetErrorString(error), sum);
  cudaFree(a);
  cudaFree(b);
  cudaFree(out);
}
