/// \file
/// Thrust's algorithms as learners use them, beside the standard library's. Prints what is wrong; the status is 1 then.
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  ++wrong;
}

template <class T>
void expect_same(const thrust::device_vector<T>& found, const std::vector<T>& right, const char* what) {
  const thrust::host_vector<T> host = found;
  expect(host.size() == right.size() && std::equal(right.begin(), right.end(), host.begin()), what);
}

struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct Square {
  __device__ long long operator()(int x) const { return static_cast<long long>(x) * x; }
};
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct AddFirst {
  __host__ __device__ void operator()(thrust::tuple<int&, const int&> pair) const {
    thrust::get<0>(pair) += thrust::get<1>(pair);
  }
};
struct Uniform {
  __host__ __device__ float operator()(unsigned i) const {
    thrust::default_random_engine engine(7);
    thrust::uniform_real_distribution<float> distribution(0.0F, 1.0F);
    engine.discard(i);
    return distribution(engine);
  }
};
struct Bin {
  int* bins;
  __device__ void operator()(int x) const { atomicAdd(&bins[x % 8], 1); }
};

__global__ void double_all(int* values, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < static_cast<unsigned>(n)) values[i] *= 2;
}

std::vector<int> numbers(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  unsigned state = 12345;
  for (int& value : values) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 12U) % 1000;
  return values;
}

void check_elements(int n) {
  const std::vector<int> host = numbers(n);
  thrust::device_vector<int> device(host.begin(), host.end());
  double_all<<<(n + 255) / 256, 256>>>(thrust::raw_pointer_cast(device.data()), n);
  expect(cudaDeviceSynchronize() == cudaSuccess, "kernel on a device_vector");
  std::vector<int> right = host;
  for (int& value : right) value *= 2;
  expect_same(device, right, "kernel on a device_vector");
  device[1] = 5;
  expect(device[1] == 5, "device_reference");

  thrust::device_vector<float> x(n, 2.0F);
  thrust::device_vector<float> y(n, 1.0F);
  thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), Saxpy{3.0F});
  expect_same(y, std::vector<float>(host.size(), 7.0F), "transform");
  thrust::fill(y.begin(), y.end(), 4.0F);
  expect_same(y, std::vector<float>(host.size(), 4.0F), "fill");
  thrust::sequence(device.begin(), device.end(), 3, 2);
  std::vector<int> steps(host.size());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = 3 + 2 * static_cast<int>(i);
  expect_same(device, steps, "sequence");

  thrust::device_vector<int> other(host.begin(), host.end());
  auto pairs = thrust::make_zip_iterator(thrust::make_tuple(device.begin(), other.begin()));
  thrust::for_each(pairs, pairs + n, AddFirst{});
  std::transform(steps.begin(), steps.end(), host.begin(), steps.begin(), std::plus<>{});
  expect_same(device, steps, "for_each over pairs");

  thrust::device_vector<int> map(n);
  thrust::sequence(map.rbegin(), map.rend());
  thrust::gather(map.begin(), map.end(), other.begin(), device.begin());
  expect_same(device, std::vector<int>(host.rbegin(), host.rend()), "gather");
  thrust::device_vector<int> bins(8, 0);
  thrust::for_each(other.begin(), other.end(), Bin{thrust::raw_pointer_cast(bins.data())});
  std::vector<int> right_bins(8);
  for (const int value : host) ++right_bins[static_cast<std::size_t>(value % 8)];
  expect_same(bins, right_bins, "for_each with atomics");

  thrust::device_vector<float> random(n);
  thrust::transform(thrust::counting_iterator<unsigned>(0), thrust::counting_iterator<unsigned>(n), random.begin(),
                    Uniform{});
  std::vector<float> right_random(host.size());
  for (std::size_t i = 0; i < host.size(); ++i) right_random[i] = Uniform{}(static_cast<unsigned>(i));
  expect_same(random, right_random, "transform of a counting_iterator");
}

void check_reductions(int n) {
  const std::vector<int> host = numbers(n);
  const thrust::device_vector<int> device(host.begin(), host.end());
  expect(thrust::reduce(device.begin(), device.end()) == std::accumulate(host.begin(), host.end(), 0), "reduce");
  long long squares = 0;
  for (const int value : host) squares += static_cast<long long>(value) * value;
  const auto iterator = thrust::make_transform_iterator(device.begin(), Square{});
  expect(thrust::reduce(iterator, iterator + n, 0LL) == squares, "reduce of a transform_iterator");
  expect(thrust::count_if(device.begin(), device.end(), IsOdd{}) ==
             std::count_if(host.begin(), host.end(), [](int value) { return value % 2 != 0; }),
         "count_if");
  expect(thrust::max_element(device.begin(), device.end()) - device.begin() ==
             std::max_element(host.begin(), host.end()) - host.begin(),
         "max_element");

  std::vector<int> right(host.size());
  thrust::device_vector<int> sums(n);
  thrust::inclusive_scan(device.begin(), device.end(), sums.begin());
  std::partial_sum(host.begin(), host.end(), right.begin());
  expect_same(sums, right, "inclusive_scan");
  int* raw = nullptr;
  cudaMalloc(&raw, host.size() * sizeof(int));
  thrust::copy(device.begin(), device.end(), thrust::device_pointer_cast(raw));
  thrust::exclusive_scan(thrust::device, raw, raw + n, raw, 10);
  right.insert(right.begin(), 0);
  right.pop_back();
  for (int& value : right) value += 10;
  expect_same(thrust::device_vector<int>(thrust::device_pointer_cast(raw), thrust::device_pointer_cast(raw) + n), right,
              "exclusive_scan of a raw pointer");
  cudaFree(raw);
}

void check_orders(int n) {
  const std::vector<int> host = numbers(n);
  std::vector<int> sorted = host;
  std::sort(sorted.begin(), sorted.end());
  thrust::device_vector<int> keys(host.begin(), host.end());
  thrust::device_vector<int> values(n);
  thrust::sequence(values.begin(), values.end());
  thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
  expect_same(keys, sorted, "sort_by_key: keys");
  std::vector<int> order(host.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return host[static_cast<std::size_t>(a)] < host[static_cast<std::size_t>(b)]; });
  expect_same(values, order, "sort_by_key: values");

  thrust::device_vector<int> kinds(n);
  thrust::device_vector<int> counts(n);
  const auto ends =
      thrust::reduce_by_key(keys.begin(), keys.end(), thrust::make_constant_iterator(1), kinds.begin(), counts.begin());
  keys.erase(thrust::unique(keys.begin(), keys.end()), keys.end());
  std::vector<int> unique = sorted;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  expect_same(keys, unique, "unique");
  kinds.erase(ends.first, kinds.end());
  counts.erase(ends.second, counts.end());
  expect_same(kinds, unique, "reduce_by_key: keys");
  std::vector<int> right;
  for (const int key : unique) right.push_back(static_cast<int>(std::count(sorted.begin(), sorted.end(), key)));
  expect_same(counts, right, "reduce_by_key: values");

  // NVIDIA's merge looks behind a list's end.
  const auto by_digit = [] __host__ __device__(int a, int b) { return a % 10 < b % 10; };
  keys.assign(host.begin(), host.end());
  thrust::stable_sort(keys.begin(), keys.end(), by_digit);
  sorted = host;
  std::stable_sort(sorted.begin(), sorted.end(), by_digit);
  expect_same(keys, sorted, "stable_sort by a lambda");

  keys.assign(host.begin(), host.end());
  keys.erase(thrust::remove_if(keys.begin(), keys.end(), IsOdd{}), keys.end());
  right = host;
  right.erase(std::remove_if(right.begin(), right.end(), IsOdd{}), right.end());
  expect_same(keys, right, "remove_if");
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  thrust::replace(thrust::cuda::par.on(stream), keys.begin(), keys.end(), 2, 4);
  std::replace(right.begin(), right.end(), 2, 4);
  expect_same(keys, right, "replace on a stream");
  cudaStreamDestroy(stream);
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "beyond") == 0) {  // An index that goes beyond the vector.
    thrust::device_vector<int> from(100, 1);
    thrust::device_vector<int> to(100);
    thrust::transform(from.begin(), from.end() + 1, to.begin(), thrust::negate<int>());
    return 0;
  }
  if (count > 1) {  // Too many elements for the vector, or pointers that do not say where they lead.
    const std::vector<int> from(101, 1);
    thrust::device_vector<int> to(100);
    if (count > 2)
      thrust::copy(from.begin(), from.end(), to.begin());  // <- copy
    else
      thrust::sort(to.data().get(), to.data().get() + 100);  // <- sort
    return 0;
  }
  for (const int n : {37, 20'000}) {
    check_elements(n);
    check_reductions(n);
    check_orders(n);
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
