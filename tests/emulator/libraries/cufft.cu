// cuFFT beside sums of its definition.
#include <cufftXt.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstring>
#include <vector>

using Complex = std::complex<double>;

static int bad = 0;

static void check(bool right, const char* what, int n) {
  if (!right && bad++ < 20) std::printf("wrong: %s, %d\n", what, n);
}

/// The definition, by one axis after the other.
static std::vector<Complex> expected(std::vector<Complex> in, const std::vector<int>& n, int sign) {
  size_t pitch = in.size();
  for (int length : n) {
    pitch /= length;
    std::vector<Complex> out(in.size());
    for (size_t at = 0; at < in.size(); ++at) {
      const int k = at / pitch % length;
      for (int j = 0; j < length; ++j)
        out[at] += in[at - (k - j) * static_cast<long>(pitch)] *
                   std::polar(1.0, sign * 2 * M_PI * (static_cast<long>(j) * k % length) / length);
    }
    in = out;
  }
  return in;
}

static std::vector<Complex> numbers(size_t n, bool reals) {
  std::vector<Complex> result(n);
  for (size_t i = 0; i < n; ++i) result[i] = {std::sin(i * 1.7) + 0.25, reals ? 0 : std::cos(i * 2.3)};
  return result;
}

template <class T> static T* room(size_t n) {
  T* place;
  cudaMallocManaged(&place, n * sizeof(T));
  return place;
}

template <class C> static bool is_near(const C& is, const Complex& should, double by) {
  return std::abs(Complex(is.x, is.y) - should) < by;
}

static void lines(int n, int batch) {
  const auto in = numbers(static_cast<size_t>(n) * batch, false);
  float2* data = room<float2>(in.size());
  double2 *from = room<double2>(in.size()), *to = room<double2>(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    data[i] = make_float2(in[i].real(), in[i].imag());
    from[i] = make_double2(in[i].real(), in[i].imag());
  }
  cufftHandle single, wide;
  check(cufftPlan1d(&single, n, CUFFT_C2C, batch) == CUFFT_SUCCESS, "plan", n);
  check(cufftPlan1d(&wide, n, CUFFT_Z2Z, batch) == CUFFT_SUCCESS, "plan", n);
  check(cufftExecC2C(single, data, data, CUFFT_FORWARD) == CUFFT_SUCCESS, "C2C", n);
  check(cufftExecZ2Z(wide, from, to, CUFFT_INVERSE) == CUFFT_SUCCESS, "Z2Z", n);
  cudaDeviceSynchronize();
  for (int b = 0; b < batch; ++b) {
    const std::vector<Complex> line(in.begin() + b * n, in.begin() + (b + 1) * n);
    const auto forward = expected(line, {n}, -1);
    const auto inverse = expected(line, {n}, 1);
    for (int k = 0; k < n; ++k) {
      check(is_near(data[b * n + k], forward[k], 1e-4 * std::sqrt(n)), "forward", n);
      check(is_near(to[b * n + k], inverse[k], 1e-10 * n), "inverse", n);
    }
  }
  cufftDestroy(single), cufftDestroy(wide);
  cudaFree(data), cudaFree(from), cudaFree(to);
}

static void cubes(const std::vector<int>& n) {
  size_t all = 1;
  for (int each : n) all *= each;
  const int last = n.back(), half = last / 2 + 1;
  const size_t rows = all / last;
  const auto in = numbers(all, true);
  const auto out = expected(in, n, -1);
  double *reals = room<double>(all), *again = room<double>(all);
  double2* halves = room<double2>(rows * half);
  float* in_place = room<float>(rows * half * 2);
  for (size_t i = 0; i < all; ++i) {
    reals[i] = in[i].real();
    in_place[i / last * half * 2 + i % last] = in[i].real();
  }
  cufftHandle forward, back, single;
  if (n.size() == 1) {
    cufftPlan1d(&forward, n[0], CUFFT_D2Z, 1), cufftPlan1d(&back, n[0], CUFFT_Z2D, 1);
    cufftPlan1d(&single, n[0], CUFFT_R2C, 1);
  } else if (n.size() == 2) {
    cufftPlan2d(&forward, n[0], n[1], CUFFT_D2Z), cufftPlan2d(&back, n[0], n[1], CUFFT_Z2D);
    cufftPlan2d(&single, n[0], n[1], CUFFT_R2C);
  } else {
    cufftPlan3d(&forward, n[0], n[1], n[2], CUFFT_D2Z), cufftPlan3d(&back, n[0], n[1], n[2], CUFFT_Z2D);
    cufftPlan3d(&single, n[0], n[1], n[2], CUFFT_R2C);
  }
  check(cufftExecD2Z(forward, reals, halves) == CUFFT_SUCCESS, "D2Z", last);
  check(cufftExecR2C(single, in_place, reinterpret_cast<float2*>(in_place)) == CUFFT_SUCCESS, "R2C", last);
  check(cufftExecZ2D(back, halves, again) == CUFFT_SUCCESS, "Z2D", last);
  cudaDeviceSynchronize();
  for (size_t row = 0; row < rows; ++row) {
    for (int k = 0; k < half; ++k) {
      check(is_near(halves[row * half + k], out[row * last + k], 1e-9 * all), "of reals", last);
      check(is_near(reinterpret_cast<float2*>(in_place)[row * half + k], out[row * last + k], 1e-4 * std::sqrt(all)),
            "of reals in place", last);
    }
  }
  for (size_t i = 0; i < all; ++i)
    check(std::abs(again[i] / static_cast<double>(all) - in[i].real()) < 1e-12 * all, "to reals", last);
  cufftDestroy(forward), cufftDestroy(back), cufftDestroy(single);
  cudaFree(reals), cudaFree(again), cudaFree(halves), cudaFree(in_place);
}

/// The columns of a matrix, each a batch; then a part of each row, on a stream.
static void strides() {
  constexpr int kRows = 12, kColumns = 5;
  const auto in = numbers(kRows * kColumns, false);
  float2 *from = room<float2>(in.size()), *to = room<float2>(in.size());
  for (size_t i = 0; i < in.size(); ++i) from[i] = make_float2(in[i].real(), in[i].imag());
  cufftHandle plan;
  int n[] = {kRows};
  check(cufftPlanMany(&plan, 1, n, n, kColumns, 1, n, 1, kRows, CUFFT_C2C, kColumns) == CUFFT_SUCCESS, "many", 1);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cufftSetStream(plan, stream);
  check(cufftExecC2C(plan, from, to, CUFFT_FORWARD) == CUFFT_SUCCESS, "columns", 1);
  cudaStreamSynchronize(stream);
  for (int column = 0; column < kColumns; ++column) {
    std::vector<Complex> line(kRows);
    for (int row = 0; row < kRows; ++row) line[row] = in[row * kColumns + column];
    const auto out = expected(line, {kRows}, -1);
    for (int k = 0; k < kRows; ++k) check(is_near(to[column * kRows + k], out[k], 1e-4), "columns", column);
  }
  check(cufftExecR2C(plan, nullptr, to) == CUFFT_INVALID_TYPE, "type", 0);
  cufftDestroy(plan);
  check(cufftExecC2C(plan, from, to, CUFFT_FORWARD) == CUFFT_INVALID_PLAN, "destroyed", 0);
  cudaStreamDestroy(stream);
  cudaFree(from), cudaFree(to);
}

int main(int count, char**) {
  if (count > 1) {
    cufftHandle plan;
    float2* place;
    cudaMalloc(&place, 99 * sizeof(float2));
    cufftPlan1d(&plan, 100, CUFFT_C2C, 1);
    cufftExecC2C(plan, place, place, CUFFT_FORWARD);
    cudaFree(place);
    return 0;
  }
  for (int n : {1, 2, 8, 12, 61, 67, 100, 134, 257, 360}) lines(n, n < 100 ? 3 : 1);
  cubes({16}), cubes({15}), cubes({6, 10}), cubes({7, 9}), cubes({4, 3, 6}), cubes({2, 5, 3});
  strides();
  std::printf("%d wrong\n", bad);
  return bad != 0;
}
