#include "common/cuda/launch.cuh"
#include "common/exercises/check.hpp"

namespace warpbook::exercises {
namespace {

__global__ void case_begins() {}

}  // namespace

cudaError_t mark_case(cudaStream_t stream) { return launch(case_begins, {.stream = stream}); }

}  // namespace warpbook::exercises
