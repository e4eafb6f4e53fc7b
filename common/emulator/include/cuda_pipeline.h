/// \file
/// Asynchronous copies from global to shared memory. They are done when a thread waits for them, not before: who reads
/// without waiting reads what was there.
#pragma once

#include <cstddef>

#include "cuda_runtime.h"

namespace warpbook::emulator {

WARPBOOK_EXPORT void async_copy(void* shared, const void* global, std::size_t bytes, std::size_t zero_fill);
WARPBOOK_EXPORT void async_commit();
WARPBOOK_EXPORT void async_wait(std::size_t groups_left);
/// Waits for all of the thread's copies, in groups or not.
WARPBOOK_EXPORT void async_wait_all();
/// The barrier's phase, which is not over, waits for all copies that the thread has begun.
WARPBOOK_EXPORT void async_arrive(const void* barrier);
/// The barrier's phase of this parity is over: so are the copies that it waited for, of all threads.
WARPBOOK_EXPORT void async_phase_over(const void* barrier, bool parity);

}  // namespace warpbook::emulator

/// Copies 4, 8 or 16 bytes, aligned to as many; the last `zero_fill` of them become 0 instead.
WARPBOOK_DEVICE_FUNCTION void __pipeline_memcpy_async(void* shared, const void* global, std::size_t size_and_align,
                                                      std::size_t zero_fill = 0) {
  warpbook::emulator::async_copy(shared, global, size_and_align, zero_fill);
}
/// Makes a group of the copies since the last one.
WARPBOOK_DEVICE_FUNCTION void __pipeline_commit() { warpbook::emulator::async_commit(); }
/// Waits for the thread's own groups, but for the last `groups_left`.
WARPBOOK_DEVICE_FUNCTION void __pipeline_wait_prior(std::size_t groups_left) {
  warpbook::emulator::async_wait(groups_left);
}
