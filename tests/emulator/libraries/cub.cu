/// \file
/// CUB's algorithms for the device, for blocks and for warps, beside loops. Prints what is wrong; the status is 1 then.
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  ++wrong;
}

/// Managed memory: the host reads it after it has waited.
template <class T> struct Array {
  explicit Array(std::size_t n) : size(n) { cudaMallocManaged(&data, std::max<std::size_t>(n, 1) * sizeof(T)); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) { std::copy(values.begin(), values.end(), data); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data); }
  bool is(const std::vector<T>& right) const { return std::equal(right.begin(), right.end(), data); }

  T* data = nullptr;
  std::size_t size;
};

/// Asks how much memory an algorithm needs, allocates it, runs it, and waits.
template <class Algorithm> void run(Algorithm algorithm, const char* what) {
  std::size_t bytes = 0;
  void* storage = nullptr;
  expect(algorithm(storage, bytes) == cudaSuccess, what);
  cudaMalloc(&storage, bytes);
  expect(algorithm(storage, bytes) == cudaSuccess, what);
  expect(cudaDeviceSynchronize() == cudaSuccess, what);
  cudaFree(storage);
}

std::vector<int> numbers(std::size_t n) {
  std::vector<int> values(n);
  unsigned state = 99;
  for (int& value : values) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 16U) % 256;
  return values;
}

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

void check_device(int n) {
  const std::vector<int> host = numbers(static_cast<std::size_t>(n));
  const Array<int> in(host);
  Array<int> out(host.size());
  Array<int> one(1);
  run([&](void* storage, std::size_t& bytes) { return cub::DeviceReduce::Sum(storage, bytes, in.data, one.data, n); },
      "DeviceReduce::Sum");
  expect(*one.data == std::accumulate(host.begin(), host.end(), 0), "DeviceReduce::Sum");
  run([&](void* storage,
          std::size_t& bytes) { return cub::DeviceScan::InclusiveSum(storage, bytes, in.data, out.data, n); },
      "DeviceScan::InclusiveSum");
  std::vector<int> right(host.size());
  std::partial_sum(host.begin(), host.end(), right.begin());
  expect(out.is(right), "DeviceScan::InclusiveSum");

  Array<int> places(host.size());
  Array<int> places_out(host.size());
  std::iota(places.data, places.data + n, 0);
  run(
      [&](void* storage, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(storage, bytes, in.data, out.data, places.data, places_out.data, n);
      },
      "DeviceRadixSort::SortPairs");
  std::vector<int> order(host.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return host[static_cast<std::size_t>(a)] < host[static_cast<std::size_t>(b)]; });
  expect(places_out.is(order), "DeviceRadixSort::SortPairs");

  Array<int> bins(16);
  run(
      [&](void* storage, std::size_t& bytes) {
        return cub::DeviceHistogram::HistogramEven(storage, bytes, in.data, bins.data, 17, 0, 256, n);
      },
      "DeviceHistogram::HistogramEven");
  std::vector<int> right_bins(16);
  for (const int value : host) ++right_bins[static_cast<std::size_t>(value / 16)];
  expect(bins.is(right_bins), "DeviceHistogram::HistogramEven");

  run(
      [&](void* storage, std::size_t& bytes) {
        return cub::DeviceSelect::If(storage, bytes, in.data, out.data, one.data, n, IsEven{});
      },
      "DeviceSelect::If");
  right.clear();
  std::copy_if(host.begin(), host.end(), std::back_inserter(right), IsEven{});
  expect(*one.data == static_cast<int>(right.size()) && out.is(right), "DeviceSelect::If");
}

constexpr int kThreads = 96;
constexpr int kItems = 3;

template <cub::BlockReduceAlgorithm algorithm> __global__ void reduce_block(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, kThreads, algorithm>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}

template <cub::BlockScanAlgorithm algorithm> __global__ void scan_block(const int* in, int* out) {
  using Scan = cub::BlockScan<int, kThreads, algorithm>;
  __shared__ typename Scan::TempStorage storage;
  int sum = 0;
  Scan(storage).ExclusiveSum(in[threadIdx.x], sum);
  out[threadIdx.x] = sum;
}

__global__ void sort_block(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Sort::TempStorage sort;
  } storage;
  int items[kItems];
  Load(storage.load).Load(in, items);
  __syncthreads();
  Sort(storage.sort).Sort(items);
  __syncthreads();
  Store(storage.store).Store(out, items);
}

void check_blocks() {
  const std::vector<int> host = numbers(kThreads * kItems);
  const Array<int> in(host);
  Array<int> out(host.size());
  const int sum = std::accumulate(host.begin(), host.begin() + kThreads, 0);
  const auto reduces = [&](auto kernel, const char* what) {
    kernel<<<1, kThreads>>>(in.data, out.data);
    expect(cudaDeviceSynchronize() == cudaSuccess && *out.data == sum, what);
  };
  reduces(reduce_block<cub::BLOCK_REDUCE_WARP_REDUCTIONS>, "BlockReduce by warps");
  reduces(reduce_block<cub::BLOCK_REDUCE_RAKING>, "BlockReduce by raking");
  std::vector<int> right(kThreads);
  std::partial_sum(host.begin(), host.begin() + kThreads - 1, right.begin() + 1);
  const auto scans = [&](auto kernel, const char* what) {
    kernel<<<1, kThreads>>>(in.data, out.data);
    expect(cudaDeviceSynchronize() == cudaSuccess && out.is(right), what);
  };
  scans(scan_block<cub::BLOCK_SCAN_WARP_SCANS>, "BlockScan by warps");
  scans(scan_block<cub::BLOCK_SCAN_RAKING>, "BlockScan by raking");
  sort_block<<<1, kThreads>>>(in.data, out.data);
  right = host;
  std::sort(right.begin(), right.end());
  expect(cudaDeviceSynchronize() == cudaSuccess && out.is(right), "BlockRadixSort");
}

/// Warps, and halves of them, each with a shuffle of its own kind for the type.
template <class T, int lanes> __global__ void use_warps(const T* in, T* sums, T* scans, T* largest) {
  using Reduce = cub::WarpReduce<T, lanes>;
  using Scan = cub::WarpScan<T, lanes>;
  __shared__ typename Reduce::TempStorage reduce[64 / lanes];
  __shared__ typename Scan::TempStorage scan[64 / lanes];
  const unsigned group = threadIdx.x / lanes;
  const T sum = Reduce(reduce[group]).Sum(in[threadIdx.x]);
  __syncwarp();
  const T most = Reduce(reduce[group]).Reduce(in[threadIdx.x], cuda::maximum<>{});
  Scan(scan[group]).InclusiveSum(in[threadIdx.x], scans[threadIdx.x]);
  if (threadIdx.x % lanes == 0) {
    sums[group] = sum;
    largest[group] = most;
  }
}

template <class T, int lanes> void check_warps(const char* what) {
  const std::vector<int> values = numbers(64);
  const Array<T> in(std::vector<T>(values.begin(), values.end()));
  Array<T> sums(64);
  Array<T> scans(64);
  Array<T> largest(64);
  use_warps<T, lanes><<<1, 64>>>(in.data, sums.data, scans.data, largest.data);
  expect(cudaDeviceSynchronize() == cudaSuccess, what);
  for (int first = 0; first < 64; first += lanes) {
    T sum = 0;
    T most = 0;
    for (int i = first; i < first + lanes; ++i) {
      sum += in.data[i];
      most = std::max(most, in.data[i]);
      expect(scans.data[i] == sum, what);
    }
    expect(sums.data[first / lanes] == sum && largest.data[first / lanes] == most, what);
  }
}

__global__ void use_twice(int* out) {
  using Sum = cub::BlockReduce<int, 128>;
  __shared__ typename Sum::TempStorage storage;
  const int first = Sum(storage).Sum(1);   // <- race
  const int second = Sum(storage).Sum(2);  // <- race
  if (threadIdx.x == 0) *out = first + second;
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {
    Array<int> out(1);
    use_twice<<<1, 128>>>(out.data);
    cudaDeviceSynchronize();
    return 0;
  }
  check_device(1000);
  check_device(30'000);
  check_blocks();
  check_warps<int, 32>("warps of int");
  check_warps<unsigned, 16>("half warps of unsigned");
  check_warps<float, 32>("warps of float");
  check_warps<double, 8>("eight lanes of double");
  check_warps<long long, 32>("warps of long long");
  check_warps<unsigned long long, 4>("four lanes of unsigned long long");
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
