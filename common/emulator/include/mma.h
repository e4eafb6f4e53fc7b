/// \file
/// `nvcuda::wmma`: matrices that a warp holds in its registers, and their products. Not there: elements of 4 bits and
/// of 1 bit.
///
/// A fragment's elements lie as `mma.sync` has them (warpbook_matrices.h). The halves of A and B that CUDA holds twice
/// are here twice, too.
#pragma once

#ifdef __clang__  // To the host's compiler there is nothing here.

#include <cstdint>
#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "warpbook_builtins.h"
#include "warpbook_matrices.h"
#include "warpbook_ptx.h"

namespace warpbook::emulator {

inline constexpr unsigned kUnfilled = 0x7fa57fa5;  ///< as float and as half it is no number

}  // namespace warpbook::emulator

extern "C" WARPBOOK_EXPORT void __warpbook_uninitialised_local(std::uint64_t bytes);

namespace nvcuda::wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}  // namespace precision

/// A float that has tf32's bits, rounded to nearest with ties away from zero.
WARPBOOK_DEVICE_FUNCTION float __float_to_tf32(float value) {
  return __builtin_bit_cast(float, __warpbook_ptx_narrowed(value, 2, 2));
}

template <class T> struct helper_traits {
  using element_type = T;
  using storage_element_type = T;
  using fill_argument_type = T;
};
template <> struct helper_traits<precision::tf32> {
  using element_type = precision::tf32;
  using storage_element_type = float;
  using fill_argument_type = float;
};

template <class T, int size> struct alignas(8) __frag_base {
  enum { num_elements = size, num_storage_elements = size };
  using element_type = T;
  using storage_element_type = typename helper_traits<T>::storage_element_type;
  storage_element_type x[size];

  /// Begins with anything: here with what no sum is likely to be, by which a product knows that nobody filled it.
  __attribute__((always_inline, nodebug)) __frag_base() {
    constexpr unsigned kWords = sizeof(x) / sizeof(unsigned);
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i)
      __builtin_memcpy(reinterpret_cast<char*>(x) + i * sizeof(unsigned), &warpbook::emulator::kUnfilled,
                       sizeof(unsigned));
  }
};

}  // namespace nvcuda::wmma

namespace warpbook::emulator {

namespace wmma = nvcuda::wmma;

template <class T> constexpr Element element_of() {
  if constexpr (std::is_same_v<T, __half>) return Element::f16;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return Element::bf16;
  if constexpr (std::is_same_v<T, wmma::precision::tf32>) return Element::tf32;
  if constexpr (std::is_same_v<T, float>) return Element::f32;
  if constexpr (std::is_same_v<T, double>) return Element::f64;
  if constexpr (std::is_same_v<T, signed char>) return Element::s8;
  if constexpr (std::is_same_v<T, unsigned char>) return Element::u8;
  return Element::s32;
}

template <class T> inline constexpr bool is_byte = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;

/// Elements of a fragment, each once; 0 where CUDA has no such fragment.
template <class Use, int m, int n, int k, class T> constexpr int fragment_elements() {
  constexpr bool kWide =
      (m == 16 && n == 16 && k == 16) || (m == 32 && n == 8 && k == 16) || (m == 8 && n == 32 && k == 16);
  constexpr bool kTf32 = m == 16 && n == 16 && k == 8;
  constexpr bool kDouble = m == 8 && n == 8 && k == 4;
  if constexpr (std::is_same_v<Use, wmma::accumulator>) {
    constexpr bool kThere =
        (kWide && (std::is_same_v<T, __half> || std::is_same_v<T, float> || std::is_same_v<T, int>)) ||
        (kTf32 && std::is_same_v<T, float>) || (kDouble && std::is_same_v<T, double>);
    return kThere ? m * n / 32 : 0;
  }
  constexpr bool kThere = (kWide && (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> ||
                                     std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>)) ||
                          (kTf32 && std::is_same_v<T, wmma::precision::tf32>) || (kDouble && std::is_same_v<T, double>);
  return !kThere ? 0 : std::is_same_v<Use, wmma::matrix_a> ? m * k / 32 : k * n / 32;
}

/// Where the i-th element of a lane lies in its matrix. Of 8 x 32 the registers hold the transposed matrices.
template <class Use, int m, int n, int k, class T>
__attribute__((always_inline, nodebug)) constexpr MatrixPlace place_of(unsigned lane, unsigned i) {
  constexpr bool kTransposed = m == 8 && n == 32;
  constexpr unsigned kPacked = elements_per_register(element_of<T>());
  constexpr bool kIsA = std::is_same_v<Use, wmma::matrix_a>;
  MatrixPlace place{};
  if (std::is_same_v<Use, wmma::accumulator>)
    place = kTransposed ? place_in_c(lane, i, n, m) : place_in_c(lane, i, m, n);
  else if (kIsA != kTransposed)
    place = place_in_a(lane, i, kTransposed ? n : m, k, kPacked);
  else
    place = place_in_b(lane, i, k, kPacked);
  return kTransposed ? MatrixPlace{place.column, place.row} : place;
}

/// Moves a fragment's elements from or to memory, those together that are neighbours there and in a register.
template <class Use, int m, int n, int k, class T, class S, class Move>
__attribute__((always_inline, nodebug)) inline void each_place(S* memory, unsigned stride, bool by_rows, Move&& move) {
  constexpr unsigned kElements = fragment_elements<Use, m, n, k, T>();
  constexpr unsigned kTogether = std::is_same_v<Use, wmma::accumulator> ? 2 : elements_per_register(element_of<T>());
  const unsigned lane = lane_index();
  if (lane == 0) check_matrix(memory, std::size_t{stride} * sizeof(S), sizeof(S));
  const auto address = [&](unsigned i) {
    const MatrixPlace place = place_of<Use, m, n, k, T>(lane, i);
    return memory +
           (by_rows ? place.row * std::size_t{stride} + place.column : place.column * std::size_t{stride} + place.row);
  };
  constexpr bool kAlongRows =
      std::is_same_v<Use, wmma::matrix_a> || (std::is_same_v<Use, wmma::accumulator> && !(m == 8 && n == 32));
  if (kTogether > 1 && by_rows == kAlongRows) {
#pragma unroll
    for (unsigned i = 0; i < kElements; i += kTogether)
      move(address(i), i, std::integral_constant<unsigned, kTogether>{});
  } else {
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) move(address(i), i, std::integral_constant<unsigned, 1>{});
  }
}

/// Tells where nobody filled a fragment: by its first elements.
template <class Fragment> __attribute__((always_inline, nodebug)) inline void check_filled(const Fragment& fragment) {
  unsigned words[sizeof(fragment.x) < 8 ? 1 : 2];
  __builtin_memcpy(words, fragment.x, sizeof words);
  for (const unsigned word : words)
    if (word != kUnfilled) return;
  __warpbook_uninitialised_local(sizeof(fragment.x));
}

/// So many elements as one access.
template <class T, unsigned count> struct alignas(sizeof(T) * count) Together {
  T elements[count];
};

template <class Use, int m, int n, int k, class T, class S>
__attribute__((always_inline, nodebug)) inline void load_fragment(S* elements, int size, const S* memory,
                                                                  unsigned stride, bool by_rows) {
  constexpr int kElements = fragment_elements<Use, m, n, k, T>();
  warp_barrier_of_all();
  each_place<Use, m, n, k, T>(memory, stride, by_rows, [&](const S* from, unsigned i, auto count) {
    const auto loaded = *reinterpret_cast<const Together<S, count>*>(from);
#pragma unroll
    for (unsigned j = 0; j < count; ++j) elements[i + j] = loaded.elements[j];
  });
#pragma unroll
  for (int i = kElements; i < size; ++i) elements[i] = elements[i - kElements];
}

}  // namespace warpbook::emulator

namespace nvcuda::wmma {

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment : public __frag_base<T, !std::is_same_v<Use, accumulator> && std::is_same_v<T, __half>
                                           ? 16
                                           : warpbook::emulator::fragment_elements<Use, m, n, k, T>()> {
  static_assert(warpbook::emulator::fragment_elements<Use, m, n, k, T>() != 0, "there is no such fragment");
  static_assert(std::is_same_v<Use, accumulator> == std::is_void_v<Layout>,
                "A and B are row_major or col_major, an accumulator is neither");
};

template <class Use, int m, int n, int k, class T, class Layout>
WARPBOOK_DEVICE_FUNCTION void fill_fragment(fragment<Use, m, n, k, T, Layout>& f,
                                            const typename helper_traits<T>::fill_argument_type& value) {
#pragma unroll
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}

template <class Use, int m, int n, int k, class T, class Layout>
WARPBOOK_DEVICE_FUNCTION void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f,
                                               const typename helper_traits<T>::storage_element_type* memory,
                                               unsigned stride) {
  static_assert(!std::is_void_v<Layout>, "an accumulator's load is told the layout");
  warpbook::emulator::load_fragment<Use, m, n, k, T>(f.x, f.num_elements, memory, stride,
                                                     std::is_same_v<Layout, row_major>);
}

template <int m, int n, int k, class T>
WARPBOOK_DEVICE_FUNCTION void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* memory, unsigned stride,
                                               layout_t layout) {
  warpbook::emulator::load_fragment<accumulator, m, n, k, T>(f.x, f.num_elements, memory, stride,
                                                             layout == mem_row_major);
}

template <int m, int n, int k, class T>
WARPBOOK_DEVICE_FUNCTION void store_matrix_sync(T* memory, const fragment<accumulator, m, n, k, T>& f, unsigned stride,
                                                layout_t layout) {
  warpbook::emulator::check_filled(f);
  warpbook::emulator::warp_barrier_of_all();
  warpbook::emulator::each_place<accumulator, m, n, k, T>(
      memory, stride, layout == mem_row_major, [&](T* to, unsigned i, auto count) {
        warpbook::emulator::Together<T, count> stored;
#pragma unroll
        for (unsigned j = 0; j < count; ++j) stored.elements[j] = f.x[i + j];
        *reinterpret_cast<warpbook::emulator::Together<T, count>*>(to) = stored;
      });
}

template <int m, int n, int k, class A, class LayoutA, class B, class LayoutB, class C, class D>
WARPBOOK_DEVICE_FUNCTION void mma_sync(fragment<accumulator, m, n, k, D>& d,
                                       const fragment<matrix_a, m, n, k, A, LayoutA>& a,
                                       const fragment<matrix_b, m, n, k, B, LayoutB>& b,
                                       const fragment<accumulator, m, n, k, C>& c, bool saturates = false) {
  static_assert(std::is_same_v<A, B> && std::is_same_v<C, int> == warpbook::emulator::is_byte<A> &&
                    std::is_same_v<D, int> == warpbook::emulator::is_byte<A> &&
                    (!std::is_same_v<A, __nv_bfloat16> || (std::is_same_v<C, float> && std::is_same_v<D, float>)),
                "there is no such product");
  constexpr bool kTransposed = m == 8 && n == 32;
  warpbook::emulator::check_filled(a);
  warpbook::emulator::check_filled(b);
  warpbook::emulator::check_filled(c);
  using warpbook::emulator::element_of;
  const warpbook::emulator::MatrixProduct product{
      kTransposed ? n : m, kTransposed ? m : n, k,        element_of<A>(), element_of<B>(),
      element_of<C>(),     element_of<D>(),     saturates};
  if (kTransposed)
    __warpbook_ptx_multiply_matrices(product.packed(), d.x, b.x, a.x, c.x);
  else
    __warpbook_ptx_multiply_matrices(product.packed(), d.x, a.x, b.x, c.x);
}

}  // namespace nvcuda::wmma

#endif
