/// \file
/// v9 dispatch: the right kernel for the problem.
///
/// Which kernel is best depends on how many values and places there are, and the host knows both. It does not know how
/// indices are spread. So a kernel for many values must be fast whatever the skew: v6c has many sums per place, and the
/// two library kernels look at a sample. For few values a look would cost more than it saves.
///
/// Expect the time of each case's best kernel. This is what `atomic_add.cuh` gives away.
#pragma once

#include <algorithm>

#include "chapters/chapter4_atomic_add/library/any_skew_bins.cuh"
#include "chapters/chapter4_atomic_add/library/passes.cuh"
#include "chapters/chapter4_atomic_add/v4_fast_atomic.cuh"
#include "chapters/chapter4_atomic_add/v8_wide_loads.cuh"

namespace warpbook::chapter4::v9 {

enum class Kernel {
  lane_sums,      ///< v6b.
  loads_ahead,    ///< v6c.
  any_skew_bins,  ///< The library's: v7 for every skew.
  passes,         ///< The library's: atomics on a part of dst at a time.
  atomics,        ///< v1 for floats, v4 for halves.
};

struct Rule {
  bool (*holds)(const ScatterProblem&);
  Kernel kernel;
  const char* evidence;  ///< A case of chapter4.json that this rule decides.
};

/// Whether bins in shared memory beat an atomic per value, by a rough fit to an H200, in microseconds, for uniform
/// indices: an atomic takes its turn in the L2, behind others at its place where places are few.
inline bool bins_pay(const ScatterProblem& p) {
  const double mebi_values = static_cast<double>(p.count) / (1 << 20);
  const auto places = static_cast<double>(p.places);
  const double atomics = 4 + mebi_values * (12 + std::min(70e3 / places, 1800.0));
  const double bins = 10 + places / 11e3 + mebi_values * 4.3;
  return any_skew_bins::refuse_scatter(p) == nullptr && bins < atomics;
}
/// Where places are few, there is room for a sum per lane.
inline bool has_few_places(const ScatterProblem& p) { return bins_pay(p) && v6c::refuse_scatter(p) == nullptr; }
/// Four values per thread of a full device, at most, and places enough to keep its warps apart.
inline bool has_few_values(const ScatterProblem& p) {
  return has_few_places(p) && p.count <= 1 << 20 && p.places >= 256;
}
/// From so many values on a look at a sample, some 2 us, is small beside what skew would cost.
inline bool has_many_values(const ScatterProblem& p) { return p.count >= 512 << 10; }
inline bool always(const ScatterProblem& /*p*/) { return true; }

//! [kernel]
/// Tried from the top on a problem with values and places; the first rule that holds decides.
inline constexpr Rule kRules[] = {
    {has_few_values, Kernel::lane_sums, "count=131072 places=1024 skew=uniform dtype=half index=int64"},
    {has_few_places, Kernel::loads_ahead, "count=16777216 places=256 skew=zipf dtype=float index=int64"},
    {bins_pay, Kernel::any_skew_bins, "count=16777216 places=65536 skew=zipf dtype=half index=int64"},
    {has_many_values, Kernel::passes, "count=16777216 places=16777216 skew=uniform dtype=float index=int64"},
    {always, Kernel::atomics, "count=131072 places=65536 skew=uniform dtype=half index=int32"},
};

inline Kernel choose(const ScatterProblem& p) {
  return std::ranges::find_if(kRules, [&](const Rule& rule) { return rule.holds(p); })->kernel;
}
//! [kernel]

/// Whether the kernel adds up in float and rounds once, so that it needs scratch for narrower types.
inline bool rounds_once(Kernel kernel) { return kernel != Kernel::passes && kernel != Kernel::atomics; }

inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) {
  return p.count > 0 && p.places > 0 && rounds_once(choose(p)) ? float_sums_bytes(p) : 0;
}

/// For the types of p, or for these where they are known.
template <class... Types>
cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  switch (choose(p)) {
  case Kernel::lane_sums:
    return v6b::run_scatter<Types...>(p, at, stream);
  case Kernel::loads_ahead:
    return v6c::run_scatter<Types...>(p, at, stream);
  case Kernel::any_skew_bins:
    return any_skew_bins::run_scatter<Types...>(p, at, stream);
  case Kernel::passes:
    return passes::run_scatter<Types...>(p, at, stream);
  case Kernel::atomics:
    return p.type == ElementType::float32 ? v1::run_scatter<Types...>(p, at, stream)
                                          : v4::run_scatter<Types...>(p, at, stream);
  }
  return cudaErrorInvalidValue;
}

inline cudaError_t run_inner(const InnerProblem& p, const InnerArrays& at, cudaStream_t stream) {
  return v8::run_inner(p, at, stream);
}

}  // namespace warpbook::chapter4::v9
