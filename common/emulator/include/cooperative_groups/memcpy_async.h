/// \file
/// A group's copy from global to shared memory, each thread a part of it. It is done when the group waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../cooperative_groups.h"
#include "../cuda_pipeline.h"

namespace cooperative_groups {

namespace details {

/// Each thread copies every `num_threads`-th piece, in the widest pieces that both addresses and the size allow.
template <class Group>
__attribute__((always_inline, nodebug)) inline void copy_async(const Group& group, void* to, const void* from,
                                                               std::size_t bytes) {
  const auto alignment = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  const std::size_t piece = alignment % 16 == 0 ? 16 : alignment % 8 == 0 ? 8 : alignment % 4 == 0 ? 4 : 1;
  for (std::size_t at = group.thread_rank() * piece; at < bytes; at += group.num_threads() * piece) {
    if (piece == 1 || !warpbook::emulator::is_shared(to)) {  // no hardware copies these by itself
      for (std::size_t i = at; i < at + piece; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    } else {
      warpbook::emulator::async_copy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, piece, 0);
    }
  }
  warpbook::emulator::async_commit();
}

}  // namespace details

template <class Group, class T>
__attribute__((always_inline, nodebug)) inline void memcpy_async(const Group& group, T* to, const T* from,
                                                                 std::size_t bytes) {
  details::copy_async(group, to, from, bytes);
}
/// Counts elements: as many as both have room for.
template <class Group, class T>
__attribute__((always_inline, nodebug)) inline void memcpy_async(const Group& group, T* to, std::size_t room,
                                                                 const T* from, std::size_t count) {
  details::copy_async(group, to, from, (count < room ? count : room) * sizeof(T));
}

/// Waits for the group's copies.
template <class Group> __attribute__((always_inline, nodebug)) inline void wait(const Group& group) {
  warpbook::emulator::async_wait(0);
  group.sync();
}
/// Waits for all but the last `kLast` of them.
template <unsigned kLast, class Group>
__attribute__((always_inline, nodebug)) inline void wait_prior(const Group& group) {
  warpbook::emulator::async_wait(kLast);
  group.sync();
}

}  // namespace cooperative_groups
