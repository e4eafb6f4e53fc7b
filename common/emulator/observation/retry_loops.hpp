/// \file
/// Atomics that no instruction carries out: loops that read a word, change it, and swap it in if nobody else did. How
/// often a try fails depends on who else is at the word at the time, which an emulator that runs threads one after the
/// other does not see; so it is told from where the additions of a launch fall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/emulator/execution/retry_tally.hpp"
#include "common/emulator/observation/counters.hpp"

namespace warpbook::emulator {

/// Where the loops of a launch meet. A visit is a word that a request has lanes at.
struct RetryShape {
  double lanes = 0;             ///< additions
  double visits = 0;            ///< lanes of one request at one word are one
  double turns = 0;             ///< of the L2, as if each request were alone with it
  double meeting = 0;           ///< the chance that two visits, taken at random, are to the same word
  double hottest_visits = 0;    ///< at the word with the most of them
  double hottest_lanes = 0;     ///< additions at that word
  double crowd = 0;             ///< additions, each weighed by how long it waits beside those at that word
  bool hottest_shared = false;  ///< additions go to both elements of that word
  double line_lanes = 0;        ///< additions at the line with the most of them
  double line_visits = 0;       ///< visits there
  double line_packets = 0;      ///< requests there
  double line_turns = 0;        ///< as `turns`, there
  RetryTally sums;              ///< of all blocks
};

/// Collects a launch's loops, of the blocks that one worker traces.
class RetryLoops {
public:
  /// Forgets everything.
  void begin();
  /// One request's loops, on elements of 2 bytes; `weight`: requests that it stands for.
  void add(const Request& request, std::uint64_t weight);
  /// Adds what another worker collected.
  void merge(const RetryLoops& other);
  /// True where there were none.
  bool empty() const { return words_.empty(); }
  /// What all of it amounts to, of a sample that is one of `scale` equal parts of the launch.
  RetryShape shape(double scale) const;

private:
  struct Word {
    double visits = 0;
    double lanes = 0;
    unsigned elements = 0;  // bit i: element i of the word
  };
  struct Line {
    double lanes = 0;
    double visits = 0;
    double packets = 0;
    double turns = 0;
  };
  static constexpr unsigned kWordsLog2 = 18;  // by hash: some share a place
  static constexpr unsigned kLinesLog2 = 14;

  std::vector<Word> words_;
  std::vector<Line> lines_;
};

}  // namespace warpbook::emulator
