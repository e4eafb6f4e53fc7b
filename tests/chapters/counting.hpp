/// \file
/// What the emulator counts of one step on one case, for tests against values that were worked out by hand.
#pragma once

#include <warpbook_emulator.h>

#include <algorithm>
#include <memory>
#include <string>

#include "common/harness/chapter.hpp"
#include "common/harness/verify.hpp"
#include "tests/catch.hpp"

namespace warpbook {

/// Verifies a step of `chapter` on a case, every block traced, and returns what was seen of its last launch.
inline emulator::LaunchReport count_launch(const Chapter& chapter, const std::string& version,
                                           const std::string& parameters) {
  INFO(version << " on " << parameters);
  const auto step =
      std::find_if(chapter.steps.begin(), chapter.steps.end(), [&](const Step& s) { return s.version == version; });
  REQUIRE(step != chapter.steps.end());
  const std::unique_ptr<Case> problem = chapter.make_case(Parameters::parse(parameters));
  emulator::set_trace(emulator::TraceMode::all);
  const Verification found = verify_step(*step, *problem, 1);
  emulator::set_trace(emulator::TraceMode::sample);
  INFO(found.reason);
  REQUIRE(found.status == Status::pass);
  const emulator::LaunchReport seen = emulator::last_launch();
  REQUIRE_FALSE(seen.extrapolated);
  return seen;
}

/// What chapters that move data count of a launch.
struct Moves {
  double load_requests, load_sectors, store_requests, store_sectors;
  double shared_loads, shared_load_wavefronts, shared_load_conflicts;
  double shared_stores, shared_store_wavefronts, shared_store_conflicts;
  double divisions_32, divisions_64;
  std::string kernel;
};

/// The same as `count_launch`, of what moves.
inline Moves count_moves(const Chapter& chapter, const std::string& version, const std::string& parameters) {
  const emulator::LaunchReport seen = count_launch(chapter, version, parameters);
  return {seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
          seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
          seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
          seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
          seen.counter("smsp__inst_executed_op_shared_ld.sum"),
          seen.counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
          seen.counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
          seen.counter("smsp__inst_executed_op_shared_st.sum"),
          seen.counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
          seen.counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
          seen.counter("warpbook__integer_divisions_32bit.sum"),
          seen.counter("warpbook__integer_divisions_64bit.sum"),
          seen.kernel};
}

/// Requires so many requests and sectors in global memory.
inline void check_global(const Moves& seen, double load_requests, double load_sectors, double store_requests,
                         double store_sectors) {
  CHECK(seen.load_requests == load_requests);
  CHECK(seen.load_sectors == load_sectors);
  CHECK(seen.store_requests == store_requests);
  CHECK(seen.store_sectors == store_sectors);
}

}  // namespace warpbook
