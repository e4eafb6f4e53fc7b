#include "common/emulator/runtime/faults.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/runtime/state.hpp"

namespace warpbook::emulator {
namespace {

struct Faults {
  std::atomic<long> allocations_left{0};  // Until the one that fails; 0: none does.
  std::atomic<long> launches_left{0};
  std::atomic<bool> lost{false};

  bool set(const std::string& what) {
    allocations_left = 0;
    launches_left = 0;
    if (lost.exchange(false)) clear_errors();
    if (what.empty()) return true;
    const std::size_t colon = what.find(':');
    if (colon == std::string::npos) return false;
    char* end = nullptr;
    const long number = std::strtol(what.c_str() + colon + 1, &end, 10);
    if (*end != '\0' || number < 1) return false;
    const std::string kind = what.substr(0, colon);
    if (kind == "malloc")
      allocations_left = number;
    else if (kind == "launch")
      launches_left = number;
    else
      return false;
    return true;
  }
};

Faults& faults() {
  static auto& instance = *[] {
    auto* made = new Faults;  // NOLINT(cppcoreguidelines-owning-memory): programs allocate and launch while they end.
    const char* text = std::getenv("WARPBOOK_FAULT");
    if (text != nullptr && !made->set(text)) {
      std::fprintf(stderr, "WARPBOOK_FAULT: \"%s\" is neither malloc:N nor launch:N\n", text);
      std::exit(2);
    }
    return made;
  }();
  return instance;
}

/// True at the end of a count.
bool count_down(std::atomic<long>& left) {
  if (left <= 0) return false;
  return --left == 0;
}

}  // namespace

bool allocation_fails() { return count_down(faults().allocations_left); }

bool launch_loses_device() {
  if (!count_down(faults().launches_left)) return false;
  faults().lost = true;
  return true;
}

bool device_is_lost() { return faults().lost; }

bool set_fault(const std::string& what) { return faults().set(what); }

}  // namespace warpbook::emulator
