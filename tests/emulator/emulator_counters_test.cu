// The emulator's counters against values worked out by hand.

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <warpbook_emulator.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/cuda/launch.cuh"
#include "tests/catch.hpp"

using warpbook::ceil_div;
using warpbook::launch;
namespace emulator = warpbook::emulator;

namespace {

/// Device memory of n elements, 0 in every byte. Begins at a multiple of 256 bytes.
template <class T> class Array {
public:
  explicit Array(std::size_t n) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemset(data_, 0, n * sizeof(T)) == cudaSuccess);
  }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* get() const { return data_; }

private:
  T* data_ = nullptr;
};

/// The counters of one launch, from every block.
template <class... P, class... A>
emulator::LaunchReport run(void (*kernel)(P...), const warpbook::LaunchConfig& config, A... arguments) {
  emulator::set_trace(emulator::TraceMode::all);
  REQUIRE(launch(kernel, config, arguments...) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  emulator::set_trace(emulator::TraceMode::sample);
  return emulator::last_launch();
}

/// True within a share of the expected value (or a unit).
bool close(double value, double expected, double share) {
  return std::abs(value - expected) <= std::max(1.0, share * std::abs(expected));
}

double loads(const emulator::LaunchReport& r) { return r.counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"); }
double load_sectors(const emulator::LaunchReport& r) {
  return r.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
}
double stores(const emulator::LaunchReport& r) { return r.counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"); }
double store_sectors(const emulator::LaunchReport& r) {
  return r.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum");
}
double shared_loads(const emulator::LaunchReport& r) { return r.counter("smsp__inst_executed_op_shared_ld.sum"); }
double shared_load_wavefronts(const emulator::LaunchReport& r) {
  return r.counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum");
}
double shared_load_conflicts(const emulator::LaunchReport& r) {
  return r.counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum");
}
double shared_store_wavefronts(const emulator::LaunchReport& r) {
  return r.counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum");
}
double divisions_32(const emulator::LaunchReport& r) { return r.counter("warpbook__integer_divisions_32bit.sum"); }
double divisions_64(const emulator::LaunchReport& r) { return r.counter("warpbook__integer_divisions_64bit.sum"); }

// ------------------------------------------------------------------------------------------------------- transposes

constexpr int kTile = 32;

/// The running thread's index in its block, as the signed integer that the kernels compute with.
__device__ int thread() { return static_cast<int>(threadIdx.x); }

template <class Index> __global__ void transpose_naive(float* out, const float* in, Index n) {
  const Index i = static_cast<Index>(blockIdx.x) * static_cast<Index>(blockDim.x) + static_cast<Index>(threadIdx.x);
  if (i >= n * n) return;
  out[i] = in[i % n * n + i / n];
}

template <int pad> __global__ void transpose_tile(float* out, const float* in, int n) {
  __shared__ float tile[kTile][kTile + pad];
  const int x = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  const int to_x = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.x);
  const int to_y = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.y);
  out[to_y * n + to_x] = tile[threadIdx.x][threadIdx.y];
}

// ------------------------------------------------------------------------------------------------------ struct copies

template <class T, int N> struct alignas(sizeof(T) * N) Pack {
  T element[N];
};

__global__ void scale_pack(Pack<__half, 8>* out, const Pack<__half, 8>* in) {
  Pack<__half, 8> pack = in[threadIdx.x];
  for (int i = 0; i < 8; ++i) pack.element[i] = __hadd(pack.element[i], pack.element[i]);
  out[threadIdx.x] = pack;
}

template <int n> __device__ Pack<__half, n> load_pack(const Pack<__half, n>* from) { return *from; }

/// What a function returns, taken apart by a loop that may not run.
template <int n> __global__ void returned_packs(float* out, const Pack<__half, n>* in, int turns) {
  float sums[n]{};
  for (int k = 0; k < turns; ++k) {
    const Pack<__half, n> pack = load_pack(in + k * 32 + threadIdx.x);
#pragma unroll
    for (int i = 0; i < n; ++i) sums[i] += __half2float(pack.element[i]);
  }
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = sum * 2 + sums[i];
  out[threadIdx.x] = sum;
}

__global__ void float4_fields(float4* out, const float4* in) {
  const float4 v = in[threadIdx.x];
  out[threadIdx.x] = make_float4(v.w, v.z, v.y + v.x, v.x);
}

__global__ void as_uint4(float* out, const float* in) {
  *reinterpret_cast<uint4*>(out + 4 * threadIdx.x) = *reinterpret_cast<const uint4*>(in + 4 * threadIdx.x);
}

__global__ void unrolled_scalars(float* __restrict__ out, const float* __restrict__ in) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[4 * thread() + i] = in[4 * thread() + i];
}

__global__ void looped_scalars(float* __restrict__ out, const float* __restrict__ in, int n) {
  for (int i = 0; i < n; ++i) out[4 * thread() + i] = in[4 * thread() + i];
}

__global__ void packs_in_registers(float4* out, const float4* in) {
  float4 kept[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) kept[i] = in[i * 32 + thread()];
#pragma unroll
  for (int i = 0; i < 4; ++i) out[i * 32 + thread()] = kept[3 - i];
}

__global__ void three_floats(float3* out, const float3* in) { out[threadIdx.x] = in[threadIdx.x]; }

__global__ void cleared(unsigned char* out) {
#pragma unroll
  for (int i = 0; i < 4; ++i) out[4 * thread() + i] = 0;
}

__global__ void increment(float* data) { data[threadIdx.x] += 1.0F; }

// ------------------------------------------------------------------------------------------------------- divisions

template <class T> __global__ void quotient_and_remainder(T* out, T d) {
  const T i = static_cast<T>(threadIdx.x);
  out[threadIdx.x] = i / d + i % d;
}
template <class T> __global__ void remainder_only(T* out, T d) { out[threadIdx.x] = static_cast<T>(threadIdx.x) % d; }
template <class T> __global__ void subtracted_remainder(T* out, T d) {
  const T i = static_cast<T>(threadIdx.x);
  const T q = i / d;
  out[threadIdx.x] = i - q * d;
}
template <class T> __global__ void constant_divisor(T* out) {
  out[threadIdx.x] = static_cast<T>(threadIdx.x) / 7 + static_cast<T>(threadIdx.x) % 48;
}

/// Divisors that double from turn to turn: clang sees powers of two, of which it makes masks.
__global__ void doubled_divisor(std::int32_t* out, int end) {
  for (int s = 1; s < end; s *= 2) out[threadIdx.x] += threadIdx.x % (2 * s);
}
__global__ void doubled_divisor_unrolled(std::int32_t* out) {
  for (int s = 1; s < 16; s *= 2) out[threadIdx.x] += threadIdx.x % (2 * s);
}
__global__ void shifted_divisor(std::int32_t* out, int bits) { out[threadIdx.x] = threadIdx.x % (1U << bits); }

// ------------------------------------------------------------------------------------------------ strides and banks

template <class T> __global__ void strided_load(T* out, const T* in, int stride) {
  out[threadIdx.x] = in[thread() * stride];
}

template <class T> __global__ void shared_stride(T* out, int stride) {
  T* shared = warpbook::dynamic_shared<T>();
  for (unsigned i = threadIdx.x; i < 32U * static_cast<unsigned>(stride); i += 32) shared[i] = T{};
  __syncthreads();
  out[threadIdx.x] = shared[thread() * stride];
}

__global__ void shared_broadcast(float* out) {
  __shared__ float one[64];
  one[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = one[5];
}

__global__ void half_warp_leaves(float* out, const float* in) {
  if (threadIdx.x >= 16) return;
  out[threadIdx.x] = in[threadIdx.x];
}

__global__ void trip_counts(float* out, const float* in) {
  float sum = 0;
  for (unsigned i = 0; i <= threadIdx.x; ++i) sum += in[i * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}

__global__ void add_to(float* sums, int addresses) { atomicAdd(&sums[thread() % addresses], 1.0F); }
__global__ void take_tickets(unsigned* tickets, unsigned* next) { tickets[threadIdx.x] = atomicAdd(next, 1U); }

__global__ void long_loop(float* data, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += data[i % 2 * 32 + thread()];
  data[threadIdx.x] = sum;
}

__global__ void copy_one(float* out, const float* in, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

/// Whichever way its arrays lie in the host's memory, they do not all begin in the same bank.
__global__ void three_tables(int* out) {
  __shared__ int one[36];
  __shared__ int two[36];
  __shared__ int three[36];
  one[threadIdx.x] = 1;
  two[threadIdx.x] = 2;
  three[threadIdx.x] = 3;
  __syncthreads();
  out[threadIdx.x] = one[threadIdx.x ^ 1] + two[threadIdx.x ^ 1] + three[threadIdx.x ^ 1];
}

}  // namespace

TEST_CASE("a naive transpose reads a sector a lane") {
  constexpr int kN = 1024;
  constexpr double kRequests = kN * kN / 32.0;
  const Array<float> in(kN * kN + 8);
  const Array<float> out(kN * kN);
  SECTION("32-bit indices") {
    const auto seen = run(transpose_naive<int>, {.grid = kN * kN / 256, .block = 256}, out.get(), in.get(), kN);
    CHECK(loads(seen) == kRequests);
    CHECK(load_sectors(seen) == 32 * kRequests);
    CHECK(stores(seen) == kRequests);
    CHECK(store_sectors(seen) == 4 * kRequests);
    CHECK(divisions_32(seen) == kN * kN);  // quotient and remainder are one
    CHECK(divisions_64(seen) == 0);
    CHECK_FALSE(seen.extrapolated);
  }
  SECTION("64-bit indices") {
    const auto seen =
        run(transpose_naive<std::int64_t>, {.grid = kN * kN / 256, .block = 256}, out.get(), in.get(), kN);
    CHECK(divisions_64(seen) == kN * kN);
    CHECK(divisions_32(seen) == 0);
  }
  SECTION("an output off 32 bytes") {
    const Array<float> shifted(kN * kN + 8);
    const auto seen = run(transpose_naive<int>, {.grid = kN * kN / 256, .block = 256}, shifted.get() + 1, in.get(), kN);
    CHECK(store_sectors(seen) == 5 * kRequests);
  }
}

TEST_CASE("a tile without padding conflicts 32 ways, one with padding not at all") {
  constexpr int kN = 1024;
  constexpr double kRequests = kN * kN / 32.0;
  const Array<float> in(kN * kN);
  const Array<float> out(kN * kN);
  const warpbook::LaunchConfig config{.grid = dim3(kN / kTile, kN / kTile), .block = dim3(kTile, kTile)};
  const auto plain = run(transpose_tile<0>, config, out.get(), in.get(), kN);
  CHECK(load_sectors(plain) == 4 * kRequests);
  CHECK(store_sectors(plain) == 4 * kRequests);
  CHECK(shared_store_wavefronts(plain) == kRequests);
  CHECK(shared_load_wavefronts(plain) == 32 * kRequests);
  CHECK(shared_load_conflicts(plain) == 31 * kRequests);
  const auto padded = run(transpose_tile<1>, config, out.get(), in.get(), kN);
  CHECK(shared_store_wavefronts(padded) == kRequests);
  CHECK(shared_load_wavefronts(padded) == kRequests);
  CHECK(shared_load_conflicts(padded) == 0);
  // Everything is read and written once: the DRAM sees the matrix, and the L2 keeps what is written.
  CHECK(padded.counter("lts__t_sectors_srcunit_tex_op_read.sum") == 4 * kRequests);
  CHECK(padded.counter("lts__t_sectors_srcunit_tex_op_write.sum") == 4 * kRequests);
  // Half of it is passed on between the L2's two partitions.
  CHECK(padded.counter("lts__t_sectors_op_read.sum") == 6 * kRequests);
  CHECK(padded.counter("lts__t_sectors_op_write.sum") == 6 * kRequests);
  CHECK(padded.counter("dram__bytes_read.sum") == kN * kN * 4.0);
  CHECK(padded.counter("dram__bytes_write.sum") == 0);
  CHECK(padded.modelled_seconds < plain.modelled_seconds);
}

TEST_CASE("a struct copy is one access of its width") {
  const Array<float4> in(128);
  const Array<float4> out(128);
  const auto one_wide = [](const emulator::LaunchReport& seen, double requests) {
    CHECK(loads(seen) == requests);
    CHECK(stores(seen) == requests);
    CHECK(load_sectors(seen) == 16 * requests);
    CHECK(store_sectors(seen) == 16 * requests);
  };
  SECTION("eight halves with arithmetic on each") {
    one_wide(run(scale_pack, {.block = 32}, reinterpret_cast<Pack<__half, 8>*>(out.get()),
                 reinterpret_cast<const Pack<__half, 8>*>(in.get())),
             1);
  }
  SECTION("float4 by field") { one_wide(run(float4_fields, {.block = 32}, out.get(), in.get()), 1); }
  SECTION("uint4 by reinterpret_cast") {
    one_wide(
        run(as_uint4, {.block = 32}, reinterpret_cast<float*>(out.get()), reinterpret_cast<const float*>(in.get())), 1);
  }
  SECTION("an array of float4 in registers") {
    one_wide(run(packs_in_registers, {.block = 32}, out.get(), in.get()), 4);
  }
  SECTION("what a function returns") {
    const auto loads_of = [&]<int n>(void (*kernel)(float*, const Pack<__half, n>*, int)) {
      return loads(run(kernel, {.block = 32}, reinterpret_cast<float*>(out.get()),
                       reinterpret_cast<const Pack<__half, n>*>(in.get()), 2));
    };
    CHECK(loads_of(returned_packs<2>) == 2);
    CHECK(loads_of(returned_packs<4>) == 2);
    CHECK(loads_of(returned_packs<8>) == 2);
  }
  SECTION("float3 is three") {
    const auto seen = run(three_floats, {.block = 32}, reinterpret_cast<float3*>(out.get()),
                          reinterpret_cast<const float3*>(in.get()));
    CHECK(loads(seen) == 3);
    CHECK(stores(seen) == 3);
    CHECK(load_sectors(seen) == 36);  // each touches all 12 sectors of 384 bytes
  }
}

TEST_CASE("separate accesses stay separate") {
  const Array<float> in(128);
  const Array<float> out(128);
  SECTION("unrolled scalars") {
    const auto seen = run(unrolled_scalars, {.block = 32}, out.get(), in.get());
    CHECK(loads(seen) == 4);
    CHECK(stores(seen) == 4);
    CHECK(load_sectors(seen) == 64);
  }
  SECTION("scalars in a loop") {
    const auto seen = run(looped_scalars, {.block = 32}, out.get(), in.get(), 4);
    CHECK(loads(seen) == 4);
    CHECK(stores(seen) == 4);
  }
  SECTION("bytes set to zero") {
    CHECK(stores(run(cleared, {.block = 32}, reinterpret_cast<unsigned char*>(out.get()))) == 4);
  }
  SECTION("a read before a write") {
    const auto seen = run(increment, {.block = 32}, out.get());
    CHECK(loads(seen) == 1);
    CHECK(stores(seen) == 1);
  }
}

TEST_CASE("divisions at run time are counted by width") {
  const Array<std::int64_t> out(32);
  auto* const out32 = reinterpret_cast<std::int32_t*>(out.get());
  CHECK(divisions_32(run(quotient_and_remainder<std::int32_t>, {.block = 32}, out32, 5)) == 32);
  CHECK(divisions_32(run(remainder_only<std::int32_t>, {.block = 32}, out32, 5)) == 32);
  CHECK(divisions_32(run(subtracted_remainder<std::int32_t>, {.block = 32}, out32, 5)) == 32);
  CHECK(divisions_32(run(constant_divisor<std::int32_t>, {.block = 32}, out32)) == 0);
  CHECK(divisions_32(run(doubled_divisor, {.block = 32}, out32, 16)) == 4 * 32);
  CHECK(divisions_32(run(doubled_divisor_unrolled, {.block = 32}, out32)) == 0);
  CHECK(divisions_32(run(shifted_divisor, {.block = 32}, out32, 4)) == 0);
  CHECK(divisions_64(run(quotient_and_remainder<std::int64_t>, {.block = 32}, out.get(), 5)) == 32);
  CHECK(divisions_64(run(remainder_only<std::int64_t>, {.block = 32}, out.get(), 5)) == 32);
  CHECK(divisions_64(run(subtracted_remainder<std::int64_t>, {.block = 32}, out.get(), 5)) == 32);
  CHECK(divisions_64(run(constant_divisor<std::int64_t>, {.block = 32}, out.get())) == 0);
}

TEST_CASE("sectors follow width, stride and active lanes") {
  const Array<float4> in(32 * 32);
  const Array<float4> out(32);
  const auto floats = [&](int stride) {
    return load_sectors(run(strided_load<float>, {.block = 32}, reinterpret_cast<float*>(out.get()),
                            reinterpret_cast<const float*>(in.get()), stride));
  };
  CHECK(floats(0) == 1);
  CHECK(floats(1) == 4);
  CHECK(floats(2) == 8);
  CHECK(floats(3) == 12);
  CHECK(floats(8) == 32);
  CHECK(floats(31) == 32);
  CHECK(load_sectors(run(strided_load<double>, {.block = 32}, reinterpret_cast<double*>(out.get()),
                         reinterpret_cast<const double*>(in.get()), 3)) == 24);
  CHECK(load_sectors(run(strided_load<float4>, {.block = 32}, out.get(), in.get(), 2)) == 32);
  CHECK(load_sectors(run(strided_load<float4>, {.block = 32}, out.get(), in.get(), 1)) == 16);
  CHECK(load_sectors(run(half_warp_leaves, {.block = 32}, reinterpret_cast<float*>(out.get()),
                         reinterpret_cast<const float*>(in.get()))) == 2);
}

TEST_CASE("shared-memory wavefronts follow the banks") {
  const Array<float4> out(32);
  const auto wavefronts = [&]<class T>(T*, int stride) {
    const auto seen =
        run(shared_stride<T>, {.block = 32, .shared_bytes = 32 * sizeof(T) * static_cast<unsigned>(stride)},
            reinterpret_cast<T*>(out.get()), stride);
    CHECK(shared_loads(seen) == 1);
    return shared_load_wavefronts(seen);
  };
  // Lanes that share a bank of 32: gcd(stride, 32).
  for (const auto& [stride, expected] : std::vector<std::pair<int, int>>{
           {1, 1}, {2, 2}, {3, 1}, {4, 4}, {5, 1}, {8, 8}, {12, 4}, {16, 16}, {31, 1}, {32, 32}, {33, 1}})
    CHECK(wavefronts(static_cast<float*>(nullptr), stride) == expected);
  // Two half-warps, each of 16 lanes on 16 pairs of banks.
  for (const auto& [stride, expected] :
       std::vector<std::pair<int, int>>{{1, 2}, {2, 4}, {3, 2}, {4, 8}, {8, 16}, {15, 2}, {16, 32}})
    CHECK(wavefronts(static_cast<double*>(nullptr), stride) == expected);
  // Four quarter-warps, each of 8 lanes on 8 quads of banks.
  for (const auto& [stride, expected] : std::vector<std::pair<int, int>>{{1, 4}, {2, 8}, {3, 4}, {4, 16}, {8, 32}})
    CHECK(wavefronts(static_cast<float4*>(nullptr), stride) == expected);
  // Two-byte elements: two lanes to a word.
  CHECK(wavefronts(static_cast<short*>(nullptr), 1) == 1);
  CHECK(wavefronts(static_cast<short*>(nullptr), 2) == 1);
  CHECK(wavefronts(static_cast<short*>(nullptr), 4) == 2);
  CHECK(shared_load_wavefronts(run(shared_broadcast, {.block = 64}, reinterpret_cast<float*>(out.get()))) == 2);
}

TEST_CASE("lanes with different trip counts stay in step from the loop's begin") {
  const Array<float> in(1024);
  const Array<float> out(32);
  const auto seen = run(trip_counts, {.block = 32}, out.get(), in.get());
  CHECK(loads(seen) == 32);
  // Iteration i is made by lanes i to 31.
  double sectors = 0;
  for (int i = 0; i < 32; ++i) sectors += 4 - i / 8;
  CHECK(load_sectors(seen) == sectors);
}

TEST_CASE("atomics") {
  const Array<float> sums(32);
  const Array<unsigned> tickets(33);
  SECTION("a result that nobody uses makes a reduction") {
    const auto seen = run(add_to, {.block = 32}, sums.get(), 32);
    CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum") == 1);
    CHECK(seen.counter("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum") == 4);
    CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") == 0);
    CHECK(seen.counter("warpbook__atomic_collisions.sum") == 0);
    CHECK(loads(seen) == 0);
  }
  SECTION("lanes at one address collide") {
    CHECK(run(add_to, {.block = 32}, sums.get(), 4).counter("warpbook__atomic_collisions.sum") == 28);
    CHECK(run(add_to, {.block = 32}, sums.get(), 1).counter("warpbook__atomic_collisions.sum") == 31);
  }
  SECTION("a result that is used") {
    const auto seen = run(take_tickets, {.block = 32}, tickets.get(), tickets.get() + 32);
    CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") == 1);
    CHECK(seen.counter("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum") == 0);
  }
}

TEST_CASE("a long loop is counted in bounded memory") {
  const Array<float> data(64);
  const auto seen = run(long_loop, {.block = 32}, data.get(), 100'000);
  CHECK(close(loads(seen), 100'000, 0.01));
  CHECK(seen.extrapolated);
  CHECK_FALSE(run(long_loop, {.block = 32}, data.get(), 4000).extrapolated);
}

TEST_CASE("a sample of the blocks tells what all blocks tell") {
  constexpr int kN = 3 * 1024 * 1024 + 5;
  const Array<float> in(kN);
  const Array<float> out(kN);
  const warpbook::LaunchConfig config{.grid = ceil_div(kN, 256), .block = 256};
  const auto all = run(copy_one, config, out.get(), in.get(), kN);
  REQUIRE(launch(copy_one, config, out.get(), in.get(), kN) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const auto sampled = emulator::last_launch();
  CHECK_FALSE(all.extrapolated);
  CHECK(sampled.extrapolated);
  CHECK(all.counters.size() == sampled.counters.size());
  for (const auto& [name, value] : all.counters) {
    INFO(name);
    CHECK(close(sampled.counter(name), value, 0.01));
  }
  CHECK(std::abs(sampled.modelled_seconds / all.modelled_seconds - 1) < 0.01);
}

TEST_CASE("counters do not depend on chance") {
  const Array<float> in(1 << 20);
  const Array<float> out(1 << 20);
  const warpbook::LaunchConfig config{.grid = 4096, .block = 256};
  const auto first = run(transpose_naive<int>, config, out.get(), in.get(), 1024);
  for (int i = 0; i < 3; ++i) {
    const auto again = run(transpose_naive<int>, config, out.get(), in.get(), 1024);
    CHECK(again.counters == first.counters);
    CHECK(again.modelled_seconds == first.modelled_seconds);
  }
}

TEST_CASE("a map's banks are counted from the array's begin") {
  const Array<int> out(32);
  emulator::map_accesses();
  run(three_tables, {.grid = 1, .block = 32}, out.get());
  const std::string map = emulator::take_access_map("three tables");
  // What stands in the boxes, from bank 0 on.
  std::string boxes;
  constexpr std::string_view kBox = "<text class=\"small in\"";
  for (std::size_t at = map.find(kBox); at != std::string::npos; at = map.find(kBox, at + 1)) {
    const std::size_t begin = map.find('>', at) + 1;
    boxes += map.substr(begin, map.find('<', begin) - begin) + " ";
  }
  std::string stored;
  std::string loaded;
  for (int bank = 0; bank < 32; ++bank) {
    stored += std::to_string(bank) + " ";
    loaded += std::to_string(bank ^ 1) + " ";
  }
  CHECK(boxes.starts_with(stored + stored + stored + loaded + loaded + loaded));
}
