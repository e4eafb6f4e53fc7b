/// \file
/// Owners of CUDA's resources. Each is move-only, and releases in its destructor what it holds. A destructor does not
/// report errors: after a kernel has trapped, releasing fails too, and the kernel's error is the one to tell.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "common/cuda/error.hpp"

namespace warpbook {

/// Gives a resource back by one of CUDA's functions.
template <auto release> struct Release {
  /// Of a handle or a pointer.
  template <class T> void operator()(T* resource) const noexcept { static_cast<void>(release(resource)); }
};

/// An owner of what a handle of CUDA's names, a pointer to something opaque.
template <class Handle, auto release> using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release<release>>;

/// Memory of some kind. What it was moved from is empty.
template <auto release> class OwnedBytes {
public:
  /// The first byte; nullptr when nothing is allocated.
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_.get()); }
  /// Size in bytes.
  std::size_t bytes() const noexcept { return data_ != nullptr ? bytes_ : 0; }
  /// Gives the memory back.
  void reset() noexcept { data_.reset(); }

protected:
  OwnedBytes() = default;
  /// Takes over what was allocated.
  OwnedBytes(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

private:
  Owned<void*, release> data_;
  std::size_t bytes_ = 0;
};

/// Bytes of device memory.
class DeviceBuffer : public OwnedBytes<cudaFree> {
public:
  DeviceBuffer() = default;

  /// Allocates; 0 bytes allocate nothing. The start is aligned to at least 256 bytes.
  /// \throws CudaError with cudaErrorMemoryAllocation where the memory does not suffice.
  explicit DeviceBuffer(std::size_t bytes) : OwnedBytes(allocated(bytes), bytes) {}

private:
  static void* allocated(std::size_t bytes) {
    void* data = nullptr;
    const cudaError_t error = bytes == 0 ? cudaSuccess : cudaMalloc(&data, bytes);
    if (error == cudaSuccess) return data;
    static_cast<void>(cudaGetLastError());  // The exception carries it; it must not be found by a later launch.
    throw CudaError(error, "allocating " + std::to_string(bytes) + " bytes of device memory");
  }
};

/// Bytes of page-locked host memory: copies to and from a device run at full speed, and beside host work.
class PinnedBuffer : public OwnedBytes<cudaFreeHost> {
public:
  /// Allocates; 0 bytes allocate nothing. \throws CudaError
  explicit PinnedBuffer(std::size_t bytes) : OwnedBytes(allocated(bytes), bytes) {}

private:
  static void* allocated(std::size_t bytes) {
    void* data = nullptr;
    if (bytes > 0) check(cudaMallocHost(&data, bytes), "allocating page-locked memory");
    return data;
  }
};

/// A stream that does not wait for the default stream.
class Stream {
public:
  /// \throws CudaError
  Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
    stream_.reset(stream);
  }

  /// CUDA's handle.
  cudaStream_t get() const noexcept { return stream_.get(); }
  /// Waits for all work on the stream. \throws CudaError
  void synchronize() const { check(cudaStreamSynchronize(get()), "waiting for the stream"); }

private:
  Owned<cudaStream_t, cudaStreamDestroy> stream_;
};

/// A point in a stream, with its time.
class Event {
public:
  /// \throws CudaError
  Event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "creating an event");
    event_.reset(event);
  }

  /// CUDA's handle.
  cudaEvent_t get() const noexcept { return event_.get(); }
  /// Puts the event behind the work that is on the stream now. \throws CudaError
  void record(const Stream& stream) const { check(cudaEventRecord(get(), stream.get()), "recording an event"); }
  /// Seconds from `start` to this event; both must have happened. \throws CudaError
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), get()), "reading an event's time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

private:
  Owned<cudaEvent_t, cudaEventDestroy> event_;
};

/// Work captured from a stream, ready to be launched as a whole.
class Graph {
public:
  /// Captures what `enqueue(cudaStream_t)` puts on the stream; it returns a cudaError_t.
  /// \throws CudaError when the work cannot be captured; the stream is usable afterwards.
  template <class F> static Graph capture(const Stream& stream, F&& enqueue) {
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "beginning a capture");
    cudaError_t enqueued = cudaErrorUnknown;
    cudaGraph_t graph = nullptr;
    try {
      enqueued = enqueue(stream.get());
    } catch (...) {  // The capture has to end, or the stream stays captured.
      static_cast<void>(cudaStreamEndCapture(stream.get(), &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
      throw;
    }
    const cudaError_t ended = cudaStreamEndCapture(stream.get(), &graph);
    cudaGraphExec_t executable = nullptr;
    cudaError_t error = enqueued != cudaSuccess ? enqueued : ended;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&executable, graph, 0);
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    if (error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw CudaError(error, "capturing a graph");
    }
    Graph result;
    result.executable_.reset(executable);
    return result;
  }

  /// Launches the captured work. \throws CudaError
  void launch(const Stream& stream) const {
    check(cudaGraphLaunch(executable_.get(), stream.get()), "launching a graph");
  }

private:
  Graph() = default;

  Owned<cudaGraphExec_t, cudaGraphExecDestroy> executable_;
};

}  // namespace warpbook
