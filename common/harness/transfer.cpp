#include "common/harness/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/harness/chapter.hpp"

namespace warpbook {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 20U;
constexpr std::int64_t kPageBytes = std::int64_t{64} << 10U;  // The grain of host copies and comparisons.

/// Calls `body(begin, end)` for byte ranges, in parallel where it is worth it.
void for_bytes(std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& body) {
  if (bytes <= static_cast<std::size_t>(4 * kPageBytes)) {
    body(0, bytes);
    return;
  }
  const std::int64_t pages = (static_cast<std::int64_t>(bytes) + kPageBytes - 1) / kPageBytes;
  parallel_for(pages, [&](std::int64_t begin, std::int64_t end) {
    body(static_cast<std::size_t>(begin * kPageBytes), std::min(bytes, static_cast<std::size_t>(end * kPageBytes)));
  });
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  for_bytes(bytes, [&](std::size_t begin, std::size_t end) { std::memcpy(to + begin, from + begin, end - begin); });
}

}  // namespace

Transfer::Transfer(const Stream& stream)
    : stream_(stream), staging_{PinnedBuffer(kChunkBytes), PinnedBuffer(kChunkBytes)} {}

void Transfer::upload(void* device, std::size_t bytes,
                      const std::function<void(std::span<std::byte>, std::size_t)>& fill) {
  std::size_t turn = 0;
  for (std::size_t offset = 0; offset < bytes; offset += kChunkBytes, turn ^= 1U) {
    const std::size_t size = std::min(kChunkBytes, bytes - offset);
    // The buffer's copy of two chunks ago has to be over before the buffer is filled again.
    if (offset >= 2 * kChunkBytes) check(cudaEventSynchronize(done_[turn].get()), "copying to the device");
    fill({staging_[turn].data(), size}, offset);
    check(cudaMemcpyAsync(static_cast<std::byte*>(device) + offset, staging_[turn].data(), size, cudaMemcpyHostToDevice,
                          stream_.get()),
          "copying to the device");
    done_[turn].record(stream_);
  }
  stream_.synchronize();
}

void Transfer::upload(void* device, std::span<const std::byte> bytes) {
  upload(device, bytes.size(), [&](std::span<std::byte> chunk, std::size_t offset) {
    copy_bytes(chunk.data(), bytes.data() + offset, chunk.size());
  });
}

void Transfer::download(const void* device, std::size_t bytes,
                        const std::function<bool(std::span<const std::byte>, std::size_t)>& consume) {
  const auto start = [&](std::size_t offset, std::size_t turn) {
    if (offset >= bytes) return;
    check(cudaMemcpyAsync(staging_[turn].data(), static_cast<const std::byte*>(device) + offset,
                          std::min(kChunkBytes, bytes - offset), cudaMemcpyDeviceToHost, stream_.get()),
          "copying from the device");
    done_[turn].record(stream_);
  };
  std::size_t turn = 0;
  start(0, turn);
  for (std::size_t offset = 0; offset < bytes; offset += kChunkBytes, turn ^= 1U) {
    check(cudaEventSynchronize(done_[turn].get()), "copying from the device");
    start(offset + kChunkBytes, turn ^ 1U);
    if (!consume({staging_[turn].data(), std::min(kChunkBytes, bytes - offset)}, offset)) break;
  }
  stream_.synchronize();
}

void Transfer::download(const void* device, std::span<std::byte> bytes) {
  download(device, bytes.size(), [&](std::span<const std::byte> chunk, std::size_t offset) {
    copy_bytes(bytes.data() + offset, chunk.data(), chunk.size());
    return true;
  });
}

bool Transfer::holds(const void* device, std::span<const std::byte> expected) {
  bool same = true;
  download(device, expected.size(), [&](std::span<const std::byte> chunk, std::size_t offset) {
    std::atomic<bool> chunk_same = true;
    for_bytes(chunk.size(), [&](std::size_t begin, std::size_t end) {
      if (chunk_same && std::memcmp(chunk.data() + begin, expected.data() + offset + begin, end - begin) != 0) {
        chunk_same = false;
      }
    });
    same = same && chunk_same;
    return same;
  });
  return same;
}

}  // namespace warpbook
