// fast_atomic_add: every alignment, the first and the last element, what lies beside and outside, and the loop that
// stands in below compute capability 7.0.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "chapters/chapter4_atomic_add/atomic_add.cuh"
#include "common/cuda/resources.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

enum class Way { fast, as_in_v4, with_plus_zero, by_swapping };

/// Adds value[i] to base[index[i]], a thread a value.
template <class T>
__global__ void add_kernel(T* base, const int* index, const T* value, int count, int length, Way way) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  if constexpr (sizeof(T) == 2) {
    if (way == Way::with_plus_zero) {  // What PyTorch does, for a place of even address.
      using Pair = typename detail::PairOf<T>::Type;
      Pair pair{};
      pair.x = value[i];
      pair.y = 0.0F;
      atomicAdd(reinterpret_cast<Pair*>(base + index[i]), pair);
      return;
    }
    if (way == Way::as_in_v4) {
      chapter4::v4::add_as_pair<T>(base, index[i], length, value[i]);
      return;
    }
    if (way == Way::by_swapping) {
      detail::add_by_compare_and_swap(base + index[i], value[i]);
      return;
    }
  }
  fast_atomic_add(base, index[i], length, value[i]);
}

template <class T> DeviceBuffer on_device(const std::vector<T>& values) {
  DeviceBuffer buffer(values.size() * sizeof(T));
  if (!values.empty()) {
    check(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice), "copying");
  }
  return buffer;
}

/// Runs the kernel on memory[offset] to memory[offset + length - 1]; returns all of memory afterwards.
template <class T>
std::vector<T> add(const std::vector<T>& memory, int offset, int length, const std::vector<int>& index,
                   const std::vector<T>& value, Way way = Way::fast) {
  const DeviceBuffer at = on_device(memory);
  const DeviceBuffer indices = on_device(index);
  const DeviceBuffer values = on_device(value);
  const auto count = static_cast<int>(index.size());
  check(launch(add_kernel<T>, {.grid = count / 128 + 1, .block = 128}, reinterpret_cast<T*>(at.data()) + offset,
               reinterpret_cast<const int*>(indices.data()), reinterpret_cast<const T*>(values.data()), count, length,
               way),
        "launching");
  check(cudaDeviceSynchronize(), "adding");
  std::vector<T> result(memory.size());
  check(cudaMemcpy(result.data(), at.data(), at.bytes(), cudaMemcpyDeviceToHost), "copying");
  return result;
}

template <class T> std::uint16_t bits_of(T x) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, &x, 2);
  return bits;
}

template <class T> T from_bits(unsigned bits) {
  const auto narrow = static_cast<std::uint16_t>(bits);
  return reinterpret_cast<const T&>(narrow);
}

template <class T> T value_of(float x) {
  if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(x);
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return static_cast<T>(x);
  }
}

template <class T> double number(T x) {
  if constexpr (std::is_same_v<T, __half>) {
    return static_cast<double>(__half2float(x));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<double>(__bfloat162float(x));
  } else {
    return static_cast<double>(x);
  }
}

/// Patterns that an addition of nothing must leave alone: zeros of both signs, denormals, the ends, infinities.
template <class T> std::vector<unsigned> delicate_bits() {
  const unsigned infinity = std::is_same_v<T, __half> ? 0x7c00 : 0x7f80;
  return {0x0000,   0x8000,           0x0001, 0x8001, 0x0080, 0x8080, infinity - 1, 0x8000 | (infinity - 1),
          infinity, 0x8000 | infinity};
}

template <class T> unsigned nan_bits() { return std::is_same_v<T, __half> ? 0x7e01 : 0x7fc1; }

}  // namespace

TEMPLATE_TEST_CASE("fast_atomic_add adds to every element at every alignment, and to no other", "", __half,
                   __nv_bfloat16, float, double, int, unsigned, std::int64_t, std::uint64_t) {
  for (const Way way : {Way::fast, Way::as_in_v4, Way::by_swapping}) {
    for (int offset = 0; offset < 4; ++offset) {
      for (int length = 1; length <= 5; ++length) {
        for (int place = 0; place < length; ++place) {
          // The loop replaces whole words: it may touch what lies beside, which then has to be memory.
          std::vector<TestType> memory(12);
          for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = value_of<TestType>(static_cast<float>(i + 1));
          const auto after = add(memory, offset, length, {place}, {value_of<TestType>(3)}, way);
          for (std::size_t i = 0; i < memory.size(); ++i) {
            INFO("offset " << offset << ", length " << length << ", place " << place << ", element " << i);
            const bool hit = static_cast<int>(i) == offset + place;
            CHECK(number(after[i]) == number(memory[i]) + (hit ? 3 : 0));
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("fast_atomic_add leaves a neighbour's bits alone", "", __half, __nv_bfloat16) {
  for (const Way way : {Way::fast, Way::as_in_v4}) {
    for (const unsigned bits : delicate_bits<TestType>()) {
      // Both halves of a word, both neighbours.
      for (int place = 0; place < 4; ++place) {
        INFO("bits " << bits << ", place " << place);
        std::vector<TestType> memory(4, from_bits<TestType>(bits));
        memory[static_cast<std::size_t>(place)] = value_of<TestType>(2);
        const auto after = add(memory, 0, 4, {place}, {value_of<TestType>(1)}, way);
        for (int i = 0; i < 4; ++i) {
          const auto at = static_cast<std::size_t>(i);
          CHECK(bits_of(after[at]) == (i == place ? bits_of(value_of<TestType>(3)) : bits));
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("fast_atomic_add adds nothing outside the array, not even nothing", "", __half, __nv_bfloat16) {
  for (const Way way : {Way::fast, Way::as_in_v4}) {
    // Adding -0.0 changes no number, but it makes a signalling NaN quiet: so it would show.
    const unsigned signalling = std::is_same_v<TestType, __half> ? 0x7d01 : 0x7f81;
    for (int offset = 1; offset < 4; ++offset) {
      for (int length = 1; length <= 4; ++length) {
        for (int place = 0; place < length; ++place) {
          INFO("offset " << offset << ", length " << length << ", place " << place);
          std::vector<TestType> memory(12, from_bits<TestType>(signalling));
          for (int i = 0; i < length; ++i) memory[static_cast<std::size_t>(offset + i)] = value_of<TestType>(2);
          const auto after = add(memory, offset, length, {place}, {value_of<TestType>(1)}, way);
          for (int i = 0; i < 12; ++i) {
            const bool inside = i >= offset && i < offset + length;
            const auto at = static_cast<std::size_t>(i);
            CHECK(bits_of(after[at]) ==
                  (inside ? bits_of(value_of<TestType>(i == offset + place ? 3 : 2)) : signalling));
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("fast_atomic_add: a neighbour that is NaN stays NaN", "", __half, __nv_bfloat16) {
  for (const Way way : {Way::fast, Way::as_in_v4}) {
    for (int place = 0; place < 4; ++place) {
      std::vector<TestType> memory(4, from_bits<TestType>(nan_bits<TestType>()));
      memory[static_cast<std::size_t>(place)] = value_of<TestType>(2);
      const auto after = add(memory, 0, 4, {place}, {value_of<TestType>(1)}, way);
      for (int i = 0; i < 4; ++i) {
        const double x = number(after[static_cast<std::size_t>(i)]);
        CHECK((i == place ? x == 3 : std::isnan(x)));
      }
    }
  }
}

TEMPLATE_TEST_CASE("+0.0 in the other half changes the sign of a zero", "", __half, __nv_bfloat16) {
  // Why -0.0 is added: this is what the published form does.
  const std::vector<TestType> memory = {value_of<TestType>(2), from_bits<TestType>(0x8000)};
  const auto after = add(memory, 0, 2, {0}, {value_of<TestType>(1)}, Way::with_plus_zero);
  CHECK(number(after[0]) == 3);
  CHECK(bits_of(after[1]) == 0x0000);
}

TEMPLATE_TEST_CASE("fast_atomic_add carries NaN, infinities and signed zeros to their place", "", __half,
                   __nv_bfloat16) {
  const TestType infinity = value_of<TestType>(std::numeric_limits<float>::infinity());
  const TestType nan = from_bits<TestType>(nan_bits<TestType>());
  const TestType minus_zero = from_bits<TestType>(0x8000);
  const std::vector<TestType> memory(4, minus_zero);
  const auto after = add(memory, 0, 4, {0, 1, 2, 3}, {infinity, nan, minus_zero, value_of<TestType>(0)});
  CHECK(std::isinf(number(after[0])));
  CHECK(std::isnan(number(after[1])));
  CHECK(bits_of(after[2]) == 0x8000);
  CHECK(bits_of(after[3]) == 0x0000);  // -0.0 + +0.0.
}

TEMPLATE_TEST_CASE("fast_atomic_add loses nothing where many meet", "", __half, __nv_bfloat16, float) {
  // 200 ones a place, in units that bfloat16 holds; neighbours share words, so every addition meets others.
  constexpr int kPlaces = 7;
  constexpr int kEach = 200;
  std::vector<int> index;
  for (int i = 0; i < kPlaces * kEach; ++i) index.push_back(i % kPlaces);
  const std::vector<TestType> value(index.size(), value_of<TestType>(1));
  for (const Way way : {Way::fast, Way::as_in_v4, Way::by_swapping}) {
    for (int offset = 0; offset < 2; ++offset) {
      const std::vector<TestType> memory(kPlaces + 3, value_of<TestType>(0));
      const auto after = add(memory, offset, kPlaces, index, value, way);
      for (int p = 0; p < kPlaces; ++p) CHECK(number(after[static_cast<std::size_t>(offset + p)]) == kEach);
    }
  }
}

}  // namespace warpbook
