/// \file
/// What goes wrong with a device, on demand: each allocation of a run finds no memory, the device is lost at each of
/// its launches. Every time the run has to end by itself, with its status and a line that says why, with whole files
/// and nothing left allocated.

#include <cstdlib>
#include <new>
#include <utility>

#include "common/cuda/error.hpp"
#include "tests/catch.hpp"
#include "tests/copying.cuh"
#include "warpbook_emulator.h"

namespace {

/// Allocations of the host from this size on are counted; smaller ones are the libraries' own.
constexpr std::size_t kLargeBytes = 4000;
long large_allocations_left = 0;  // Until the one that fails; 0: none does.

}  // namespace

void* operator new(std::size_t bytes) {
  if (bytes >= kLargeBytes && large_allocations_left > 0 && --large_allocations_left == 0) throw std::bad_alloc();
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace warpbook {
namespace {

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&free, &all), "asking for free memory");
  return free;
}

bool mentions_memory(const Outcome& r) {
  const std::string text = r.out + r.error;
  return text.find("out of memory") != std::string::npos || text.find("too little memory") != std::string::npos ||
         text.find("too little host memory") != std::string::npos;
}

/// A run's files are whole, or not there.
void check_files(const TemporaryFolder& folder) {
  const std::vector<std::string> names = folder.names();
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK((name == "a.json" || name == "a.csv"));
    if (name == "a.json") CHECK(read_json(folder.file(name))["chapter"] == 9);
  }
}

/// Of a run of all steps, the yardstick among them.
std::vector<std::string> options(const TemporaryFolder& folder) {
  return {"--all-steps", "--json", folder.file("a.json"), "--csv", folder.file("a.csv")};
}

constexpr int kMost = 400;  // More allocations and launches than a run makes.

}  // namespace

TEST_CASE("each allocation of the device may fail") {
  static_cast<void>(run(make_chapter(), {"--quick"}));  // What is made once and kept is made now.
  const std::size_t free = free_bytes();
  int failed = 0;
  for (int k = 1; k <= kMost; ++k) {
    const TemporaryFolder folder;
    REQUIRE(emulator::set_fault("malloc:" + std::to_string(k)));
    const Outcome r = run(make_chapter(), options(folder));
    REQUIRE(emulator::set_fault(""));
    CAPTURE(k, r.out, r.error);
    check_files(folder);
    CHECK(free_bytes() == free);
    if (r.status == 0) break;
    ++failed;
    CHECK(r.status == 3);
    CHECK(mentions_memory(r));
  }
  INFO("allocations that failed: " << failed);
  CHECK(failed >= 20);
  CHECK(failed < kMost);
}

TEST_CASE("each large allocation of the host may fail") {
  const std::size_t free = free_bytes();
  int failed = 0;
  for (int k = 1; k <= kMost; ++k) {
    const TemporaryFolder folder;
    large_allocations_left = k;
    const Outcome r = run(make_chapter(), options(folder));
    const bool reached = large_allocations_left == 0;
    large_allocations_left = 0;
    CAPTURE(k, r.out, r.error);
    check_files(folder);
    CHECK(free_bytes() == free);
    if (!reached) break;
    ++failed;
    if (r.status == 0) continue;  // It was for something that can be done without.
    CHECK(r.status == 3);
    CHECK(mentions_memory(r));
  }
  CHECK(failed >= 5);
  CHECK(failed < kMost);
}

TEST_CASE("the device may be lost at each launch") {
  Chapter chapter = make_chapter();
  std::swap(chapter.cases[1],
            chapter.cases[2]);  // The empty case goes last: steps are left after the last launch, too.
  int lost = 0;
  for (int k = 1; k <= kMost; ++k) {
    const TemporaryFolder folder;
    REQUIRE(emulator::set_fault("launch:" + std::to_string(k)));
    const Outcome r = run(chapter, options(folder));
    REQUIRE(emulator::set_fault(""));
    static_cast<void>(cudaDeviceReset());
    CAPTURE(k, r.out, r.error);
    check_files(folder);
    if (r.status == 0) break;
    ++lost;
    CHECK(r.status == 1);
    const nlohmann::json json = read_json(folder.file("a.json"));
    int failed = 0;
    for (const auto& c : json["cases"]) {
      for (const auto& s : c["steps"]) {
        if (s["status"] != "fail") continue;
        ++failed;
        CHECK(s["reason"].get<std::string>().find("cudaErrorDevicesUnavailable") != std::string::npos);
      }
    }
    CHECK(failed == 1);  // The step that ran; the others are skipped, and say why.
    CHECK(r.out.find("the device did not come back") != std::string::npos);
  }
  CHECK(lost >= 5);
  CHECK(lost < kMost);
}

TEST_CASE("what can go wrong is named in so many words") {
  CHECK(emulator::set_fault("malloc:1"));
  CHECK(emulator::set_fault("launch:12"));
  for (const char* wrong : {"malloc", "malloc:", "malloc:0", "malloc:-1", "malloc:1x", "launch:x", "disk:1", ":"}) {
    CAPTURE(wrong);
    CHECK_FALSE(emulator::set_fault(wrong));
  }
  CHECK(emulator::set_fault(""));
}

}  // namespace warpbook
