#include "common/emulator/observation/source_location.hpp"

#include <algorithm>
#include <cstdint>
#include <execinfo.h>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "common/emulator/base/text.hpp"

// libbacktrace comes with gcc, its header in a place that only gcc looks into: these are the declarations used here.
extern "C" {
struct backtrace_state;
using backtrace_error_callback = void (*)(void* data, const char* message, int error);
using backtrace_full_callback = int (*)(void* data, std::uintptr_t pc, const char* file, int line,
                                        const char* function);
backtrace_state* backtrace_create_state(const char* file, int threaded, backtrace_error_callback error, void* data);
int backtrace_pcinfo(backtrace_state* state, std::uintptr_t pc, backtrace_full_callback callback,
                     backtrace_error_callback error, void* data);
}

namespace warpbook::emulator {
namespace {

/// A line of the emulator's headers, of NVIDIA's libraries, or of the system's, as those of std::vector: whoever calls
/// these is asked for.
bool is_of_library(std::string_view name) {
  return name.find("common/emulator/include/") != std::string_view::npos || name.starts_with("/usr/include/") ||
         name.starts_with("/usr/lib/") || name.find("/cccl/") != std::string_view::npos;
}

struct Lookup {
  std::string own;     ///< a line in such a header
  std::string result;  ///< the innermost line elsewhere
};

int take_frame(void* data, std::uintptr_t, const char* file, int line, const char*) {
  auto& lookup = *static_cast<Lookup*>(data);
  if (file == nullptr || line == 0) return 0;
  std::string_view name = file;
  // The library puts the compiler's directory before an absolute name, too.
  if (const auto absolute = name.rfind("//"); absolute != std::string_view::npos) name.remove_prefix(absolute + 1);
  const std::string normal = std::filesystem::path(name).lexically_normal().string();
  std::string& place = is_of_library(normal) ? lookup.own : lookup.result;
  if (!place.empty()) return 0;
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  place = formatted("{}:{}", normal.starts_with(here) ? normal.substr(here.size()) : normal, line);
  return &place == &lookup.result ? 1 : 0;
}

void ignore_error(void*, const char*, int) {}

}  // namespace

std::string source_location(const void* return_address) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static auto& known = *new std::unordered_map<const void*, std::string>;  // asked to the program's last instruction
  if (const auto found = known.find(return_address); found != known.end()) return found->second;
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  Lookup lookup;
  // An instruction that the optimiser made of several has no line of its own: that of the one before it is near.
  constexpr std::uintptr_t kFarthest = 64;  // bytes
  for (std::uintptr_t back = 1; state != nullptr && back <= kFarthest && lookup.result.empty(); ++back)
    backtrace_pcinfo(state, reinterpret_cast<std::uintptr_t>(return_address) - back, take_frame, ignore_error, &lookup);
  return known[return_address] = lookup.result.empty() ? lookup.own : lookup.result;
}

std::string calling_location(const void* pc) {
  const std::string inner = source_location(pc);
  if (!is_of_library(inner)) return inner;
  constexpr int kMost = 64;
  void* frames[kMost];
  const int count = ::backtrace(frames, kMost);
  const auto found = static_cast<int>(std::find(frames, frames + count, pc) - frames);
  for (int i = found == count ? 0 : found + 1; i < count; ++i)
    if (std::string outer = source_location(frames[i]);
        !outer.empty() && !is_of_library(outer) && outer.find("common/emulator/") == std::string::npos)
      return outer;
  return inner;
}

}  // namespace warpbook::emulator
