// The one observer, which times what it sees by the model, and what programs may ask it.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/emulator/base/whole_file.hpp"
#include "common/emulator/include/warpbook_emulator.h"
#include "common/emulator/model/model.hpp"
#include "common/emulator/observation/findings.hpp"
#include "common/emulator/observation/observation.hpp"

namespace warpbook::emulator {
namespace {

class TimedObservation final : public Observation {
public:
  double copy_seconds(CopyKind kind, std::size_t bytes_read, std::size_t bytes_written, bool from_graph) override {
    switch (kind) {
    case CopyKind::host_to_device:
    case CopyKind::device_to_host:
      return modelled_bus_seconds(std::max(bytes_read, bytes_written));
    case CopyKind::device_to_device:
    case CopyKind::fill:
      return modelled_copy_seconds(device(), bytes_read, bytes_written, from_graph);
    case CopyKind::host_to_host:
      break;
    }
    return 0;
  }

private:
  LaunchTime time_launch(const LaunchShape& shape, const Totals& totals) override {
    const ModelledTime time = model_launch(device(), shape, totals);
    return {time.seconds, resource_name(time.limit)};
  }
};

/// Lives until the program's last instruction: programs launch and ask while they end.
Observation& observation() {
  static Observation& only = []() -> Observation& {
    auto* made = new TimedObservation;  // NOLINT(cppcoreguidelines-owning-memory)
    on_exit(
        [](int status, void*) {
          observation().conclude();
          if (status == 0 && !every_file_written()) std::exit(4);  // glibc goes on with what is left to be done.
        },
        nullptr);
    return *made;
  }();
  return only;
}

/// Installs the observer when the library is loaded.
[[maybe_unused]] const bool installed = [] {
  set_observer(&observation());
  return true;
}();

}  // namespace

double LaunchReport::counter(const std::string& metric) const {
  for (const auto& [name, value] : counters)
    if (metric == name) return value;
  return -1;
}

LaunchReport last_launch() { return observation().last_launch(); }

LaunchReport take_launches() { return observation().take_launches(); }

bool set_checks(const std::string& names) {
  CheckOptions options;
  if (!parse_check_options(names.c_str(), options)) return false;
  observation().set_checks(options);
  return true;
}

void map_accesses() { observation().map_accesses(); }

std::string take_access_map(const std::string& title) { return observation().take_access_map(title); }

void set_trace(TraceMode mode) { observation().set_trace(mode); }

std::vector<std::string> reports() { return take_reports(); }

const char* device_name() { return device_table().name; }

}  // namespace warpbook::emulator
