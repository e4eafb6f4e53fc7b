/// \file
/// Chapters 1 to 3 on large arrays.

#include <cmath>

#include "chapters/chapter1_elementwise/elementwise.cuh"
#include "chapters/chapter2_strided/strided_copy.cuh"
#include "chapters/chapter3_permute/permute.cuh"
#include "tests/chapters/size/size.cuh"

namespace warpbook::size {
namespace {

std::int64_t side_of(std::int64_t least) {
  return static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(least)))) | 1;
}

// ---------------------------------------------------------------------------------------------------- elementwise

struct Multiply {
  __device__ std::uint16_t operator()(std::uint16_t x, std::uint16_t y) const {
    return static_cast<std::uint16_t>(x * y);
  }
};

struct Flip {
  __device__ std::uint8_t operator()(std::uint8_t x) const { return static_cast<std::uint8_t>(x ^ 0x5aU); }
};

struct Product {
  std::int64_t x_shift;
  std::int64_t y_shift;
  __host__ __device__ std::uint16_t operator()(std::int64_t i) const {
    const Bits<std::uint16_t> bits;
    return static_cast<std::uint16_t>(bits(i + x_shift) * bits(i + y_shift));
  }
};

struct Flipped {
  __host__ __device__ std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(Bits<std::uint8_t>{}(i) ^ 0x5aU);
  }
};

/// Two inputs that begin `x_shift` and `y_shift` elements behind an aligned place.
Outcome multiply(std::int64_t least, std::int64_t x_shift, std::int64_t y_shift) {
  const std::int64_t count = least + 7;
  const Array<std::uint16_t> in(count + 8);
  const Array<std::uint16_t> out(count);
  in.fill(Bits<std::uint16_t>{});
  check(elementwise(Multiply{}, out.data(), static_cast<const std::uint16_t*>(in.data() + x_shift),
                    static_cast<const std::uint16_t*>(in.data() + y_shift), count, nullptr),
        "elementwise");
  Outcome outcome;
  compare_all(outcome, out, Product{x_shift, y_shift});
  compare_parts(outcome, out, Product{x_shift, y_shift});
  return outcome;
}

Outcome flip_bytes(std::int64_t least) {
  const std::int64_t count = 2 * least + 5;
  const Array<std::uint8_t> in(count);
  const Array<std::uint8_t> out(count);
  in.fill(Bits<std::uint8_t>{});
  check(elementwise(Flip{}, out.data(), static_cast<const std::uint8_t*>(in.data()), count, nullptr), "elementwise");
  Outcome outcome;
  compare_all(outcome, out, Flipped{});
  compare_parts(outcome, out, Flipped{});
  return outcome;
}

// ----------------------------------------------------------------------------------------------------------- views

/// Element i of a view of random bits.
template <class T> struct OfView {
  int dims = 0;
  std::int64_t sizes[8] = {};
  std::int64_t strides[8] = {};
  std::int64_t offset = 0;

  explicit OfView(const TensorView& view) : dims(view.dims), offset(view.offset) {
    std::copy_n(view.sizes.begin(), dims, sizes);
    std::copy_n(view.strides.begin(), dims, strides);
  }
  __host__ __device__ T operator()(std::int64_t linear) const {
    std::int64_t place = offset;
    for (int d = dims - 1; d >= 0; --d) {
      place += linear % sizes[d] * strides[d];
      linear /= sizes[d];
    }
    return Bits<T>{}(place);
  }
};

TensorView make_view(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, std::int64_t offset) {
  TensorView view;
  view.dims = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), view.sizes.begin());
  std::copy(strides.begin(), strides.end(), view.strides.begin());
  view.offset = offset;
  return view;
}

template <class T> Outcome read_view(const TensorView& view) {
  const Array<T> in(view.offset + view.reach() + 1);
  const Array<T> out(view.count());
  in.fill(Bits<T>{});
  check(make_contiguous(out.data(), in.data(), view, sizeof(T), nullptr), "make_contiguous");
  Outcome outcome;
  compare_all(outcome, out, OfView<T>{view});
  compare_parts(outcome, out, OfView<T>{view});
  return outcome;
}

Outcome read_transposed(std::int64_t least) {
  const std::int64_t side = side_of(least);
  return read_view<std::uint16_t>(make_view({side, side + 2}, {1, side}, 0));
}

Outcome read_every_other(std::int64_t least) {
  const std::int64_t side = side_of(least);
  return read_view<std::uint16_t>(make_view({side, side + 2}, {2 * side + 5, 2}, 1));
}

Outcome read_repeated_rows(std::int64_t least) {
  const std::int64_t side = side_of(least / 3);
  return read_view<std::uint16_t>(make_view({side, 3, side + 2}, {side + 2, 0, 1}, 3));
}

/// Columns 1, 3, 5, ... are written, the others stay as they were.
struct EveryOther {
  std::int64_t columns;
  __host__ __device__ std::uint16_t operator()(std::int64_t place) const {
    const std::int64_t column = place % columns;
    if (column % 2 == 0) return 0xffff;
    return Bits<std::uint16_t>{}(place / columns * (columns / 2) + column / 2);
  }
};

Outcome write_every_other(std::int64_t least) {
  const std::int64_t rows = side_of(least / 2);
  const std::int64_t columns = 2 * (rows + 1);
  const Array<std::uint16_t> in(rows * columns / 2);
  const Array<std::uint16_t> out(rows * columns);
  in.fill(Bits<std::uint16_t>{});
  check(write_into_view(out.data(), make_view({rows, columns / 2}, {columns, 2}, 1), in.data(), 2, nullptr),
        "write_into_view");
  Outcome outcome;
  compare_all(outcome, out, EveryOther{columns});
  compare_parts(outcome, out, EveryOther{columns});
  return outcome;
}

// --------------------------------------------------------------------------------------------------------- permute

template <class T> Outcome permuted(const std::vector<std::int64_t>& shape, const std::vector<int>& order) {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  for (const int d : order) {
    std::int64_t stride = 1;
    for (std::size_t e = static_cast<std::size_t>(d) + 1; e < shape.size(); ++e) stride *= shape[e];
    sizes.push_back(shape[static_cast<std::size_t>(d)]);
    strides.push_back(stride);
  }
  const TensorView view = make_view(sizes, strides, 0);
  const Array<T> in(view.count());
  const Array<T> out(view.count());
  in.fill(Bits<T>{});
  check(permute(out.data(), in.data(), static_cast<int>(shape.size()), shape.data(), order.data(), sizeof(T), nullptr),
        "permute");
  Outcome outcome;
  compare_all(outcome, out, OfView<T>{view});
  compare_parts(outcome, out, OfView<T>{view});
  return outcome;
}

Outcome permute_matrices(std::int64_t least) {
  const std::int64_t side = side_of(least / 3);
  return permuted<std::uint16_t>({3, side, side + 2}, {0, 2, 1});
}

Outcome permute_aligned_matrices(std::int64_t least) {
  const std::int64_t side = (side_of(least / 4) + 64) / 64 * 64;
  return permuted<std::uint16_t>({4, side, side}, {0, 2, 1});
}

Outcome permute_one_matrix_of_bytes(std::int64_t least) {
  const std::int64_t side = side_of(2 * least);
  return permuted<std::uint8_t>({side, side + 2}, {1, 0});
}

Outcome permute_rows(std::int64_t least) {
  const std::int64_t side = side_of(least / 128);
  return permuted<std::uint16_t>({side, side + 2, 128}, {1, 0, 2});
}

Outcome permute_images(std::int64_t least) {
  const std::int64_t side = side_of(least / (64 * 3));
  return permuted<std::uint16_t>({64, 3, side, side}, {0, 2, 3, 1});
}

Outcome permute_five(std::int64_t least) {
  const std::int64_t side = side_of(least / (6 * 20 * 10));
  return permuted<std::uint16_t>({6, 20, 10, side, side + 1}, {3, 1, 4, 0, 2});
}

}  // namespace

std::vector<Check> elementwise_checks() {
  return {{"1", "elementwise: a product of 16-bit numbers", [](std::int64_t least) { return multiply(least, 0, 0); }},
          {"1", "elementwise: the same, arrays shifted", [](std::int64_t least) { return multiply(least, 1, 3); }},
          {"1", "elementwise: more than 2^32 bytes", flip_bytes}};
}

std::vector<Check> movement_checks() {
  return {{"2", "make_contiguous: a transposed matrix", read_transposed},
          {"2", "make_contiguous: every other column", read_every_other},
          {"2", "make_contiguous: each row three times", read_repeated_rows},
          {"2", "write_into_view: every other column", write_every_other},
          {"3", "permute: (0,2,1), odd sides", permute_matrices},
          {"3", "permute: (0,2,1), sides of whole tiles", permute_aligned_matrices},
          {"3", "permute: (1,0) of bytes", permute_one_matrix_of_bytes},
          {"3", "permute: (1,0,2), rows of 256 bytes", permute_rows},
          {"3", "permute: (0,2,3,1), three channels", permute_images},
          {"3", "permute: (3,1,4,0,2)", permute_five}};
}

}  // namespace warpbook::size
