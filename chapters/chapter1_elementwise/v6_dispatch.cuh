/// \file
/// v6 dispatch: any function of one to three inputs, of any types.
///
/// v1 to v5 multiply, and take one type. Elementwise operations differ in the function alone, so it becomes a template
/// parameter, and so do the types: a pack has as many elements as 16 bytes hold of the widest. A function that needs
/// something from device memory comes as a factory, which each thread asks once. A table chooses the kernel.
///
/// Expect v4's time for aligned arrays and v5's for others. This is what `elementwise.cuh` gives away.
#pragma once

#include <utility>

#include "chapters/chapter1_elementwise/functors.cuh"
#include "chapters/chapter1_elementwise/library/single_packs.cuh"
#include "chapters/chapter1_elementwise/v5_any_alignment.cuh"

namespace warpbook::chapter1::v6 {

/// Threads of a block that moves packs, and packs of each. A shifted pack is two loads of each input.
inline constexpr int kThreads = 128;
template <bool kShifted> inline constexpr int kPacks = kShifted ? 1 : 2;

enum class Kernel {
  single_packs,   ///< One pack per thread, or one element.
  packs,          ///< v6's own: two aligned packs per thread.
  shifted_packs,  ///< v6's own: a pack per thread, of which some input's is not aligned.
};

struct Extent {
  std::int64_t count = 0;
  bool shifted = false;  ///< Some input lies otherwise than the output.
  bool whole = false;    ///< There are packs and no edges, and none is shifted.
};

struct Rule {
  bool (*holds)(const Extent&);
  Kernel kernel;
  const char* evidence;  ///< A case of chapter1.json that this rule decides.
};

/// Such a launch lasts as long as its longest chain of instructions.
inline bool is_small_and_whole(const Extent& arrays) { return arrays.count <= 1 << 20 && arrays.whole; }
inline bool is_small(const Extent& arrays) { return arrays.count < 1 << 18; }
inline bool lies_alike(const Extent& arrays) { return !arrays.shifted; }
inline bool always(const Extent& /*arrays*/) { return true; }

//! [rules]
/// Tried from the top; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {is_small_and_whole, Kernel::single_packs, "n=262144 op=mul dtype=half"},
    {is_small, Kernel::single_packs, "n=65537 op=mul dtype=half offset=0,1,3"},
    {lies_alike, Kernel::packs, "n=33554432 op=mul dtype=half"},
    {always, Kernel::shifted_packs, "n=33554432 op=mul dtype=half offset=3,1,6"},
};

inline const Rule& choose(const Extent& arrays) {
  return *std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(arrays); });
}
//! [rules]

//! [kernel]
template <bool kShifted, int kWidth, class Factory, class Z, class... X>
__global__ void __launch_bounds__(kThreads)
    packs_kernel(Z* z, Walk walk, bool streamed, Factory factory, v5::Input<X>... x) {
  const auto f = factory();
  if (walk.edge != 0 && blockIdx.x == gridDim.x - 1) {
    if (const int k = threadIdx.x; k < walk.edge) {
      const std::int64_t i = walk.edge_element(k, kWidth);
      z[i] = f(x.data[i]...);
    }
    return;
  }
  auto* const z_packs = reinterpret_cast<Pack<Z, kWidth>*>(z + walk.head);
  const std::int64_t first = std::int64_t{blockIdx.x} * (kThreads * kPacks<kShifted>)+threadIdx.x;
  if (first >= walk.packs) return;
  Pack<Z, kWidth> result[kPacks<kShifted>];
#pragma unroll
  for (int k = 0; k < kPacks<kShifted>; ++k) {
    const std::int64_t next = first + k * kThreads;
    const std::int64_t i = next < walk.packs ? next : first;  // The first again: no branch stands between the loads.
    result[k] = apply<Z>(f, v5::load_pack<kShifted, kWidth>(x, walk.head, i)...);
  }
#pragma unroll
  for (int k = 0; k < kPacks<kShifted>; ++k) {
    const std::int64_t i = first + k * kThreads;
    if (i >= walk.packs) break;
    if (streamed) {
      store_streaming(&z_packs[i], result[k]);
    } else {
      z_packs[i] = result[k];
    }
  }
}
//! [kernel]

template <class Z, class... X> Cut<sizeof...(X)> cut_arrays(std::int64_t count, const Z* z, const X*... x) {
  const Placement inputs[] = {v5::placement(x)...};
  return cut(count, kPackWidth<Z, X...>, v5::placement(z), inputs);
}

template <int kInputs> Extent extent(std::int64_t count, const Cut<kInputs>& cut) {
  return {.count = count, .shifted = cut.shifted(), .whole = !cut.shifted() && cut.edge == 0};
}

/// Launches the kernel of packs, aligned or shifted. `input` are the numbers of the inputs.
template <bool kShifted, class Factory, class Z, class... X, std::size_t... input>
cudaError_t run_packs(const Cut<sizeof...(X)>& cut, const Factory& factory, Z* z, std::int64_t count,
                      cudaStream_t stream, std::index_sequence<input...> /*inputs*/, const X*... x) {
  static_assert(4 * kPackWidth<Z, X...> <= kThreads, "a block must have a thread for each element of the edges");
  const std::int64_t tiles = ceil_div<std::int64_t>(cut.packs, kThreads * kPacks<kShifted>);
  // The hint that an output leaves the L2 first: so large a one would not stay there anyway.
  const bool streamed = count * std::int64_t(sizeof(Z)) >= 32 << 20;
  return launch(packs_kernel<kShifted, kPackWidth<Z, X...>, Factory, Z, X...>,
                {.grid = tiles + (cut.edge != 0 ? 1 : 0), .block = kThreads, .stream = stream}, z, cut, streamed,
                factory, v5::Input<X>{x, cut.shift_bytes[input]}...);
}

/// Runs one kernel for count > 0 elements: `packs` where no input is shifted.
template <class Factory, class Z, class... X>
cudaError_t run_kernel(Kernel kernel, const Cut<sizeof...(X)>& cut, const Factory& factory, Z* z, std::int64_t count,
                       cudaStream_t stream, const X*... x) {
  if (kernel == Kernel::single_packs) return single_packs::run(factory, z, count, stream, x...);
  constexpr auto kInputs = std::index_sequence_for<X...>{};
  return kernel == Kernel::packs ? run_packs<false>(cut, factory, z, count, stream, kInputs, x...)
                                 : run_packs<true>(cut, factory, z, count, stream, kInputs, x...);
}

/// Runs z[i] = factory()(x[i]...) for count > 0 elements. Arguments are not checked.
template <class Factory, class Z, class... X>
cudaError_t run(const Factory& factory, Z* z, std::int64_t count, cudaStream_t stream, const X*... x) {
  const auto cut = cut_arrays(count, z, x...);
  return run_kernel(choose(extent(count, cut)).kernel, cut, factory, z, count, stream, x...);
}

}  // namespace warpbook::chapter1::v6
