#include "common/harness/chapter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "common/harness/counter_names.hpp"

namespace warpbook {
namespace {

std::string hexadecimal(const std::byte* element, int bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (int i = bytes - 1; i >= 0; --i) {  // Little-endian: the last byte is the highest.
    text += kDigits[std::to_integer<unsigned>(element[i]) >> 4U];
    text += kDigits[std::to_integer<unsigned>(element[i]) & 15U];
  }
  return text;
}

/// Where `passes(want, got)` is false. A stretch of elements of which `all_pass(want, got, elements)` is not looked at.
template <class AllPass, class Passes, class Print>
Difference find_differences(std::span<const std::byte> expected, std::span<const std::byte> actual, std::size_t width,
                            const AllPass& all_pass, const Passes& passes, const Print& print) {
  std::atomic<std::int64_t> count = 0;
  std::atomic<std::int64_t> first = std::numeric_limits<std::int64_t>::max();
  parallel_for(static_cast<std::int64_t>(expected.size() / width), [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kStretch = 4096;
    std::int64_t found = 0;
    std::int64_t found_first = 0;
    for (std::int64_t i = begin; i < end; i += kStretch) {
      const std::int64_t elements = std::min(kStretch, end - i);
      const auto* want = expected.data() + static_cast<std::size_t>(i) * width;
      const auto* got = actual.data() + static_cast<std::size_t>(i) * width;
      if (all_pass(want, got, elements)) continue;
      for (std::int64_t k = 0; k < elements; ++k, want += width, got += width) {
        if (!passes(want, got) && found++ == 0) found_first = i + k;
      }
    }
    if (found == 0) return;
    count += found;
    std::int64_t known = first.load();
    while (found_first < known && !first.compare_exchange_weak(known, found_first)) {
    }
  });

  Difference result;
  result.count = count;
  if (result.count == 0) return result;
  result.first = first;
  const std::size_t offset = static_cast<std::size_t>(result.first) * width;
  result.expected = print(expected.data() + offset);
  result.actual = print(actual.data() + offset);
  return result;
}

}  // namespace

const char* kind_name(StepKind kind) {
  switch (kind) {
  case StepKind::aside:
    return "aside";
  case StepKind::library:
    return "library";
  case StepKind::yardstick:
    return "yardstick";
  default:
    return "step";
  }
}

const Step* find_step(const Chapter& chapter, const std::string& version) {
  const auto found = std::find_if(chapter.steps.begin(), chapter.steps.end(),
                                  [&](const Step& step) { return step.version == version; });
  return found == chapter.steps.end() ? nullptr : &*found;
}

std::vector<std::string> defects(const Chapter& chapter) {
  std::vector<std::string> found;
  for (const Step& step : chapter.steps) {
    const Step* const base = find_step(chapter, step.base);
    if (!step.base.empty() && (base == nullptr || base >= &step)) {
      found.push_back(step.version + ": its base " + step.base + " does not stand before it");
    }
    for (const std::string& name : step.counters) {
      if (find_counter(name) == nullptr) found.push_back(step.version + ": there is no counter " + name);
    }
  }
  const auto headlines =
      std::count_if(chapter.cases.begin(), chapter.cases.end(), [](const CaseSpec& spec) { return spec.headline; });
  if (headlines < 1 || headlines > 3) found.push_back(std::to_string(headlines) + " headline cases");
  for (const CaseSpec& spec : chapter.cases) {
    for (const std::string& parameters : {spec.parameters, spec.emulated.empty() ? spec.parameters : spec.emulated}) {
      try {
        const auto problem = chapter.make_case(Parameters::parse(parameters));
        const bool stands_in = spec.headline && (spec.emulated.empty() || parameters == spec.emulated);
        if (stands_in && problem->bytes_moved() > kEmulatorCaseBytes) {
          found.push_back(parameters + ": too large for the emulator, which runs it in a headline case's place");
        }
      } catch (const BadInput& error) {
        found.push_back(parameters + ": " + error.what());
      }
    }
  }
  return found;
}

Difference compare_bits(std::span<const std::byte> expected, std::span<const std::byte> actual, int element_bytes,
                        const std::function<std::string(const std::byte*)>& print) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const auto equal = [](const std::byte* want, const std::byte* got, std::size_t bytes) {
    return std::memcmp(want, got, bytes) == 0;
  };
  const auto text = [&](const std::byte* element) {
    return print ? print(element) : hexadecimal(element, element_bytes);
  };
  return find_differences(
      expected, actual, width,
      [&](const std::byte* want, const std::byte* got, std::int64_t elements) {
        return equal(want, got, static_cast<std::size_t>(elements) * width);
      },
      [&](const std::byte* want, const std::byte* got) { return equal(want, got, width); }, text);
}

Difference compare_elements(std::span<const std::byte> expected, std::span<const std::byte> actual, int element_bytes,
                            const std::function<bool(const std::byte*, const std::byte*)>& passes,
                            const std::function<std::string(const std::byte*)>& print) {
  const auto none_passes_unseen = [](const std::byte*, const std::byte*, std::int64_t) { return false; };
  return find_differences(expected, actual, static_cast<std::size_t>(element_bytes), none_passes_unseen, passes, print);
}

Difference Case::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  return compare_bits(expected, actual, output().element_bytes);
}

std::string Case::coordinate(std::int64_t element) const { return fmt::format("[{}]", element); }

std::vector<std::int64_t> index_in(std::span<const std::int64_t> sizes, std::int64_t element) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0;) {
    index[d] = element % sizes[d];
    element /= sizes[d];
  }
  return index;
}

std::string coordinate_text(std::span<const std::int64_t> index) { return fmt::format("[{}]", fmt::join(index, ", ")); }

std::vector<CaseSpec> expanded(const std::vector<CaseSpec>& specs) {
  std::vector<CaseSpec> result;
  for (const CaseSpec& spec : specs) {
    const std::string& text = spec.parameters;
    const std::size_t open = text.find('{');
    if (open == std::string::npos) {
      result.push_back(spec);
      continue;
    }
    const std::size_t close = text.find('}', open);
    for (std::size_t begin = open + 1; begin <= close;) {
      const std::size_t end = std::min(text.find('|', begin), close);
      CaseSpec one = spec;
      one.parameters = text.substr(0, open) + text.substr(begin, end - begin) + text.substr(close + 1);
      for (CaseSpec& more : expanded({one})) result.push_back(std::move(more));
      begin = end + 1;
    }
  }
  return result;
}

}  // namespace warpbook
