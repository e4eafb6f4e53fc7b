// Host threads wait for a stream by what a host function signals, and for no call of CUDA's.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

template <int value> __global__ void fill(int* p) { p[threadIdx.x] = value; }
__global__ void add(int* p, const int* q) { p[threadIdx.x] += q[threadIdx.x]; }

struct Work {
  int* host;
  std::atomic<bool> done{false};
  std::mutex mutex;
  std::condition_variable changed;
  bool signalled = false;
  std::thread reader;
  int seen = 0;

  void wait() {
    while (!done) std::this_thread::yield();
    done = false;
  }
};

void sets(void* data) { static_cast<Work*>(data)->done = true; }

void signals(cudaStream_t, cudaError_t, void* data) {
  auto& work = *static_cast<Work*>(data);
  const std::lock_guard lock(work.mutex);
  work.signalled = true;
  work.changed.notify_one();
}

void starts_a_thread(cudaStream_t, cudaError_t, void* data) {
  auto& work = *static_cast<Work*>(data);
  work.reader = std::thread([&] { work.seen = work.host[63]; });
}

int main() {
  Work work;
  int *device, *other, sum = 0;
  cudaStream_t s, t;
  cudaEvent_t begin, end;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaMallocHost(&work.host, 256);
  cudaMalloc(&device, 256);
  cudaMalloc(&other, 256);

  // By an atomic: the host reads and writes what the stream had, and its times.
  cudaEventRecord(begin, s);
  fill<1><<<1, 64, 0, s>>>(device);
  cudaMemcpyAsync(work.host, device, 256, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(end, s);
  cudaLaunchHostFunc(s, sets, &work);
  work.wait();
  float milliseconds = -1;
  const bool timed = cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess && milliseconds >= 0;
  for (int i = 0; i < 64; ++i) sum += work.host[i];
  work.host[0] = 2;

  // By a condition, of another thread: it gives the memory to another stream, for a kernel and for a copy.
  fill<2><<<1, 64, 0, s>>>(device);
  fill<3><<<1, 64, 0, s>>>(other);
  cudaStreamAddCallback(s, signals, &work, 0);
  std::thread([&] {
    std::unique_lock lock(work.mutex);
    work.changed.wait(lock, [&] { return work.signalled; });
    add<<<1, 64, 0, t>>>(device, other);
    cudaMemsetAsync(other, 0, 256, t);
    cudaMemcpyAsync(work.host, device, 256, cudaMemcpyDeviceToHost, t);
  }).join();

  // By a thread that the callback starts.
  cudaStreamAddCallback(t, starts_a_thread, &work, 0);
  work.reader.join();
  sum += work.seen;

  // By a graph: what comes before the host function is done each time.
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(t, cudaStreamCaptureModeGlobal);
  fill<4><<<1, 64, 0, t>>>(device);
  cudaMemcpyAsync(work.host, device, 256, cudaMemcpyDeviceToHost, t);
  cudaLaunchHostFunc(t, sets, &work);
  cudaStreamEndCapture(t, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  for (int i = 0; i < 2; ++i) {
    cudaGraphLaunch(executable, t);
    work.wait();
    sum += work.host[0];
    work.host[0] = 0;
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);

  cudaFree(other);
  cudaFree(device);
  cudaFreeHost(work.host);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(s);
  cudaStreamDestroy(t);
  std::printf("%d\n", sum);
  return timed && sum == 64 + 5 + 8 ? 0 : 1;
}
