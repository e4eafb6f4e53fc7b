#include "common/emulator/observation/host_reports.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/source_location.hpp"

namespace warpbook::emulator {

void report_api_error(const ApiError& error) {
  Finding finding;
  finding.kind = error.kind;
  finding.place = error.pc == nullptr ? std::string{} : source_location(error.pc);
  finding.sites = {error.pc, error.function};
  finding.text = fmt::format("========= Program hit {} (error {}) due to \"{}\" on CUDA API call to {}\n"
                             "=========     at {}\n{}",
                             error.name, static_cast<int>(error.error), error.text, error.function,
                             finding.place.empty() ? "an unknown line" : finding.place,
                             error.advice.empty() ? std::string{} : fmt::format("=========     {}\n", error.advice));
  publish_finding(finding);
}

void report_leaks() {
  struct Leak {
    std::size_t bytes = 0;
    std::size_t count = 0;
    const void* pc = nullptr;
  };
  std::vector<Leak> leaks;  // in the order of the first allocation
  std::map<const void*, std::size_t> by_line;
  for (const Allocation& allocation : live_allocations()) {
    const auto [known, fresh] = by_line.try_emplace(allocation.pc, leaks.size());
    if (fresh) leaks.push_back({0, 0, allocation.pc});
    leaks[known->second].bytes += allocation.bytes;
    ++leaks[known->second].count;
  }
  for (const Leak& leak : leaks) {
    Finding finding;
    finding.kind = "leak";
    finding.place = leak.pc == nullptr ? std::string{} : source_location(leak.pc);
    finding.text = fmt::format("========= Leaked {} bytes in {} allocation{}\n"
                               "=========     allocated at {}\n"
                               "=========     Free them by cudaFree before the program ends.\n",
                               leak.bytes, leak.count, leak.count == 1 ? "" : "s",
                               finding.place.empty() ? "an unknown line" : finding.place);
    publish_finding(finding);
  }
}

}  // namespace warpbook::emulator
