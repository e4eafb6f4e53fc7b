#include "common/emulator/observation/retry_loops.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace warpbook::emulator {

namespace {

constexpr unsigned kLanes = 32;

std::size_t hashed(std::uint64_t number, unsigned log2) {
  return static_cast<std::size_t>(number * 0x9e3779b97f4a7c15ULL >> (64 - log2));
}

/// The most visits that chance brings to one of `places` that have `mean` each, on average.
double most_by_chance(double mean, double places) {
  if (mean > 50) return mean + std::sqrt(2 * mean * std::log(std::max(1.0, places)));
  double at_least = 1;  // the chance of so many or more
  double exactly = std::exp(-mean);
  double visits = 0;
  while (at_least * places > 1) {
    at_least -= exactly;
    exactly *= mean / ++visits;
  }
  return visits;
}

/// Visits of a launch at the place that has the most of those that were seen, which are one of `scale` equal parts;
/// `meeting` is the chance that two of them are to the same place. As much as is more than chance brings to some place
/// is so many times more in the launch; what chance brings is not.
double most_of_launch(double most, double visits, double meeting, double scale) {
  const double mean = meeting * visits;
  if (mean <= 0) return most * scale;
  const double places = 1 / meeting;
  return std::max(0.0, most - most_by_chance(mean, places)) * scale +
         std::min(most * scale, most_by_chance(mean * scale, places));
}

}  // namespace

void RetryLoops::begin() {
  words_.clear();
  lines_.clear();
}

void RetryLoops::add(const Request& request, std::uint64_t weight) {
  if (words_.empty()) {
    words_.resize(std::size_t{1} << kWordsLog2);
    lines_.resize(std::size_t{1} << kLinesLog2);
  }
  const auto by = static_cast<double>(weight);
  std::array<std::uint64_t, kLanes> seen;
  std::array<unsigned, kLanes> lanes;
  std::array<unsigned, kLanes> elements;
  unsigned distinct = 0;
  for (std::uint32_t left = request.mask; left != 0; left &= left - 1) {
    const std::uint64_t address = request.address[std::countr_zero(left)];
    const std::uint64_t word = address >> 2;
    const auto place = static_cast<unsigned>(std::find(seen.begin(), seen.begin() + distinct, word) - seen.begin());
    if (place == distinct) {
      seen[distinct] = word;
      elements[distinct] = 0;
      lanes[distinct++] = 0;
    }
    ++lanes[place];
    elements[place] |= 1U << (address >> 1 & 1U);
  }
  for (unsigned i = 0; i < distinct; ++i) {
    Word& word = words_[hashed(seen[i], kWordsLog2)];
    word.visits += by;
    word.lanes += lanes[i] * by;
    word.elements |= elements[i];
    // The first word of a line stands for the line; its sectors take as many turns as their busiest word.
    const std::uint64_t number = seen[i] >> 5;
    Line& line = lines_[hashed(number, kLinesLog2)];
    line.lanes += lanes[i] * by;
    line.visits += by;
    bool first_of_line = true;
    bool busiest_of_sector = true;
    for (unsigned k = 0; k < distinct; ++k) {
      if (k < i && seen[k] >> 5 == number) first_of_line = false;
      if (k != i && seen[k] >> 3 == seen[i] >> 3 && (lanes[k] > lanes[i] || (lanes[k] == lanes[i] && k < i)))
        busiest_of_sector = false;
    }
    if (first_of_line) line.packets += by;
    if (busiest_of_sector) line.turns += lanes[i] * by;
  }
}

void RetryLoops::merge(const RetryLoops& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  for (std::size_t i = 0; i < words_.size(); ++i) {
    words_[i].visits += other.words_[i].visits;
    words_[i].lanes += other.words_[i].lanes;
    words_[i].elements |= other.words_[i].elements;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    lines_[i].lanes += other.lines_[i].lanes;
    lines_[i].visits += other.lines_[i].visits;
    lines_[i].packets += other.lines_[i].packets;
    lines_[i].turns += other.lines_[i].turns;
  }
}

RetryShape RetryLoops::shape(double scale) const {
  RetryShape result;
  if (empty()) return result;
  double meetings = 0;
  const Word* hottest = words_.data();
  for (const Word& word : words_) {
    result.lanes += word.lanes * scale;
    result.visits += word.visits;
    meetings += word.visits * (word.visits - 1);
    if (word.visits > hottest->visits) hottest = &word;
  }
  // Of pairs, so that a sample of the visits has the same chance as all of them; less the chance that two words share a
  // place here.
  const double by_hash = 1.0 / static_cast<double>(words_.size());
  const double chance = result.visits > 1 ? meetings / (result.visits * (result.visits - 1)) : 0;
  result.meeting = std::max(0.0, (chance - by_hash) / (1 - by_hash));
  result.hottest_visits = most_of_launch(hottest->visits, result.visits, chance, scale);
  result.hottest_lanes = hottest->lanes / std::max(1.0, hottest->visits) * result.hottest_visits;
  result.visits *= scale;
  result.hottest_shared = hottest->elements == 3;
  // Each of a word's visits waits for the others there, and is undone by them: all of it takes the square of them.
  for (const Word& word : words_)
    if (word.visits > 0) result.crowd += word.lanes * scale * std::pow(word.visits / hottest->visits, 2);
  for (const Line& line : lines_) result.turns += line.turns * scale;
  const auto most =
      std::max_element(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.lanes < b.lanes; });
  result.line_lanes = most->lanes * scale;
  result.line_visits = most->visits * scale;
  result.line_packets = most->packets * scale;
  result.line_turns = most->turns * scale;
  return result;
}

}  // namespace warpbook::emulator
