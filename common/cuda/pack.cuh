/// \file
/// Words of 1 to 16 bytes, packs of elements, and memory accesses with cache hints.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace warpbook {

/// N elements that move as one: aligned to their size, so that a copy is one access of N * sizeof(T) <= 16 bytes.
template <class T, int N> struct alignas(sizeof(T) * N) Pack {
  T data[N];  ///< In memory's order.

  /// Element i.
  __host__ __device__ T& operator[](int i) { return data[i]; }
  /// Element i.
  __host__ __device__ const T& operator[](int i) const { return data[i]; }
};

namespace detail {
template <int bytes> struct WordOf;
template <> struct WordOf<1> {
  using Type = std::uint8_t;
};
template <> struct WordOf<2> {
  using Type = std::uint16_t;
};
template <> struct WordOf<4> {
  using Type = std::uint32_t;
};
template <> struct WordOf<8> {
  using Type = std::uint64_t;
};
template <> struct WordOf<16> {
  using Type = uint4;
};
}  // namespace detail

/// The plain word of so many bytes (1, 2, 4, 8 or 16): moving data needs a size and no type.
template <int bytes> using Word = typename detail::WordOf<bytes>::Type;

/// Element e of a word that holds several.
template <class T, class W> __device__ __forceinline__ T element_of(W word, int e) {
  const auto bits = static_cast<Word<sizeof(T)>>(word >> (8 * static_cast<int>(sizeof(T)) * e));
  return reinterpret_cast<const T&>(bits);
}

/// Calls `f.template operator()<bytes>()` for the word size 1, 2, 4, 8 or 16 known at run time.
/// \return its result, or cudaErrorInvalidValue for another size.
template <class F> cudaError_t with_word_bytes(int bytes, F&& f) {
  switch (bytes) {
  case 1:
    return f.template operator()<1>();
  case 2:
    return f.template operator()<2>();
  case 4:
    return f.template operator()<4>();
  case 8:
    return f.template operator()<8>();
  case 16:
    return f.template operator()<16>();
  default:
    return cudaErrorInvalidValue;
  }
}

/// Loads data that are read once: they leave the caches first (`ld.global.cs`).
template <class T> __device__ __forceinline__ T load_streaming(const T* p) {
  if constexpr (sizeof(T) == 16) {
    const uint4 v = __ldcs(reinterpret_cast<const uint4*>(p));
    return reinterpret_cast<const T&>(v);
  } else {
    auto v = __ldcs(reinterpret_cast<const Word<sizeof(T)>*>(p));
#ifdef WARPBOOK_EMULATED
    if constexpr (sizeof(T) >= 4) __asm__("" : "+r"(v));  // Or clang loads the elements of a pack one by one.
#endif
    return reinterpret_cast<const T&>(v);
  }
}

/// Loads data; with `keeps`, asks the L2 to keep their lines before others (`evict_last`, as torch.compile's kernels
/// do). They stay there until other such lines come, or the host calls cudaCtxResetPersistingL2Cache. Only of what the
/// kernel does not write: nothing orders such a load with stores.
template <bool keeps, class T> __device__ __forceinline__ T load_keeping(const T* p) {
#if !defined(WARPBOOK_EMULATED) && __CUDA_ARCH__ >= 800
  if constexpr (keeps) {
    std::uint64_t policy = 0;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    Word<sizeof(T)> word;
    if constexpr (sizeof(T) == 1) {
      std::uint16_t wide = 0;  // No register is narrower.
      asm("ld.global.L1::evict_last.L2::cache_hint.u8 %0, [%1], %2;" : "=h"(wide) : "l"(p), "l"(policy));
      word = static_cast<std::uint8_t>(wide);
    } else if constexpr (sizeof(T) == 2) {
      asm("ld.global.L1::evict_last.L2::cache_hint.u16 %0, [%1], %2;" : "=h"(word) : "l"(p), "l"(policy));
    } else if constexpr (sizeof(T) == 4) {
      asm("ld.global.L1::evict_last.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(word) : "l"(p), "l"(policy));
    } else if constexpr (sizeof(T) == 8) {
      asm("ld.global.L1::evict_last.L2::cache_hint.u64 %0, [%1], %2;" : "=l"(word) : "l"(p), "l"(policy));
    } else {
      asm("ld.global.L1::evict_last.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
          : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
          : "l"(p), "l"(policy));
    }
    T value;
    __builtin_memcpy(&value, &word, sizeof(value));
    return value;
  }
#endif
  return *p;
}

/// Loads data; with `passes`, says that nobody comes back for their line (`L1::no_allocate`), which the L2 seems to
/// give up before others, too. Only of what the kernel does not write. A hint: before compute capability 7.0 a plain
/// load.
template <bool passes, class T> __device__ __forceinline__ T load_passing(const T* p) {
#if !defined(WARPBOOK_EMULATED) && __CUDA_ARCH__ >= 700
  if constexpr (passes) {
    Word<sizeof(T)> word;
    if constexpr (sizeof(T) == 1) {
      std::uint16_t wide = 0;  // No register is narrower.
      asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(wide) : "l"(p));
      word = static_cast<std::uint8_t>(wide);
    } else if constexpr (sizeof(T) == 2) {
      asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(word) : "l"(p));
    } else if constexpr (sizeof(T) == 4) {
      asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(word) : "l"(p));
    } else if constexpr (sizeof(T) == 8) {
      asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(word) : "l"(p));
    } else {
      asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
          : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
          : "l"(p));
    }
    T value;
    __builtin_memcpy(&value, &word, sizeof(value));
    return value;
  }
#endif
  return *p;
}

/// Stores a pack as one word; one of 16 bytes in global memory only. For packs that were made element by element:
/// copied as a struct, such a pack may be taken apart again, and stored by elements, which the number of store requests
/// tells.
template <class P> __device__ __forceinline__ void store_whole(P* p, const P& pack) {
  Word<sizeof(P)> word;
  __builtin_memcpy(&word, &pack, sizeof(word));
#ifdef WARPBOOK_EMULATED
  if constexpr (sizeof(P) <= 8) __asm__("" : "+r"(word));  // Or clang sees through it, and stores the elements.
#else
  if constexpr (sizeof(P) == 16) {  // One instruction as it stands, or nvcc sees through it.
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)), "r"(word.x),
                 "r"(word.y), "r"(word.z), "r"(word.w)
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<Word<sizeof(P)>*>(p) = word;
}

/// Stores a pack of 16 bytes in global memory as one word that leaves the L2 before others (`evict_first`).
template <class P> __device__ __forceinline__ void store_leaving(P* p, const P& pack) {
  static_assert(sizeof(P) == 16);
#if !defined(WARPBOOK_EMULATED) && __CUDA_ARCH__ >= 800
  Word<16> word;
  __builtin_memcpy(&word, &pack, sizeof(word));
  std::uint64_t policy = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(p)),
               "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "l"(policy)
               : "memory");
#else
  store_whole(p, pack);
#endif
}

/// Asks for `bytes` (a multiple of 16) from the last 16-byte boundary before `p` on to be brought to the L2; nobody
/// waits. A hint: before compute capability 9.0 nothing happens.
__device__ __forceinline__ void ask_for_l2([[maybe_unused]] const void* p, [[maybe_unused]] std::uint32_t bytes) {
#if !defined(WARPBOOK_EMULATED) && __CUDA_ARCH__ >= 900
  const auto address = reinterpret_cast<std::uintptr_t>(p) & ~std::uintptr_t{15};
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
#endif
}

/// Stores data that nobody reads soon (`st.global.cs`).
template <class T> __device__ __forceinline__ void store_streaming(T* p, const T& value) {
  __stcs(reinterpret_cast<Word<sizeof(T)>*>(p), reinterpret_cast<const Word<sizeof(T)>&>(value));
}

}  // namespace warpbook
