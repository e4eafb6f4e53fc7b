#include "common/harness/chapter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

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
        static_cast<void>(chapter.make_case(Parameters::parse(parameters)));
      } catch (const BadInput& error) {
        found.push_back(parameters + ": " + error.what());
      }
    }
  }
  return found;
}

Difference compare_bits(std::span<const std::byte> expected, std::span<const std::byte> actual, int element_bytes,
                        const std::function<std::string(const std::byte*)>& print) {
  const std::int64_t elements = static_cast<std::int64_t>(expected.size()) / element_bytes;
  std::atomic<std::int64_t> count = 0;
  std::atomic<std::int64_t> first = std::numeric_limits<std::int64_t>::max();
  const auto width = static_cast<std::size_t>(element_bytes);

  parallel_for(elements, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kStride = 4096;  // Elements that are first compared as a whole.
    std::int64_t found = 0;
    std::int64_t found_first = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t i = begin; i < end; i += kStride) {
      const std::int64_t stop = std::min(i + kStride, end);
      const auto* const want = expected.data() + static_cast<std::size_t>(i) * width;
      const auto* const got = actual.data() + static_cast<std::size_t>(i) * width;
      if (std::memcmp(want, got, static_cast<std::size_t>(stop - i) * width) == 0) continue;
      for (std::int64_t k = 0; k < stop - i; ++k) {
        if (std::memcmp(want + static_cast<std::size_t>(k) * width, got + static_cast<std::size_t>(k) * width, width) ==
            0) {
          continue;
        }
        if (found++ == 0) found_first = i + k;
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
  const auto text = [&](const std::byte* element) {
    return print ? print(element) : hexadecimal(element, element_bytes);
  };
  result.expected = text(expected.data() + offset);
  result.actual = text(actual.data() + offset);
  return result;
}

Difference Case::compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const {
  return compare_bits(expected, actual, output().element_bytes);
}

}  // namespace warpbook
