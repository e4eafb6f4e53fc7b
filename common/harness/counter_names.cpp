#include "common/harness/counter_names.hpp"

#include <algorithm>
#include <array>

namespace warpbook {
namespace {

constexpr std::string_view kLoads = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
constexpr std::string_view kLoadSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr std::string_view kStores = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
constexpr std::string_view kStoreSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
constexpr std::string_view kReductions = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum";
constexpr std::string_view kReductionSectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum";
constexpr std::string_view kSharedLoads = "smsp__inst_executed_op_shared_ld.sum";
constexpr std::string_view kSharedLoadTurns = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
constexpr std::string_view kSharedStores = "smsp__inst_executed_op_shared_st.sum";
constexpr std::string_view kSharedStoreTurns = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";

constexpr auto kNames = std::to_array<CounterName>({
    {"requests", kLoads, ""},
    {"sectors", kLoadSectors, ""},
    {"sectors/request", kLoadSectors, kLoads},
    {"store requests", kStores, ""},
    {"store sectors", kStoreSectors, ""},
    {"sectors/store request", kStoreSectors, kStores},
    {"reductions", kReductions, ""},
    {"sectors/reduction", kReductionSectors, kReductions},
    {"atomics", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", ""},
    {"shared atomics", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", ""},
    {"turns/shared load", kSharedLoadTurns, kSharedLoads},
    {"turns/shared store", kSharedStoreTurns, kSharedStores},
    {"shared load turns", kSharedLoadTurns, ""},
    {"shared store turns", kSharedStoreTurns, ""},
    {"instructions", "warpbook__thread_instructions_estimate.sum", ""},
    {"divisions-32", "warpbook__integer_divisions_32bit.sum", ""},
    {"divisions-64", "warpbook__integer_divisions_64bit.sum", ""},
    {"L2 reads", "lts__t_sectors_op_read.sum", ""},
    {"L2 writes", "lts__t_sectors_op_write.sum", ""},
    {"memory reads", "dram__bytes_read.sum", ""},
    {"memory writes", "dram__bytes_write.sum", ""},
});

std::optional<double> counted(std::string_view counter, const StepResult& step) {
  const auto found =
      std::find_if(step.counted.begin(), step.counted.end(), [&](const Counter& c) { return c.name == counter; });
  return found == step.counted.end() ? std::nullopt : std::optional(found->value);
}

}  // namespace

std::span<const CounterName> counter_names() { return kNames; }

const CounterName* find_counter(std::string_view name) {
  const auto* const found =
      std::find_if(kNames.begin(), kNames.end(), [&](const CounterName& known) { return known.name == name; });
  return found == kNames.end() ? nullptr : found;
}

std::optional<double> value_of(const CounterName& name, const StepResult& step) {
  const std::optional<double> value = counted(name.counter, step);
  if (name.per.empty() || !value) return value;
  const std::optional<double> per = counted(name.per, step);
  return per && *per > 0 ? std::optional(*value / *per) : std::nullopt;
}

}  // namespace warpbook
