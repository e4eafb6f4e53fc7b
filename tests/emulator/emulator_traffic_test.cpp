// How the traffic of traced blocks comes to the slices of the memory system: in the blocks' order, whoever brings it.
#include "common/emulator/observation/traffic.cpp"  // the library exports nothing of it

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

namespace warpbook::emulator {
namespace {

constexpr std::uint64_t kMuch = 1'000'000;

/// Blocks that each ask every slice for one line, with the block's number in it.
std::unique_ptr<BlockTraffic> piece(std::uint64_t first, std::uint64_t blocks) {
  auto result = std::make_unique<BlockTraffic>();
  for (std::uint64_t block = first; block < first + blocks; ++block) {
    REQUIRE(result->is_followed_by({block, block, true}));
    for (std::uint64_t low = 0; low < kSlices; ++low) result->add({block * kSlices + low, 1, 0, 0, 0});
    result->end_block({block, block, true});
  }
  return result;
}

/// The numbers of the blocks that a slice comes to now.
std::vector<std::uint64_t> read(TrafficQueue& queue, unsigned slice) {
  std::vector<std::uint64_t> numbers;
  TrafficQueue::Pieces pieces;
  while (const std::size_t count = queue.take(slice, pieces)) {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t next = 0;
      for (std::size_t block = 0; block < pieces[i]->blocks(); ++block)
        for (; next < pieces[i]->end(slice, block); ++next) {
          const auto number = static_cast<std::uint64_t>(pieces[i]->accesses(slice)[next].line) / kSlices;
          CHECK(number == pieces[i]->first().number + block);
          numbers.push_back(number);
        }
    }
    queue.done(slice, count);
  }
  return numbers;
}

std::vector<std::uint64_t> counted(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> numbers;
  for (; first < last; ++first) numbers.push_back(first);
  return numbers;
}

TEST_CASE("pieces come in the blocks' order") {
  TrafficQueue queue;
  queue.begin();
  auto late = piece(0, 2);
  auto middle = piece(2, 3);
  auto early = piece(5, 1);
  CHECK(queue.put(early, kMuch) == 0);
  CHECK(early->blocks() == 0);  // an empty one instead
  CHECK(read(queue, 3).empty());
  queue.put(late, kMuch);
  CHECK(read(queue, 3) == counted(0, 2));
  queue.put(middle, kMuch);
  CHECK(read(queue, 3) == counted(2, 6));
  CHECK(read(queue, 4) == counted(0, 6));
  CHECK(read(queue, 3).empty());
}

TEST_CASE("a slice is in one worker's hands at a time") {
  TrafficQueue queue;
  queue.begin();
  auto some = piece(0, 1);
  queue.put(some, kMuch);
  TrafficQueue::Pieces pieces;
  REQUIRE(queue.take(0, pieces) == 1);
  CHECK(read(queue, 0).empty());
  CHECK(read(queue, 1) == counted(0, 1));
  queue.done(0, 1);
  CHECK(read(queue, 0).empty());
}

TEST_CASE("who puts something is told which slices have fallen behind") {
  TrafficQueue queue;
  queue.begin();
  auto first = piece(0, 4);
  CHECK(queue.put(first, 4 * kSlices) == 0);
  read(queue, 2);
  auto second = piece(4, 4);
  CHECK(queue.put(second, 4 * kSlices) == (0xffffU & ~4U));
  read(queue, 2);
  auto third = piece(8, 4);
  CHECK(queue.put(third, 4 * kSlices - 1) == 0xffffU);
}

TEST_CASE("what stands behind a block that never ended is read in the end") {
  TrafficQueue queue;
  queue.begin();
  auto behind = piece(7, 2);
  auto before = piece(0, 3);
  queue.put(behind, kMuch);
  queue.put(before, kMuch);
  CHECK(read(queue, 0) == counted(0, 3));
  queue.close();
  CHECK(read(queue, 0) == counted(7, 9));
}

TEST_CASE("a piece holds blocks that follow each other and count alike") {
  BlockTraffic traffic;
  traffic.end_block({3, 30, true});
  CHECK(traffic.is_followed_by({4, 31, true}));
  CHECK_FALSE(traffic.is_followed_by({5, 31, true}));
  CHECK_FALSE(traffic.is_followed_by({4, 40, true}));
  CHECK_FALSE(traffic.is_followed_by({4, 31, false}));
  CHECK_FALSE(traffic.is_full());
  for (std::uint64_t block = 4; block < 3 + BlockTraffic::kMostBlocks; ++block) traffic.end_block({block, block, true});
  CHECK(traffic.is_full());
  traffic.clear();
  CHECK(traffic.is_followed_by({90, 90, false}));
}

TEST_CASE("workers that put and read at the same time lose nothing") {
  constexpr std::uint64_t kBlocks = 3000;
  TrafficQueue queue;
  queue.begin();
  std::atomic<std::uint64_t> next{0};
  std::array<std::vector<std::uint64_t>, kSlices> seen;
  const auto take_part = [&](unsigned worker) {
    std::mt19937 random(worker);
    const auto look = [&](unsigned slice) {  // as the memory system does
      TrafficQueue::Pieces pieces;
      while (const std::size_t count = queue.take(slice, pieces)) {
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t block = 0; block < pieces[i]->blocks(); ++block)
            seen[slice].push_back(pieces[i]->first().number + block);
        queue.done(slice, count);
      }
    };
    for (;;) {
      const std::uint64_t count = 1 + random() % 5;
      const std::uint64_t first = next.fetch_add(count);
      if (first >= kBlocks) break;
      auto mine = std::make_unique<BlockTraffic>();
      for (std::uint64_t block = first; block < std::min(kBlocks, first + count); ++block)
        mine->end_block({block, block, true});
      queue.put(mine, kMuch);
      look(static_cast<unsigned>(random() % kSlices));
    }
    for (unsigned slice = 0; slice < kSlices; ++slice) look(slice);
  };
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < 4; ++worker) threads.emplace_back(take_part, worker);
  for (std::thread& thread : threads) thread.join();
  for (const auto& slice : seen) CHECK(slice == counted(0, kBlocks));
}

}  // namespace
}  // namespace warpbook::emulator
