#include "common/emulator/observation/findings.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <tuple>

#include "common/emulator/base/text.hpp"
#include "common/emulator/base/whole_file.hpp"
#include "common/emulator/observation/json_texts.hpp"

namespace warpbook::emulator {
namespace {

/// Races of one kernel that are printed: a missing barrier makes one for each pair of lines.
constexpr std::uint64_t kMostRaces = 4;

/// What makes two findings the same: their kind and their lines; where these are not known, the instructions.
using Key = std::tuple<std::string_view, std::string, std::string, Sites>;

Key key_of(const Finding& finding) {
  const bool race = finding.kind == std::string_view{"warp_race"};  // or a race of the block, by what was seen first
  // What comes of a variable without a value may matter in many places: it is one mistake.
  const bool unset = finding.kind == std::string_view{"uninitialised_local"};
  const bool lines = !finding.place.empty() && (!finding.other_place.empty() || finding.sites.second == nullptr);
  return {race ? "race" : finding.kind, finding.place, unset ? std::string{} : finding.other_place,
          lines ? Sites{} : finding.sites};
}

/// All that was found. Leaked: programs read it while they end.
struct Findings {
  std::mutex mutex;
  std::vector<Finding> held;                   ///< of the running launch
  std::vector<std::string> published;          ///< for take_reports
  std::vector<Told> told;                      ///< of the whole program
  std::map<Key, std::size_t> by_site;          ///< of those that have sites
  std::map<std::string, std::uint64_t> races;  ///< by kernel
};

Findings& findings() {
  static Findings& all = *new Findings;  // NOLINT(cppcoreguidelines-owning-memory)
  return all;
}

/// A report's first two lines as one.
std::string headline(const std::string& text) {
  constexpr std::string_view kPrefix = "========= ";
  const std::size_t end = text.find('\n');
  const std::size_t second = text.find_first_not_of("= ", end + 1);
  if (end == std::string::npos || second == std::string::npos) return text;
  return text.substr(kPrefix.size(), end - kPrefix.size()) + " " +
         text.substr(second, text.find('\n', second) - second);
}

void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

/// The caller holds the lock.
void publish(Findings& all, const Finding& finding) {
  all.published.push_back(finding.text);
  if (finding.sites != Sites{}) {
    const auto [known, fresh] = all.by_site.try_emplace(key_of(finding), all.told.size());
    if (!fresh) {
      ++all.told[known->second].count;
      return;
    }
  }
  const bool printed = finding.kernel.empty() || ++all.races[finding.kernel] <= kMostRaces;
  all.told.push_back({.finding = finding, .printed = printed});
  if (printed) tell(finding.text);
}

}  // namespace

void hold_finding(Finding finding) {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  finding.order = all.held.size();
  all.held.push_back(std::move(finding));
}

void publish_findings() {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  if (all.held.empty()) return;
  // Blocks begin in order, so the first block that ended the kernel is the same in every run; what later blocks still
  // found is not.
  std::uint64_t last_block = ~std::uint64_t{0};
  for (const Finding& finding : all.held)
    if (finding.fatal) last_block = std::min(last_block, finding.block);
  std::sort(all.held.begin(), all.held.end(),
            [](const Finding& a, const Finding& b) { return std::tie(a.block, a.order) < std::tie(b.block, b.order); });
  // An index that leaves its row may leave the array in another thread: that says more.
  const auto is_told_by_end = [&](const Finding& warning) {
    return std::any_of(all.held.begin(), all.held.end(), [&](const Finding& end) {
      return end.fatal && end.place == warning.place && end.block <= last_block;
    });
  };
  std::map<Key, const Finding*> first;
  std::vector<const Finding**> order;
  for (const Finding& finding : all.held) {
    if (finding.block > last_block || (finding.warning && is_told_by_end(finding))) continue;
    const auto [known, fresh] = first.try_emplace(key_of(finding), &finding);
    if (fresh)
      order.push_back(&known->second);
    else if (finding.weight > known->second->weight)
      known->second = &finding;
  }
  for (const Finding* const* finding : order) publish(all, **finding);
  all.held.clear();
}

void publish_finding(const Finding& finding) {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  publish(all, finding);
}

std::vector<std::string> take_reports() {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.published, {});
}

void conclude_findings(bool with_summary) {
  Findings& all = findings();
  const std::lock_guard lock(all.mutex);
  std::uint64_t mistakes = 0;
  std::uint64_t warnings = 0;
  for (const auto& [finding, count, printed] : all.told) {
    ++(finding.warning ? warnings : mistakes);
    if (count > 1 && printed) tell(formatted("========= {} more: {}\n", count - 1, headline(finding.text)));
  }
  for (const auto& [kernel, races] : all.races)
    if (races > kMostRaces)
      tell(formatted("========= {} more race{} in {}, between other lines: WARPBOOK_REPORTS=FILE has all of them\n",
                     races - kMostRaces, races - kMostRaces == 1 ? "" : "s", kernel));
  const auto counted = [](std::uint64_t count, const char* what) {
    return formatted("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (with_summary)
    tell(formatted("========= ERROR SUMMARY: {}{}\n", counted(mistakes, "error"),
                   warnings == 0 ? std::string{} : ", " + counted(warnings, "warning")));
  if (const char* path = std::getenv("WARPBOOK_REPORTS"); path != nullptr && *path != '\0')
    write_whole("WARPBOOK_REPORTS", path, findings_as_json(all.told));
}

}  // namespace warpbook::emulator
