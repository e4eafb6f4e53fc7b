/// \file
/// Kernels as learners write them: nobody tuned them. The model of time is judged on those that it was not fitted to.
///
/// Plain CUDA with nothing of the book's, so that one file is all that a card needs:
///
///     learners                 times every kernel behind a cold L2, prints one JSON document
///     learners --once          launches every kernel once and prints what was launched, for a profiler
///     learners --samples 3     fewer samples
///     learners --only REGEX    some of them, by "name size"
///
/// The emulator runs the same file (scripts/emulate.py); tests/emulator/emulator_learners_test.py compares.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    const cudaError_t error = (call);                                                                                  \
    if (error != cudaSuccess) {                                                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));                              \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)

// --------------------------------------------------------------------------------------------------- matrix products

__global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
  }
}

#define TILE 16
__global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float as[TILE][TILE];
  __shared__ float bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y;
  int col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n / TILE; t++) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t * TILE + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t * TILE + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// ------------------------------------------------------------------------------------------------------------- walks

__global__ void column_walk(const float* in, float* out, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0;
  for (int row = 0; row < rows; row++) sum += in[row * cols + col];
  out[col] = sum;
}

__global__ void row_walk(const float* in, float* out, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int col = 0; col < cols; col++) sum += in[row * cols + col];
  out[row] = sum;
}

__global__ void saxpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}

__global__ void strided_sum(const float* in, float* out, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / stride) return;
  float sum = 0;
  for (int k = 0; k < stride; k++) sum += in[i * stride + k];
  out[i] = sum / stride;
}

// -------------------------------------------------------------------------------------------------------- reductions

__global__ void reduce_interleaved(const float* in, float* out) {
  __shared__ float data[256];
  int tid = threadIdx.x;
  data[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) data[tid] += data[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_sequential(const float* in, float* out) {
  __shared__ float data[256];
  int tid = threadIdx.x;
  data[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) data[tid] += data[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = data[0];
}

__global__ void reduce_shuffle(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// ----------------------------------------------------------------------------------------------------------- softmax

__global__ void softmax_rows(const float* in, float* out, int cols) {
  __shared__ float data[256];
  const float* x = in + blockIdx.x * cols;
  float* y = out + blockIdx.x * cols;
  int tid = threadIdx.x;
  float largest = -1e30f;
  for (int i = tid; i < cols; i += blockDim.x) largest = fmaxf(largest, x[i]);
  data[tid] = largest;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) data[tid] = fmaxf(data[tid], data[tid + s]);
    __syncthreads();
  }
  largest = data[0];
  __syncthreads();
  float sum = 0;
  for (int i = tid; i < cols; i += blockDim.x) sum += expf(x[i] - largest);
  data[tid] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) data[tid] += data[tid + s];
    __syncthreads();
  }
  sum = data[0];
  for (int i = tid; i < cols; i += blockDim.x) y[i] = expf(x[i] - largest) / sum;
}

// ---------------------------------------------------------------------------------------------------------- stencils

#define RADIUS 3
__global__ void stencil_1d(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < RADIUS || i >= n - RADIUS) return;
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; k++) sum += in[i + k];
  out[i] = sum / (2 * RADIUS + 1);
}

__global__ void stencil_1d_shared(const float* in, float* out, int n) {
  __shared__ float data[256 + 2 * RADIUS];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int local = threadIdx.x + RADIUS;
  data[local] = i < n ? in[i] : 0;
  if (threadIdx.x < RADIUS) {
    data[local - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
    data[local + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; k++) sum += data[local + k];
  if (i < n) out[i] = sum / (2 * RADIUS + 1);
}

__global__ void stencil_2d(const float* in, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

__global__ void stencil_2d_shared(const float* in, float* out, int width, int height) {
  __shared__ float tile[18][18];
  int x = blockIdx.x * 16 + threadIdx.x;
  int y = blockIdx.y * 16 + threadIdx.y;
  int tx = threadIdx.x + 1;
  int ty = threadIdx.y + 1;
  tile[ty][tx] = in[y * width + x];
  if (threadIdx.x == 0 && x > 0) tile[ty][0] = in[y * width + x - 1];
  if (threadIdx.x == 15 && x < width - 1) tile[ty][17] = in[y * width + x + 1];
  if (threadIdx.y == 0 && y > 0) tile[0][tx] = in[(y - 1) * width + x];
  if (threadIdx.y == 15 && y < height - 1) tile[17][tx] = in[(y + 1) * width + x];
  __syncthreads();
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  out[y * width + x] =
      0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

// -------------------------------------------------------------------------------------------------------- histograms

__global__ void histogram_global(const unsigned char* in, unsigned* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1);
}

__global__ void histogram_shared(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[in[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// ------------------------------------------------------------------------------------------------- structs and bytes

struct Particle {
  float x, y, z;
  float vx, vy, vz;
  float mass;
  int id;
};

__global__ void move_structs(Particle* particles, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  particles[i].x += particles[i].vx * dt;
  particles[i].y += particles[i].vy * dt;
  particles[i].z += particles[i].vz * dt;
}

__global__ void move_arrays(float* x, float* y, float* z, const float* vx, const float* vy, const float* vz, int n,
                            float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] += vx[i] * dt;
  y[i] += vy[i] * dt;
  z[i] += vz[i] * dt;
}

__global__ void image_to_grey(const unsigned char* rgb, unsigned char* grey, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  unsigned char r = rgb[3 * i];
  unsigned char g = rgb[3 * i + 1];
  unsigned char b = rgb[3 * i + 2];
  grey[i] = 0.299f * r + 0.587f * g + 0.114f * b;
}

// ------------------------------------------------------------------------------------------------------------ others

__global__ void gather(const float* in, const int* index, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

__global__ void block_scan(const float* in, float* out) {
  __shared__ float data[512];
  int tid = threadIdx.x;
  int i = blockIdx.x * blockDim.x + tid;
  data[tid] = in[i];
  __syncthreads();
  for (int offset = 1; offset < blockDim.x; offset *= 2) {
    float add = 0;
    if (tid >= offset) add = data[tid - offset];
    __syncthreads();
    data[tid] += add;
    __syncthreads();
  }
  out[i] = data[tid];
}

__global__ void dot_one_address(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, a[i] * b[i]);
}

/// A mean over frames: a thread's loads are a frame apart and need nothing of each other.
__global__ void mean_of_frames(const float* frames, float* out, int pixels, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float sum = 0;
  for (int f = 0; f < count; f++) sum += frames[f * pixels + i];
  out[i] = sum / count;
}

#define FEATURES 16
__global__ void normalise_rows(const float* in, float* out, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float x[FEATURES];
  float sum = 0;
  for (int k = 0; k < FEATURES; k++) {
    x[k] = in[row * FEATURES + k];
    sum += x[k] * x[k];
  }
  float scale = rsqrtf(sum + 1e-6f);
  for (int k = 0; k < FEATURES; k++) out[row * FEATURES + k] = x[k] * scale;
}

// -------------------------------------------------------------------------------------------------------------- host

namespace {

constexpr size_t kWords = size_t{32} << 20;  // of each array of floats
constexpr size_t kIndices = size_t{1} << 24;
constexpr size_t kBytes = 3 * kIndices;
constexpr size_t kFlushBytes = size_t{256} << 20;

// Drawn by lot before anything was measured: the model may be fitted to these ten, and is judged on the others.
const char* const kFitted[] = {"dot_one_address", "histogram_shared", "image_to_grey", "move_structs",
                               "normalise_rows",  "softmax_rows",     "stencil_1d",    "stencil_1d_shared",
                               "stencil_2d",      "stencil_2d_shared"};

unsigned hashed(unsigned i) {
  i *= 0x9e3779b9U;
  i ^= i >> 15;
  i *= 0x85ebca6bU;
  return i ^ i >> 13;
}

/// What every kernel takes its arguments from.
struct Arrays {
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  int* index = nullptr;
  unsigned char* bytes = nullptr;
};

struct Launch {
  std::string name;
  std::string size;
  std::function<void()> run;
};

int blocks_of(int n, int threads) { return (n + threads - 1) / threads; }

/// Every kernel on its sizes.
std::vector<Launch> launches(const Arrays& at) {
  std::vector<Launch> all;
  const auto add = [&all](const char* name, const std::string& size, std::function<void()> run) {
    all.push_back({name, size, std::move(run)});
  };
  const float *a = at.a, *b = at.b;
  float* c = at.c;
  const unsigned char* bytes = at.bytes;
  unsigned char* bytes_out = reinterpret_cast<unsigned char*>(at.c);
  const int* ints = at.index;
  for (const int n : {256, 1024}) {
    const dim3 grid(n / 16, n / 16), block(16, 16);
    add("matmul_naive", std::to_string(n), [=] { matmul_naive<<<grid, block>>>(a, b, c, n); });
    add("matmul_tiled", std::to_string(n), [=] { matmul_tiled<<<grid, block>>>(a, b, c, n); });
  }
  for (const auto& [rows, cols] : {std::pair{512, 1024}, {1024, 16384}})
    add("column_walk", std::to_string(rows) + "x" + std::to_string(cols),
        [=, rows = rows, cols = cols] { column_walk<<<blocks_of(cols, 128), 128>>>(a, c, rows, cols); });
  for (const auto& [rows, cols] : {std::pair{1024, 512}, {16384, 1024}})
    add("row_walk", std::to_string(rows) + "x" + std::to_string(cols),
        [=, rows = rows, cols = cols] { row_walk<<<blocks_of(rows, 256), 256>>>(a, c, rows, cols); });
  for (const int n : {1 << 20, 1 << 24}) {
    const std::string size = std::to_string(n);
    const int grid = blocks_of(n, 256);
    add("saxpy", size, [=] { saxpy<<<528, 256>>>(2.0F, a, c, n); });
    add("strided_sum", size, [=] { strided_sum<<<blocks_of(n / 32, 256), 256>>>(a, c, n, 32); });
    add("reduce_interleaved", size, [=] { reduce_interleaved<<<grid, 256>>>(a, c); });
    add("reduce_sequential", size, [=] { reduce_sequential<<<grid, 256>>>(a, c); });
    add("reduce_shuffle", size, [=] { reduce_shuffle<<<264, 512>>>(a, c, n); });
    add("softmax_rows", size, [=] { softmax_rows<<<n / 1024, 256>>>(a, c, 1024); });
    add("stencil_1d", size, [=] { stencil_1d<<<grid, 256>>>(a, c, n); });
    add("stencil_1d_shared", size, [=] { stencil_1d_shared<<<grid, 256>>>(a, c, n); });
    const int side = n == 1 << 20 ? 1024 : 4096;
    add("stencil_2d", size, [=] { stencil_2d<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(a, c, side, side); });
    add("stencil_2d_shared", size,
        [=] { stencil_2d_shared<<<dim3(side / 16, side / 16), dim3(16, 16)>>>(a, c, side, side); });
    unsigned* bins = reinterpret_cast<unsigned*>(c);
    add("histogram_global", size, [=] { histogram_global<<<grid, 256>>>(bytes, bins, n); });
    add("histogram_shared", size, [=] { histogram_shared<<<264, 256>>>(bytes, bins, n); });
    const int particles = n / 4;
    add("move_structs", std::to_string(particles),
        [=] { move_structs<<<blocks_of(particles, 256), 256>>>(reinterpret_cast<Particle*>(c), particles, 0.01F); });
    add("move_arrays", std::to_string(particles), [=] {
      move_arrays<<<blocks_of(particles, 256), 256>>>(c, c + particles, c + 2 * particles, a, a + particles,
                                                      a + 2 * particles, particles, 0.01F);
    });
    add("image_to_grey", size,
        [=] { image_to_grey<<<dim3(side / 16, side / 16), dim3(16, 16)>>>(bytes, bytes_out, side, side); });
    add("gather", size, [=] { gather<<<grid, 256>>>(a, ints, c, n); });
    add("block_scan", size, [=] { block_scan<<<n / 512, 512>>>(a, c); });
    add("dot_one_address", std::to_string(n / 16), [=] { dot_one_address<<<n / 16 / 256, 256>>>(a, b, c, n / 16); });
    add("mean_of_frames", size, [=] { mean_of_frames<<<n / 32 / 256, 256>>>(a, c, n / 32, 32); });
    add("normalise_rows", size, [=] { normalise_rows<<<n / FEATURES / 128, 128>>>(a, c, n / FEATURES); });
  }
  return all;
}

/// `values` in device memory, which has room for `count` of them.
template <class T> T* copied(const std::vector<T>& values, size_t count) {
  T* at = nullptr;
  CHECK(cudaMalloc(&at, count * sizeof(T)));
  CHECK(cudaMemset(at, 0, count * sizeof(T)));
  CHECK(cudaMemcpy(at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return at;
}

/// Fills the arrays: small floats, and places and bytes without order.
Arrays make_arrays() {
  std::vector<float> floats(kWords / 2);
  for (size_t i = 0; i < floats.size(); i++) floats[i] = static_cast<float>(hashed(i) % 1024) / 1024;
  std::vector<int> index(kIndices);
  for (size_t i = 0; i < index.size(); i++)
    index[i] = static_cast<int>(hashed(i) & (i < kIndices / 16 ? kIndices / 16 - 1 : kIndices - 1));
  std::vector<unsigned char> bytes(kBytes);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<unsigned char>(hashed(i) >> 7);
  return {copied(floats, kWords), copied(floats, kWords), copied(std::vector<float>(), kWords), copied(index, kIndices),
          copied(bytes, kBytes)};
}

/// Microseconds of a launch, in order: each behind a write over all of the L2, which also keeps the card busy until
/// the launch and both events are in the queue.
std::vector<float> time_launch(const Launch& launch, void* flush, int samples) {
  cudaEvent_t start;
  cudaEvent_t stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  launch.run();
  std::vector<float> times;
  for (int i = 0; i < samples; i++) {
    CHECK(cudaMemsetAsync(flush, i, kFlushBytes));
    CHECK(cudaEventRecord(start));
    launch.run();
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    times.push_back(milliseconds * 1000);
  }
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  bool once = false;
  int samples = 31;
  std::string only = ".*";
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--once") == 0) {
      once = true;
    } else if (std::strcmp(argv[i], "--samples") == 0 && i + 1 < argc) {
      samples = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only = argv[++i];
    } else {
      std::fprintf(stderr, "%s: accepted are --once, --samples N and --only REGEX\n", argv[i]);
      return 2;
    }
  }
  const Arrays at = make_arrays();
  void* flush = nullptr;
  if (!once) CHECK(cudaMalloc(&flush, kFlushBytes));
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("{\"device\":\"%s\",\"launches\":[", device.name);
  bool first = true;
  for (const Launch& launch : launches(at)) {
    if (!std::regex_search(launch.name + " " + launch.size, std::regex(only))) continue;
    const bool fitted = std::find(std::begin(kFitted), std::end(kFitted), launch.name) != std::end(kFitted);
    std::printf("%s\n{\"kernel\":\"%s\",\"size\":\"%s\",\"fitted\":%s", first ? "" : ",", launch.name.c_str(),
                launch.size.c_str(), fitted ? "true" : "false");
    first = false;
    if (once) {
      launch.run();
      CHECK(cudaDeviceSynchronize());
    } else {
      const std::vector<float> times = time_launch(launch, flush, samples);
      std::printf(",\"microseconds\":%.3f,\"least\":%.3f,\"most\":%.3f", times[times.size() / 2], times.front(),
                  times.back());
    }
    std::printf("}");
    std::fflush(stdout);
  }
  std::printf("\n]}\n");
  for (void* array : {static_cast<void*>(at.a), static_cast<void*>(at.b), static_cast<void*>(at.c),
                      static_cast<void*>(at.index), static_cast<void*>(at.bytes), flush})
    CHECK(cudaFree(array));
  return 0;
}
