/// \file
/// Which of CUDA's functions the host is in, so that an error can be told with its name and its line.
#pragma once

#include <string>

#include "common/emulator/execution/engine.hpp"

namespace warpbook::emulator {

/// Lives as long as a call of the program to the runtime; within another one it is nothing.
class ApiCall {
public:
  /// \param name the function's. \param pc where it was called from.
  explicit ApiCall(const char* name, const void* pc = __builtin_return_address(0));
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  /// Says more of the error that this call will return: its kind and, in a sentence, what was wrong.
  static void explain(const char* kind, const std::string& advice);

  /// Where the program made the call that is under way; nullptr outside of calls.
  static const void* pc();

  /// Whether this thread has called a function of the runtime that needs a context since it was last asked.
  static bool wanted_context();

  /// Tells the observer of an error, once a call.
  static void failed(cudaError_t error);

  /// Lives as long as a host function of the program runs, which may not call CUDA: a call within it is told.
  class HostFunction {
  public:
    HostFunction();
    ~HostFunction();
    HostFunction(const HostFunction&) = delete;
    HostFunction& operator=(const HostFunction&) = delete;

  private:
    ApiCall* around_;  ///< the call that runs the function
    bool nested_;
  };

private:
  ApiError error_;
  bool told_ = false;
  bool outermost_;
};

}  // namespace warpbook::emulator
