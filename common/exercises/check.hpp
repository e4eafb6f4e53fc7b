/// \file
/// What a check of an exercise is made of: the reader's file, compiled as a step of its own, and the chapter's cases.
/// Two programs make it: `check` runs the step on inputs from files, and has nothing to compare with; `referee` makes
/// those files, keeps the reference to itself, and judges what came back.
///
/// The functions are written by `common/exercises/toolchain.py` from the chapter's exercises.toml: the last one behind
/// the reader's file, the others into a file that is compiled once.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "common/harness/chapter.hpp"

namespace warpbook::exercises {

/// Makes a case of the exercise's chapter. \throws BadInput with one line.
std::unique_ptr<Case> make_exercise_case(const Parameters& parameters);

/// \return what a step that ran left wrong beside its output; empty for nothing
std::string inspect_exercise(const Case& c, const Arrays& arrays);

/// Runs the step that the reader's file holds.
cudaError_t run_exercise(const Case& c, const Arrays& arrays, cudaStream_t stream);

}  // namespace warpbook::exercises
