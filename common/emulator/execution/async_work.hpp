/// \file
/// Work that the host gave to the device and has not waited for yet. The emulator has done it by then; what a GPU would
/// still be at is known by its place in a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// How many operations of each stream come before something, by the stream's number.
using Progress = std::map<unsigned, std::uint64_t>;

/// Adds what `other` has more.
void join(Progress& progress, const Progress& other);

/// A kernel, one side of a copy, or a memset.
struct AsyncWork {
  std::uint64_t launch = 0;     ///< of a kernel, its launch's number; 0: a copy or a memset
  const char* name = "copy";    ///< the kernel's or library function's; "copy" or "memset"
  AddressRange range = {};      ///< of a copy: what it reads or writes there
  bool writes = false;          ///< whether the copy writes it
  const void* pc = nullptr;     ///< where the program asked for it
  unsigned stream = 0;          ///< The stream's number.
  std::uint64_t operation = 0;  ///< Which of the stream's operations it is.

  /// What a report calls it.
  const char* kind() const { return launch == 0 ? name : "kernel"; }
};

/// What is begun from now on is the last operation of this stream in what comes before the next one.
void async_operation(unsigned stream, const Progress& progress);

/// The stream whose operation is under way.
unsigned current_stream();

/// What comes before the end of the operation under way.
const Progress& current_progress();

/// Work of other streams that nothing orders before the operation under way.
std::vector<AsyncWork> concurrent_work();

/// Work that the host does not wait for has begun, in the operation that `async_operation` told of.
void async_begin(AsyncWork work);

/// The host has waited for all this.
void async_end(const Progress& progress);

/// Visits all work that the host has not waited for, and forgets what `is_told` is true for.
void visit_async(const std::function<bool(const AsyncWork&)>& is_told);

}  // namespace warpbook::emulator
