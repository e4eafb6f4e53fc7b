/// \file
/// Scans over a tile or a group of lanes: each thread's value combined with those of the threads before it.
#pragma once

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Operation>
__attribute__((always_inline, nodebug)) inline T inclusive_scan(const Group& group, T value, Operation&& operation) {
  const unsigned rank = group.thread_rank();
  for (unsigned offset = 1; offset < group.num_threads(); offset *= 2) {
    const T before = group.shfl(value, static_cast<int>(rank < offset ? rank : rank - offset));
    if (rank >= offset) value = operation(before, value);
  }
  return value;
}
template <class Group, class T>
__attribute__((always_inline, nodebug)) inline T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

/// Without the thread's own value; T() for the first one.
template <class Group, class T, class Operation>
__attribute__((always_inline, nodebug)) inline T exclusive_scan(const Group& group, T value, Operation&& operation) {
  const unsigned rank = group.thread_rank();
  const T all = inclusive_scan(group, value, operation);
  const T before = group.shfl(all, static_cast<int>(rank == 0 ? 0 : rank - 1));
  return rank == 0 ? T() : before;
}
template <class Group, class T>
__attribute__((always_inline, nodebug)) inline T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
