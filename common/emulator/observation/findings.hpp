/// \file
/// What was found, kept until it is told: printed once for each line, counted, written to a file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace warpbook::emulator {

/// The instructions that a finding is about.
using Sites = std::pair<const void*, const void*>;

/// A mistake of the program.
struct Finding {
  const char* kind = "";         ///< "out_of_bounds", "race", ...; the same words as in the corpus of planted bugs
  std::string text = {};         ///< whole lines, as they are printed
  std::string place;             ///< "file:line", "" where unknown
  std::string other_place = {};  ///< of the second access of a race
  std::string kernel = {};       ///< of a race: one mistake makes many of them, and only some are printed
  Sites sites = {};              ///< Where in the program.
  std::uint64_t block = 0;       ///< The first block in which it was seen.
  bool fatal = false;            ///< it ended the kernel
  bool warning = false;          ///< the program is right, or right on this card: no mistake that is counted
  unsigned weight = 0;           ///< of two findings at the same lines in a launch, the one with the higher is told
  std::size_t order = 0;         ///< in which it was held back: of one block, that of its threads
};

/// A mistake, and how often it was found.
struct Told {
  Finding finding;          ///< the first one
  std::uint64_t count = 1;  ///< it and those like it
  bool printed = true;      ///< or kept for WARPBOOK_REPORTS alone
};

/// Holds a finding back until `publish_findings`: so that the order does not depend on the emulator's threads.
void hold_finding(Finding finding);

/// Publishes what was found in the launch that has ended: printed to standard error the first time, kept for
/// `take_reports` each time.
void publish_findings();

/// Publishes one at once.
void publish_finding(const Finding& finding);

/// All published findings since the last call.
std::vector<std::string> take_reports();

/// At the program's end: prints how often a site came again, how many races of a kernel were not printed and, where
/// checks are on, how many mistakes there were;
/// writes them to the file that `WARPBOOK_REPORTS` names, as {"mistakes": [{"kind", "severity" ("error" or "warning"),
/// "place", "other_place", "count", "text"}]}.
void conclude_findings(bool with_summary);

}  // namespace warpbook::emulator
