/// \file
/// Owners of CUDA's resources. Each is move-only, and releases in its destructor what it holds. A destructor does not
/// report errors: after a kernel has trapped, releasing fails too, and the kernel's error is the one to tell.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "common/cuda/error.hpp"

namespace warpbook {

/// Bytes of device memory.
class DeviceBuffer {
public:
  DeviceBuffer() = default;

  /// Allocates; 0 bytes allocate nothing. The start is aligned to at least 256 bytes.
  /// \throws CudaError with cudaErrorMemoryAllocation where the memory does not suffice.
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    const cudaError_t error = cudaMalloc(&data_, bytes);
    if (error == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // The exception carries it; it must not be found by a later launch.
    throw CudaError(error, "allocating " + std::to_string(bytes) + " bytes of device memory");
  }

  ~DeviceBuffer() { reset(); }
  /// Takes over; the other is left empty.
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Releases what it held and takes over; the other is left empty.
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  /// The first byte; nullptr when nothing is allocated.
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  /// Size in bytes.
  std::size_t bytes() const noexcept { return bytes_; }

  /// Gives the memory back.
  void reset() noexcept {
    if (data_ != nullptr) static_cast<void>(cudaFree(data_));
    data_ = nullptr;
    bytes_ = 0;
  }

private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Bytes of page-locked host memory: copies to and from a device run at full speed, and beside host work.
class PinnedBuffer {
public:
  PinnedBuffer() = default;

  /// Allocates; 0 bytes allocate nothing. \throws CudaError
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) check(cudaMallocHost(&data_, bytes), "allocating page-locked memory");
  }

  ~PinnedBuffer() { reset(); }
  /// Takes over; the other is left empty.
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Releases what it held and takes over; the other is left empty.
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  /// The first byte; nullptr when nothing is allocated.
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  /// Size in bytes.
  std::size_t bytes() const noexcept { return bytes_; }

  /// Gives the memory back.
  void reset() noexcept {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
    data_ = nullptr;
    bytes_ = 0;
  }

private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A stream that does not wait for the default stream.
class Stream {
public:
  /// \throws CudaError
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { reset(); }
  /// Takes over; the other is left empty.
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  /// Releases what it held and takes over; the other is left empty.
  Stream& operator=(Stream&& other) noexcept {
    if (this != &other) {
      reset();
      stream_ = std::exchange(other.stream_, nullptr);
    }
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// CUDA's handle.
  cudaStream_t get() const noexcept { return stream_; }
  /// Waits for all work on the stream. \throws CudaError
  void synchronize() const { check(cudaStreamSynchronize(stream_), "waiting for the stream"); }

private:
  void reset() noexcept {
    if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
    stream_ = nullptr;
  }

  cudaStream_t stream_ = nullptr;
};

/// A point in a stream, with its time.
class Event {
public:
  /// \throws CudaError
  Event() { check(cudaEventCreate(&event_), "creating an event"); }
  ~Event() { reset(); }
  /// Takes over; the other is left empty.
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  /// Releases what it held and takes over; the other is left empty.
  Event& operator=(Event&& other) noexcept {
    if (this != &other) {
      reset();
      event_ = std::exchange(other.event_, nullptr);
    }
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// CUDA's handle.
  cudaEvent_t get() const noexcept { return event_; }
  /// Puts the event behind the work that is on the stream now. \throws CudaError
  void record(const Stream& stream) const { check(cudaEventRecord(event_, stream.get()), "recording an event"); }
  /// Seconds from `start` to this event; both must have happened. \throws CudaError
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "reading an event's time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

private:
  void reset() noexcept {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
    event_ = nullptr;
  }

  cudaEvent_t event_ = nullptr;
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
    Graph result;
    cudaError_t error = enqueued != cudaSuccess ? enqueued : ended;
    if (error == cudaSuccess) error = cudaGraphInstantiate(&result.executable_, graph, 0);
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    if (error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw CudaError(error, "capturing a graph");
    }
    return result;
  }

  ~Graph() { reset(); }
  /// Takes over; the other is left empty.
  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  /// Releases what it held and takes over; the other is left empty.
  Graph& operator=(Graph&& other) noexcept {
    if (this != &other) {
      reset();
      executable_ = std::exchange(other.executable_, nullptr);
    }
    return *this;
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Launches the captured work. \throws CudaError
  void launch(const Stream& stream) const { check(cudaGraphLaunch(executable_, stream.get()), "launching a graph"); }

private:
  Graph() = default;

  void reset() noexcept {
    if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
    executable_ = nullptr;
  }

  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace warpbook
