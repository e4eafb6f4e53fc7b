/// \file
/// What a set of samples says: the median with its quartiles, and when two of them are equal.
#pragma once

#include <span>

namespace warpbook {

/// Times of one thing, in seconds.
struct Summary {
  double median = 0;  ///< Half of the samples are at most this.
  double p25 = 0;     ///< A quarter of the samples is at most this.
  double p75 = 0;     ///< Three quarters of the samples are at most this.
  double min = 0;     ///< The least sample.
  int samples = 0;    ///< How many there were.

  /// Half the distance between the quartiles, as a share of the median: the "±" of the tables.
  double spread() const { return median > 0 ? (p75 - p25) / 2 / median : 0; }
};

/// Medians that differ by less than this share are equal, whatever their spreads.
inline constexpr double kEqualShare = 0.02;

/// Quantiles interpolate linearly between neighbouring samples. No samples give zeros.
Summary summarize(std::span<const double> seconds);

/// How far the median may lie from that of endlessly many samples, as a share of it, with 95% confidence; 1 for fewer
/// than 6 samples. It is half the distance between two of the samples, those between whose places in the order the true
/// median is to be found by the binomial distribution alone: nothing is supposed of how they spread.
double median_uncertainty(std::span<const double> seconds);

/// True where two times cannot be told apart: the medians differ by less than 2% of the smaller one, or the ranges
/// between the quartiles overlap.
bool equal(const Summary& a, const Summary& b);

/// True where `a` is not slower than `b`: it is faster, or equal.
bool never_slower(const Summary& a, const Summary& b);

}  // namespace warpbook
