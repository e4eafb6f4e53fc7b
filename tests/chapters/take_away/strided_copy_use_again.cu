/// \file
/// A second file of the same program: what the header defines may be defined in both.
#include "strided_copy.cuh"

bool second_file_agrees();

bool second_file_agrees() {
  const warpbook::TensorView example{.dims = 3, .sizes = {2, 4, 2}, .strides = {16, 4, 2}};
  return warpbook::refuse_view(example, 4) == nullptr && example.offset_of(1 * 8 + 3 * 2 + 1) == 30;
}
