#include "common/harness/diagnose.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>

#include "common/harness/format.hpp"

namespace warpbook {
namespace {

/// Counts over the elements whose bits differ from the reference's.
struct Tally {
  std::int64_t differing = 0;
  std::int64_t unwritten = 0;  // They hold what they held before the launch.
  std::int64_t zero = 0;       // Written, and zero.
  std::int64_t first_unwritten = std::numeric_limits<std::int64_t>::max();
  std::int64_t first_written = std::numeric_limits<std::int64_t>::max();  // Written, and wrong.

  void add(const Tally& other) {
    differing += other.differing;
    unwritten += other.unwritten;
    zero += other.zero;
    first_unwritten = std::min(first_unwritten, other.first_unwritten);
    first_written = std::min(first_written, other.first_written);
  }
};

bool is_complement(const std::byte* a, const std::byte* b, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (a[i] != ~b[i]) return false;
  }
  return true;
}

bool is_zero(const std::byte* a, std::size_t bytes) {
  return std::all_of(a, a + bytes, [](std::byte b) { return b == std::byte{0}; });
}

Tally tally(const Evidence& e) {
  const auto width = static_cast<std::size_t>(e.problem.output().element_bytes);
  const std::int64_t elements = e.problem.output().elements;
  Tally total;
  std::mutex mutex;
  parallel_for(elements, [&](std::int64_t begin, std::int64_t end) {
    Tally part;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t offset = static_cast<std::size_t>(i) * width;
      const std::byte* const got = e.actual.data() + offset;
      const std::byte* const want = e.expected.data() + offset;
      if (std::memcmp(got, want, width) == 0) continue;
      ++part.differing;
      const bool unwritten =
          e.initial.empty() ? is_complement(got, want, width) : std::memcmp(got, e.initial.data() + offset, width) == 0;
      if (unwritten) {
        ++part.unwritten;
        part.first_unwritten = std::min(part.first_unwritten, i);
      } else {
        part.first_written = std::min(part.first_written, i);
        if (is_zero(got, width)) ++part.zero;
      }
    }
    const std::lock_guard lock(mutex);
    total.add(part);
  });
  return total;
}

bool mentions_nan(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("nan") != std::string::npos;
}

void append(std::string& text, const std::string& cause) {
  if (cause.empty()) return;
  if (!text.empty()) text += "; ";
  text += cause;
}

}  // namespace

std::string diagnose(const Evidence& e) {
  const BufferLayout output = e.problem.output();
  const Tally t = tally(e);
  std::string text;

  if (t.unwritten > 0 && t.unwritten == t.differing && (t.unwritten == output.elements || !e.initial.empty())) {
    append(text, e.initial.empty() ? "nothing was written: was the kernel launched?"
                                   : "the wrong elements are as they were before: was the kernel launched?");
  } else if (t.unwritten > 0 && t.first_unwritten + t.unwritten == output.elements) {
    append(text, t.unwritten == 1
                     ? "the last element was never written: a dropped tail?"
                     : "the last " + format_count(t.unwritten) + " elements were never written: a dropped tail?");
  } else if (t.unwritten > 0) {
    append(text, format_quantity(t.unwritten, "element") + (t.unwritten == 1 ? " was" : " were") +
                     " never written, the first at " + e.problem.coordinate(t.first_unwritten));
  }

  const std::int64_t written_wrong = t.differing - t.unwritten;
  if (written_wrong == 0) return text;
  if (mentions_nan(e.difference.actual)) {
    append(text, "NaN was written");
  } else if (t.zero == written_wrong) {
    append(text, "zeros where values belong");
  } else if (!e.inputs.empty() && e.inputs[0].size() == e.actual.size() &&
             std::memcmp(e.inputs[0].data(), e.actual.data(), e.actual.size()) == 0) {
    append(text, "the output is the first input as it stands");
  } else if (const std::string cause = e.problem.likely_cause(e.inputs, e.expected, e.actual); !cause.empty()) {
    append(text, cause);
  } else if (t.first_written > 0 && t.unwritten == 0 && t.first_written + written_wrong == output.elements) {
    append(text, "only the tail is wrong, from " + e.problem.coordinate(t.first_written) + " on");
  }
  return text;
}

}  // namespace warpbook
