/// \file
/// cuRAND by its generators for the host and in kernels, beside numbers that cuRAND 10.4 gave for the seed 1234. Prints
/// what is wrong; the status is 1 then.
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char* what, const char* of = "") {
  if (right) return;
  std::printf("wrong: %s %s\n", what, of);
  ++wrong;
}

constexpr unsigned long long kSeed = 1234;
constexpr int kThreads = 128;

/// Each thread draws from a sequence of its own.
template <class State> __global__ void draw(unsigned* integers, float* uniform, double* doubles, float* normal) {
  const unsigned i = threadIdx.x;
  State state;
  curand_init(kSeed, i, 0, &state);
  integers[i] = curand(&state);
  curand_init(kSeed, i, 0, &state);
  uniform[i] = curand_uniform(&state);
  curand_init(kSeed, i, 0, &state);
  normal[2 * i] = curand_normal(&state);
  normal[2 * i + 1] = curand_normal(&state);
  curand_init(kSeed, i, 0, &state);
  doubles[i] = curand_uniform_double(&state);
}

/// Ways to one place of a sequence.
template <class State> __global__ void skip(int* same) {
  State walked;
  State asked;
  curand_init(kSeed, threadIdx.x, 0, &walked);
  for (unsigned i = 0; i < 3 * threadIdx.x + 1; ++i) curand(&walked);
  curand_init(kSeed, threadIdx.x, 3 * threadIdx.x + 1, &asked);
  State skipped;
  curand_init(kSeed, threadIdx.x, threadIdx.x, &skipped);
  skipahead(2 * threadIdx.x + 1, &skipped);
  const unsigned next = curand(&walked);
  if (curand(&asked) == next && curand(&skipped) == next) atomicAdd(same, 1);
}

__global__ void moments(double* sums) {
  curandStatePhilox4_32_10_t state;
  curand_init(kSeed, threadIdx.x, 0, &state);
  double of[6] = {};
  for (int i = 0; i < 100; ++i) {
    const double normal = i % 2 == 0 ? curand_normal_double(&state) : curand_normal4_double(&state).w;
    const double small = curand_poisson4(&state, 5.0).y;
    const double great = curand_poisson(&state, 200.0);
    const double each[] = {normal, normal * normal, small, small * small, great, great * great};
    for (int j = 0; j < 6; ++j) of[j] += each[j] / (100.0 * kThreads);
  }
  for (int j = 0; j < 6; ++j) atomicAdd(&sums[j], of[j]);
}

/// What cuRAND gave.
struct Known {
  const char* name;
  curandRngType_t type;
  unsigned integers[4];  ///< the first
  unsigned further[2];   ///< from the 4096th on
  float uniform;         ///< the first
  float normal;          ///< the first
  unsigned in_sequence;  ///< numbers that neighbours in the output come from one sequence
};
const Known kKnown[] = {
    {"XORWOW",
     CURAND_RNG_PSEUDO_DEFAULT,
     {624778773U, 3522650202U, 2363946744U, 1266286439U},
     {1867875844U, 3978931785U},
     0.145467639F,
     0.780973554F,
     1},
    {"MRG32k3a",
     CURAND_RNG_PSEUDO_MRG32K3A,
     {3379073520U, 653317650U, 4012281984U, 4237272334U},
     {2648318237U, 1156825951U},
     0.786751866F,
     -0.360653788F,
     1},
    {"Philox",
     CURAND_RNG_PSEUDO_PHILOX4_32_10,
     {546353992U, 3665621163U, 1140953199U, 3419031310U},
     {2053518784U, 926199030U},
     0.12720795F,
     -1.61649048F,
     4},
};

template <class T> T* managed(std::size_t n) {
  T* data = nullptr;
  cudaMallocManaged(&data, n * sizeof(T));
  return data;
}

bool close(float a, float b) { return std::abs(a - b) <= 2e-6F * (1 + std::abs(b)); }

template <class State> void check(const Known& known) {
  constexpr int n = 5000;
  curandGenerator_t generator = nullptr;
  expect(curandCreateGenerator(&generator, known.type) == CURAND_STATUS_SUCCESS, "create", known.name);
  const auto restart = [&] { curandSetPseudoRandomGeneratorSeed(generator, kSeed); };
  unsigned* integers = managed<unsigned>(n);
  float* uniform = managed<float>(n);
  double* doubles = managed<double>(n);
  float* normal = managed<float>(n);
  restart();
  expect(curandGenerate(generator, integers, 3) == CURAND_STATUS_SUCCESS, "integers", known.name);
  expect(curandGenerate(generator, integers + 3, n - 3) == CURAND_STATUS_SUCCESS, "integers", known.name);
  cudaDeviceSynchronize();
  for (int i = 0; i < 4; ++i) expect(integers[i] == known.integers[i], "integers", known.name);
  for (int i = 0; i < 2; ++i) expect(integers[4096 + i] == known.further[i], "further integers", known.name);
  curandSetGeneratorOffset(generator, 4096);
  unsigned* later = managed<unsigned>(2);
  curandGenerate(generator, later, 2);
  cudaDeviceSynchronize();
  for (int i = 0; i < 2; ++i) expect(later[i] == known.further[i], "offset", known.name);
  curandSetGeneratorOffset(generator, 0);
  restart();
  curandGenerateUniform(generator, uniform, n);
  restart();
  curandGenerateNormal(generator, normal, n, 0, 1);
  restart();
  curandGenerateUniformDouble(generator, doubles, n);
  cudaDeviceSynchronize();
  expect(uniform[0] == known.uniform, "uniform", known.name);
  expect(close(normal[0], known.normal), "normal", known.name);
  expect(curandGenerateNormal(generator, normal, 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE, "odd length",
         known.name);

  unsigned* drawn = managed<unsigned>(kThreads);
  float* drawn_uniform = managed<float>(kThreads);
  double* drawn_doubles = managed<double>(kThreads);
  float* drawn_normal = managed<float>(2 * kThreads);
  draw<State><<<1, kThreads>>>(drawn, drawn_uniform, drawn_doubles, drawn_normal);
  expect(cudaDeviceSynchronize() == cudaSuccess, "kernel", known.name);
  const auto step = known.in_sequence;
  for (unsigned i = 0; i < kThreads; ++i) {
    expect(drawn[i] == integers[i * step], "integers in a kernel", known.name);
    expect(drawn_uniform[i] == uniform[i * step], "uniform in a kernel", known.name);
    const unsigned pair = i * std::max(step, 2U);
    expect(close(drawn_normal[2 * i], normal[pair]) && close(drawn_normal[2 * i + 1], normal[pair + 1]),
           "normal in a kernel", known.name);
    if (step == 1) expect(drawn_doubles[i] == doubles[i], "doubles in a kernel", known.name);
  }
  int* same = managed<int>(1);
  skip<State><<<1, kThreads>>>(same);
  expect(cudaDeviceSynchronize() == cudaSuccess && *same == kThreads, "skipahead", known.name);
  expect(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS, "destroy", known.name);

  std::vector<unsigned> on_host(4);
  curandCreateGeneratorHost(&generator, known.type);
  restart();
  curandGenerate(generator, on_host.data(), 4);
  for (int i = 0; i < 4; ++i) expect(on_host[i] == known.integers[i], "host's memory", known.name);
  curandDestroyGenerator(generator);
  for (void* memory : {static_cast<void*>(integers), static_cast<void*>(uniform), static_cast<void*>(doubles),
                       static_cast<void*>(normal), static_cast<void*>(later), static_cast<void*>(drawn),
                       static_cast<void*>(drawn_uniform), static_cast<void*>(drawn_doubles),
                       static_cast<void*>(drawn_normal), static_cast<void*>(same)}) {
    cudaFree(memory);
  }
}

}  // namespace

int main(int count, char**) {
  if (count > 1) {  // Memory of the host for a generator of the device.
    curandGenerator_t generator = nullptr;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    std::vector<float> host(8);
    curandGenerateUniform(generator, host.data(), host.size());
    return 0;
  }
  check<curandState>(kKnown[0]);
  check<curandStateMRG32k3a_t>(kKnown[1]);
  check<curandStatePhilox4_32_10_t>(kKnown[2]);
  double* sums = managed<double>(6);
  moments<<<1, kThreads>>>(sums);
  cudaDeviceSynchronize();
  expect(std::abs(sums[0]) < 0.05 && std::abs(sums[1] - 1) < 0.05, "moments of normal numbers");
  expect(std::abs(sums[2] - 5) < 0.1 && std::abs(sums[3] - sums[2] * sums[2] - 5) < 0.4, "moments of Poisson numbers");
  expect(std::abs(sums[4] - 200) < 1 && std::abs(sums[5] - sums[4] * sums[4] - 200) < 15,
         "moments of great Poisson numbers");
  cudaFree(sums);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
