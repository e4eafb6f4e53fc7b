// The radix sort of pairs that chapter 5 uses: order, stability, the inputs left alone, and the workspace's size.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "common/cuda/resources.hpp"
#include "tests/catch.hpp"

namespace warpbook {
namespace {

using Numbers = std::vector<std::uint32_t>;

DeviceBuffer on_device(const Numbers& numbers) {
  DeviceBuffer buffer(std::max<std::size_t>(numbers.size(), 1) * 4);
  check(cudaMemcpy(buffer.data(), numbers.data(), numbers.size() * 4, cudaMemcpyHostToDevice), "copying");
  return buffer;
}

Numbers on_host(const DeviceBuffer& buffer, std::size_t count) {
  Numbers numbers(count);
  check(cudaMemcpy(numbers.data(), buffer.data(), count * 4, cudaMemcpyDeviceToHost), "copying");
  return numbers;
}

std::uint32_t* as_numbers(const DeviceBuffer& buffer) { return reinterpret_cast<std::uint32_t*>(buffer.data()); }

/// Sorts keys with their places as values, and compares with the host's stable sort.
void check_sort(const Numbers& keys, int bits) {
  INFO(keys.size() << " keys, " << bits << " bits");
  const auto n = static_cast<int>(keys.size());
  const std::uint32_t mask = bits == 32 ? 0xffffffffU : (1U << bits) - 1;
  Numbers places(keys.size());
  std::iota(places.begin(), places.end(), 0U);
  Numbers expected = places;
  std::sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(keys[a] & mask, a) < std::pair(keys[b] & mask, b);
  });

  const DeviceBuffer from = on_device(keys);
  const DeviceBuffer from_places = on_device(places);
  const DeviceBuffer to = on_device(Numbers(keys.size(), 0xa5a5a5a5U));
  const DeviceBuffer to_places = on_device(Numbers(keys.size(), 0xa5a5a5a5U));
  std::size_t bytes = 0;
  const auto sort = [&](void* workspace) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, as_numbers(from), as_numbers(to), as_numbers(from_places),
                                           as_numbers(to_places), n, 0, bits);
  };
  REQUIRE(sort(nullptr) == cudaSuccess);
  const DeviceBuffer workspace(std::max<std::size_t>(bytes, 1));
  REQUIRE(sort(workspace.data()) == cudaSuccess);
  check(cudaDeviceSynchronize(), "sorting");

  const Numbers sorted_places = on_host(to_places, keys.size());
  const Numbers sorted = on_host(to, keys.size());
  CHECK(sorted_places == expected);
  bool with_their_keys = true;
  for (std::size_t i = 0; i < keys.size(); ++i) with_their_keys = with_their_keys && sorted[i] == keys[expected[i]];
  CHECK(with_their_keys);
  CHECK(on_host(from, keys.size()) == keys);
  CHECK(on_host(from_places, keys.size()) == places);
}

}  // namespace

TEST_CASE("pairs are sorted by their keys, equal keys keep their order") {
  std::mt19937 engine(7);
  for (const std::size_t n : {0, 1, 2, 31, 1025, 4864, 4865, 8833, 20000}) {
    for (const int bits : {1, 4, 8, 9, 16, 17, 24, 32}) {
      Numbers keys(n);
      for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(engine()) >> (engine() % 4 * 8);
      check_sort(keys, bits);
    }
  }
  check_sort(Numbers(3000, 5), 8);
}

}  // namespace warpbook
