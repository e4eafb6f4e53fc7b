/// \file
/// v8a binned: sort by tile of destinations first, then add in shared memory, without atomics on dst.
///
/// With millions of places nothing fits, and v4's additions each fetch a sector of dst from DRAM and write it back: 32
/// bytes each way for one float. So values are binned first. A block reads a chunk of values, counts how many go to
/// each of some hundred tiles of dst, and writes the chunk in the tiles' order, as pairs of place in tile and value,
/// with the table of where each tile begins. Then a block takes a tile, gathers its run of every chunk, adds up in
/// shared memory as v6b does, and adds the sums to dst: one reading and one writing of dst in order, one rounding,
/// nobody else at it.
///
/// A tile that gets far more than its share (skew) is cut into parts; their sums meet in a float array in scratch, and
/// a last kernel adds those to dst.
///
/// Expect the bytes of dst's random sectors replaced by those of the pairs, written and read once; and skew to cost
/// little. Pairs take 4 bytes for half and bfloat16, 8 for float.
#pragma once

#include "chapters/chapter4_atomic_add/v6b_spread_bins.cuh"

namespace warpbook::chapter4::v8a {

inline constexpr int kMostTiles = 1024;
inline constexpr int kMostTileBits = 15;
inline constexpr int kBinThreads = 1024;
inline constexpr int kChunkPerThread = 8;
inline constexpr int kChunk = kBinThreads * kChunkPerThread;
inline constexpr int kTileThreads = 512;

/// A place in a tile, and what is to be added there.
template <class T> struct alignas(4) Entry {
  std::uint16_t place;
  T value;
};
template <> struct alignas(8) Entry<float> {
  std::uint32_t place;
  float value;
};

/// How a problem is divided, and where things lie in scratch. All offsets are in bytes, multiples of 256.
struct Plan {
  int tile_bits = 0;  ///< A tile has 2^tile_bits places.
  int tiles = 0;
  std::int64_t chunks = 0;
  std::int64_t part = 0;  ///< A tile with more values is cut into parts of about so many.
  int most_split = 0;     ///< Tiles that may be cut.
  std::size_t starts = 0;
  std::size_t totals = 0;
  std::size_t work = 0;
  std::size_t split_sums = 0;
  std::size_t bytes = 0;  ///< Of scratch; the entries lie at its beginning.
};

/// What the blocks that add up take, one after another: made on the device, when the tiles' totals are known.
struct Work {
  int first_item[kMostTiles + 1];  ///< Of each tile; as many items as it has parts.
  int split_slot[kMostTiles];      ///< Which of the float arrays a cut tile's parts meet in; -1 for a whole one.
};

/// The plan; tiles == 0 where there is nothing to do, or more places or values than the kernels count.
inline Plan plan_scatter(const ScatterProblem& p, int multiprocessor_count) {
  Plan plan;
  constexpr std::int64_t kAimedTiles = 1024;
  constexpr std::int64_t kLeastPart = 16384;
  if (p.count == 0 || p.places == 0) return plan;
  if (p.places > std::int64_t{kMostTiles} << kMostTileBits || p.count > std::int64_t{1} << 31) return plan;
  plan.tile_bits = 8;
  while (plan.tile_bits < kMostTileBits && (kAimedTiles << plan.tile_bits) < p.places) ++plan.tile_bits;
  const auto tile = std::int64_t{1} << plan.tile_bits;
  plan.tiles = static_cast<int>(ceil_div<std::int64_t>(p.places, tile));
  plan.chunks = ceil_div<std::int64_t>(p.count, kChunk);
  const std::int64_t average = ceil_div<std::int64_t>(p.count, plan.tiles);
  const std::int64_t balanced = p.count / (4 * std::int64_t{multiprocessor_count});
  plan.part = 2 * average < balanced ? balanced : 2 * average;
  if (balanced < average) plan.part = balanced;
  if (plan.part < kLeastPart) plan.part = kLeastPart;
  plan.most_split = static_cast<int>(p.count / plan.part < plan.tiles ? p.count / plan.part : plan.tiles);

  const auto place = [&](std::size_t bytes) {
    const std::size_t at = plan.bytes;
    plan.bytes += (bytes + 255) / 256 * 256;
    return at;
  };
  place(static_cast<std::size_t>(p.count) * (p.type == ElementType::float32 ? 8 : 4));
  plan.starts = place(static_cast<std::size_t>(plan.chunks) * static_cast<std::size_t>(plan.tiles + 1) * 2);
  plan.totals = place(static_cast<std::size_t>(plan.tiles) * 4);
  plan.work = place(sizeof(Work));
  plan.split_sums = place(static_cast<std::size_t>(plan.most_split) * static_cast<std::size_t>(tile) * 4);
  return plan;
}

/// The sums of what the threads before have, 0 for the first; all threads of a block of whole warps call.
__device__ __forceinline__ int sum_before(int x) {
  __shared__ int of_warp[32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = x;
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(kFullWarp, sum, static_cast<unsigned>(distance));
    if (lane >= distance) sum += other;
  }
  __syncthreads();  // Of a call before.
  if (lane == 31) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    int warps = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
    const int own = warps;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(kFullWarp, warps, static_cast<unsigned>(distance));
      if (lane >= distance) warps += other;
    }
    of_warp[threadIdx.x] = warps - own;
  }
  __syncthreads();
  return of_warp[threadIdx.x / 32] + sum - x;
}

//! [bin]
template <class T, class Index>
__global__ void __launch_bounds__(kBinThreads)
    bin_kernel(Entry<T>* entries, std::uint16_t* starts, int* totals, const T* __restrict__ value,
               const Index* __restrict__ index, std::int64_t count, std::int64_t places, int tile_bits, int tiles) {
  __shared__ int begin[kMostTiles];  // First how many entries a tile has here, then where they begin.
  __shared__ int valid;              // Entries of the chunk; indices outside have none.
  auto* const sorted = dynamic_shared<Entry<T>>();
  const int thread = static_cast<int>(threadIdx.x);
  for (int t = thread; t < kMostTiles; t += kBinThreads) begin[t] = 0;
  __syncthreads();

  const std::int64_t first = std::int64_t(blockIdx.x) * kChunk + thread;
  int place[kChunkPerThread];
  T added[kChunkPerThread];
#pragma unroll
  for (int k = 0; k < kChunkPerThread; ++k) {
    const std::int64_t i = first + k * kBinThreads;
    const auto wanted = i < count ? static_cast<std::int64_t>(index[i]) : -1;
    place[k] = static_cast<std::uint64_t>(wanted) < static_cast<std::uint64_t>(places) ? static_cast<int>(wanted) : -1;
    added[k] = i < count ? value[i] : from_float<T>(0);
  }
  int rank[kChunkPerThread];
#pragma unroll
  for (int k = 0; k < kChunkPerThread; ++k) {
    rank[k] = place[k] >= 0 ? atomicAdd(&begin[place[k] >> tile_bits], 1) : 0;
  }
  __syncthreads();

  constexpr int kTilesPerThread = kMostTiles / kBinThreads;
  int here[kTilesPerThread];
  int sum = 0;
#pragma unroll
  for (int k = 0; k < kTilesPerThread; ++k) {
    here[k] = begin[thread * kTilesPerThread + k];
    sum += here[k];
  }
  int before = sum_before(sum);
  std::uint16_t* const row = starts + std::int64_t(blockIdx.x) * (tiles + 1);
#pragma unroll
  for (int k = 0; k < kTilesPerThread; ++k) {
    const int t = thread * kTilesPerThread + k;
    begin[t] = before;
    if (t < tiles) {
      row[t] = static_cast<std::uint16_t>(before);
      if (here[k] > 0) atomicAdd(&totals[t], here[k]);
    }
    before += here[k];
  }
  if (thread == kBinThreads - 1) {
    row[tiles] = static_cast<std::uint16_t>(before);
    valid = before;
  }
  __syncthreads();

//! [exercise place_entries]
#pragma unroll
  for (int k = 0; k < kChunkPerThread; ++k) {
    if (place[k] < 0) continue;
    Entry<T> entry;
    entry.place = static_cast<decltype(entry.place)>(place[k] & ((1 << tile_bits) - 1));
    entry.value = added[k];
    sorted[begin[place[k] >> tile_bits] + rank[k]] = entry;
  }
  //! [exercise place_entries]
  __syncthreads();
  for (int i = thread; i < valid; i += kBinThreads) entries[std::int64_t(blockIdx.x) * kChunk + i] = sorted[i];
}
//! [bin]

/// Cuts tiles into parts, tells each cut one where its sums meet, and clears these. Every block works it all out.
inline constexpr int kPlanThreads = 1024;
template <int threads>
__global__ void __launch_bounds__(threads) plan_kernel(Work* work, float* split_sums, const int* __restrict__ totals,
                                                       int tiles, int tile_bits, std::int64_t part) {
  const int t = static_cast<int>(threadIdx.x);
  const int total = t < tiles ? totals[t] : 0;
  const int parts = t >= tiles ? 0 : total <= part ? 1 : static_cast<int>(ceil_div<std::int64_t>(total, part));
  const int first = sum_before(parts);
  const int slot = sum_before(parts > 1 ? 1 : 0);
  if (blockIdx.x == 0) {
    if (t < tiles) {
      work->first_item[t] = first;
      work->split_slot[t] = parts > 1 ? slot : -1;
    }
    if (t == tiles - 1) work->first_item[tiles] = first + parts;
  }
  const int slots = __syncthreads_count(parts > 1 ? 1 : 0);
  const std::int64_t places = std::int64_t(slots) << tile_bits;
  for (std::int64_t i = std::int64_t(blockIdx.x) * threads + t; i < places; i += std::int64_t(gridDim.x) * threads) {
    split_sums[i] = 0;
  }
}

/// dst[k] += bin[k] for a tile that is this block's alone: in words of 16 bytes where dst is aligned to them.
template <class T> __device__ __forceinline__ void add_bins(T* dst, const float* bin, int own) {
  constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  constexpr int kWords = 4;  // Of a thread, under way together.
  using Vector = Pack<T, kElements>;
  int done = 0;
  if (reinterpret_cast<std::uintptr_t>(dst) % 16 == 0) {
    const int vectors = own / kElements;
    auto* const to = reinterpret_cast<Vector*>(dst);
    for (int first = static_cast<int>(threadIdx.x); first < vectors; first += kTileThreads * kWords) {
      Vector word[kWords];
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        if (first + k * kTileThreads < vectors) word[k] = to[first + k * kTileThreads];
      }
#pragma unroll
      for (int k = 0; k < kWords; ++k) {
        const int v = first + k * kTileThreads;
        if (v >= vectors) break;
#pragma unroll
        for (int e = 0; e < kElements; ++e) {
          word[k][e] = from_float<T>(to_float(word[k][e]) + bin[v * kElements + e]);
        }
        to[v] = word[k];
      }
    }
    done = vectors * kElements;
  }
  for (int p = done + static_cast<int>(threadIdx.x); p < own; p += kTileThreads) {
    dst[p] = from_float<T>(to_float(dst[p]) + bin[p]);
  }
}

/// What of a run its own lanes leave to the whole block: the runs of a turn that are longer.
struct LongRuns {
  static constexpr int kShort = 16;
  int pushed;  // Since the item began.
  int run[kTileThreads / 8 * 4];
};

/// Adds one entry, with care where there is need. All lanes of the warp call; -1 adds nothing.
__device__ __forceinline__ void add_entry(float* bin, HotPlaces& hot, Care care, int place, float x) {
  const auto add = [&](int at, float value) {
    unsigned number = HotPlaces::kMost;
    if (care.hot) number = load_relaxed(reinterpret_cast<unsigned*>(&bin[at])) - HotPlaces::kMark;
    atomicAdd(number < HotPlaces::kMost ? hot.sum_of(number) : &bin[at], value);
  };
  if (care.clustered) {
    add_by_leaders(place, x, add);
  } else if (place >= 0) {
    add(place, x);
  }
}

/// Adds the rest of the turn's long runs, a block's width at a time. All threads call; `list` holds `runs` of them.
template <class T>
__device__ __forceinline__ void add_long_runs(float* bin, HotPlaces& hot, Care care, const LongRuns& list, int runs,
                                              const Entry<T>* entries, const std::uint16_t* column, std::int64_t pitch,
                                              std::int64_t turn) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int k = 0; k < runs; ++k) {
    const std::int64_t chunk = turn + list.run[k];
    const int begin = column[chunk * pitch];
    const int length = column[chunk * pitch + 1] - begin;
    const Entry<T>* const run = entries + chunk * kChunk + begin;
    // Another warp begins with each run, so that short rests are shared out.
    const int own = (thread + k * 32) % kTileThreads;
    for (int j = LongRuns::kShort + own; j - own % 32 < length; j += kTileThreads) {
      Entry<T> entry;
      entry.place = 0;
      entry.value = from_float<T>(0);
      if (j < length) entry = run[j];
      add_entry(bin, hot, care, j < length ? static_cast<int>(entry.place) : -1, to_float(entry.value));
    }
  }
}

//! [add]
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    add_kernel(T* dst, float* split_sums, const Entry<T>* __restrict__ entries,
               const std::uint16_t* __restrict__ starts, const Work* __restrict__ work, std::int64_t chunks,
               std::int64_t places, int tile_bits, int tiles) {
  constexpr int kLanes = 8;  // That share a run.
  constexpr int kRuns = 4;   // Of a lane, under way together.
  constexpr int kSteps = LongRuns::kShort / kLanes;
  constexpr int kGroups = kTileThreads / kLanes;
  __shared__ HotPlaces hot;
  __shared__ LongRuns rest;
  auto* const bin = dynamic_shared<float>();
  const int bins = 1 << tile_bits;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kLanes;
  const int items = work->first_item[tiles];

  for (int item = static_cast<int>(blockIdx.x); item < items; item += static_cast<int>(gridDim.x)) {
    int tile = 0;
    for (int beyond = tiles; beyond - tile > 1;) {
      const int middle = (tile + beyond) / 2;
      (work->first_item[middle] <= item ? tile : beyond) = middle;
    }
    const int parts = work->first_item[tile + 1] - work->first_item[tile];
    const int part = item - work->first_item[tile];
    const std::int64_t chunk0 = chunks * part / parts;
    const std::int64_t chunk1 = chunks * (part + 1) / parts;
    const std::uint16_t* const column = starts + tile;
    const std::int64_t pitch = tiles + 1;

    clear_bins(bin, bins, hot);
    if (thread == 0) rest.pushed = 0;
    int sample[1] = {-1};
    bool same = false;
    const std::int64_t sampled = chunk0 + (chunk1 - chunk0) * thread / kTileThreads;
    if (sampled < chunk1) {
      const int begin = column[sampled * pitch];
      const int length = column[sampled * pitch + 1] - begin;
      const Entry<T>* const run = entries + sampled * kChunk + begin;
      if (length > 0) sample[0] = run[thread % length].place;
      same = length > 1 && static_cast<int>(run[(thread + 1) % length].place) == sample[0];
    }
    const Care care = find_hot(bin, hot, sample, sample, same);

    // The same number of turns for all threads: add_entry wants a warp's lanes together, long runs all threads.
    int pushed_before = 0;
    for (std::int64_t turn = chunk0; turn < chunk1; turn += kGroups * kRuns) {
      int left[kRuns];
      const Entry<T>* run[kRuns];
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        const std::int64_t chunk = turn + thread / kLanes + r * kGroups;
        const bool inside = chunk < chunk1;
        const int begin = inside ? column[chunk * pitch] : 0;
        left[r] = inside ? column[chunk * pitch + 1] - begin : 0;
        run[r] = entries + chunk * kChunk + begin;
      }
      Entry<T> entry[kSteps][kRuns];
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          entry[s][r].place = 0;
          entry[s][r].value = from_float<T>(0);
          if (lane + s * kLanes < left[r]) entry[s][r] = run[r][lane + s * kLanes];
        }
      }
      bool any_long = false;
#pragma unroll
      for (int r = 0; r < kRuns; ++r) {
        if (left[r] <= LongRuns::kShort) continue;
        any_long = true;
        if (lane == 0) rest.run[atomicAdd(&rest.pushed, 1) - pushed_before] = thread / kLanes + r * kGroups;
      }
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int r = 0; r < kRuns; ++r) {
          add_entry(bin, hot, care, lane + s * kLanes < left[r] ? static_cast<int>(entry[s][r].place) : -1,
                    to_float(entry[s][r].value));
        }
      }
      if (__syncthreads_or(any_long ? 1 : 0) == 0) continue;
      const int pushed = rest.pushed;
      add_long_runs(bin, hot, care, rest, pushed - pushed_before, entries, column, pitch, turn);
      pushed_before = pushed;
      __syncthreads();
    }
    __syncthreads();
    fold_hot(bin, hot);
    __syncthreads();
    const std::int64_t first = std::int64_t(tile) << tile_bits;
    const int own = static_cast<int>(places - first < bins ? places - first : bins);
    if (parts == 1) {
      add_bins(dst + first, bin, own);
    } else {
      auto* const sums = reinterpret_cast<float4*>(split_sums + (std::int64_t(work->split_slot[tile]) << tile_bits));
      for (int p = thread; p < bins / 4; p += kTileThreads) {
        reduce_add(&sums[p], reinterpret_cast<const float4*>(bin)[p]);
      }
    }
    __syncthreads();
  }
}
//! [add]

/// Adds what the parts of a cut tile came to, a block a slot.
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    add_split_kernel(T* dst, const float* __restrict__ split_sums, const Work* __restrict__ work, std::int64_t places,
                     int tile_bits, int tiles) {
  __shared__ int found;
  if (threadIdx.x == 0) found = -1;
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < tiles; t += kTileThreads) {
    if (work->split_slot[t] == static_cast<int>(blockIdx.x)) found = t;
  }
  __syncthreads();
  if (found < 0) return;
  const std::int64_t first = std::int64_t(found) << tile_bits;
  const int own = static_cast<int>(places - first < (1 << tile_bits) ? places - first : 1 << tile_bits);
  add_bins(dst + first, split_sums + (std::int64_t(blockIdx.x) << tile_bits), own);
}

/// Bytes of scratch that a problem takes; 0 where it is refused.
inline std::size_t scatter_scratch_bytes(const ScatterProblem& p) { return plan_scatter(p, multiprocessors()).bytes; }

/// Why the step does not take a problem; nullptr where it does.
inline const char* refuse_scatter(const ScatterProblem& p) {
  return p.places <= std::int64_t{kMostTiles} << kMostTileBits && p.count <= std::int64_t{1} << 31
             ? nullptr
             : "more than 2^25 places, or than 2^31 values";
}

/// For the types of p, which is not empty and not refused.
template <class T, class Index>
cudaError_t run_scatter_as(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  const int processors = multiprocessors();
  const Plan plan = plan_scatter(p, processors);
  auto* const scratch = static_cast<std::byte*>(at.scratch);
  auto* const starts = reinterpret_cast<std::uint16_t*>(scratch + plan.starts);
  auto* const totals = reinterpret_cast<int*>(scratch + plan.totals);
  auto* const work = reinterpret_cast<Work*>(scratch + plan.work);
  auto* const split_sums = reinterpret_cast<float*>(scratch + plan.split_sums);
  auto* const entries = reinterpret_cast<Entry<T>*>(scratch);
  auto* const dst = static_cast<T*>(at.dst);
  cudaError_t error = cudaMemsetAsync(totals, 0, static_cast<std::size_t>(plan.tiles) * sizeof(int), stream);
  if (error != cudaSuccess) return error;
  error =
      launch(bin_kernel<T, Index>,
             {.grid = plan.chunks, .block = kBinThreads, .shared_bytes = kChunk * sizeof(Entry<T>), .stream = stream},
             entries, starts, totals, static_cast<const T*>(at.value), static_cast<const Index*>(at.index), p.count,
             p.places, plan.tile_bits, plan.tiles);
  if (error != cudaSuccess) return error;
  const auto at_most = [](std::int64_t wanted, std::int64_t most) { return wanted < most ? wanted : most; };
  const std::int64_t cleared = std::int64_t{plan.most_split} << plan.tile_bits;
  error =
      launch(plan_kernel<kPlanThreads>,
             {.grid = at_most(1 + cleared / (4 * kPlanThreads), processors), .block = kPlanThreads, .stream = stream},
             work, split_sums, totals, plan.tiles, plan.tile_bits, plan.part);
  if (error != cudaSuccess) return error;

  const std::size_t shared_bytes = sizeof(float) << plan.tile_bits;
  const std::int64_t room = shared_bytes_limit();
  const std::int64_t fit = room / static_cast<std::int64_t>(shared_bytes + sizeof(HotPlaces) + sizeof(LongRuns) + 1024);
  const std::int64_t resident = fit > 2048 / kTileThreads ? 2048 / kTileThreads : fit < 1 ? 1 : fit;
  const std::int64_t most_items = plan.tiles + p.count / plan.part;
  error = launch(add_kernel<T>,
                 {.grid = at_most(most_items, resident * processors),
                  .block = kTileThreads,
                  .shared_bytes = shared_bytes,
                  .stream = stream},
                 dst, split_sums, entries, starts, work, plan.chunks, p.places, plan.tile_bits, plan.tiles);
  if (error != cudaSuccess || plan.most_split == 0) return error;
  return launch(add_split_kernel<T>, {.grid = plan.most_split, .block = kTileThreads, .stream = stream}, dst,
                split_sums, work, p.places, plan.tile_bits, plan.tiles);
}

inline cudaError_t run_scatter(const ScatterProblem& p, const ScatterArrays& at, cudaStream_t stream) {
  if (p.count == 0 || p.places == 0) return cudaSuccess;
  if (refuse_scatter(p) != nullptr) return cudaErrorInvalidValue;
  return with_types(p, [&]<class T, class Index>() { return run_scatter_as<T, Index>(p, at, stream); });
}

}  // namespace warpbook::chapter4::v8a
