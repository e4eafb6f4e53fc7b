#include "common/emulator/observation/json_texts.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace warpbook::emulator {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const LaunchReport& launch) {
  const auto extent = [](const dim3& d) { return Json::array({d.x, d.y, d.z}); };
  Json counters = Json::object();
  for (const auto& [name, value] : launch.counters) counters[name] = value;
  return {{"kernel", launch.kernel},
          {"grid", extent(launch.grid)},
          {"block", extent(launch.block)},
          {"counters", std::move(counters)},
          {"extrapolated", launch.extrapolated},
          {"limited_by", launch.limited_by},
          {"modelled_seconds", launch.modelled_seconds}};
}

}  // namespace

std::string launches_as_json(std::span<const LaunchReport> launches) {
  Json all = Json::array();
  for (const LaunchReport& launch : launches) all.push_back(as_json(launch));
  return all.dump(1) + "\n";
}

std::string findings_as_json(std::span<const Told> told) {
  Json mistakes = Json::array();
  for (const auto& [finding, count, printed] : told)
    mistakes.push_back({{"kind", finding.kind},
                        {"severity", finding.warning ? "warning" : "error"},
                        {"place", finding.place},
                        {"other_place", finding.other_place},
                        {"count", count},
                        {"text", finding.text}});
  const Json all{{"mistakes", std::move(mistakes)}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warpbook::emulator
