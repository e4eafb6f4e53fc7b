/// \file
/// The main function of an exercise's check: runs the reader's step on the cases that are named. It has the inputs,
/// which referee.cpp made, and no reference: what the step left in its arrays, the counters, and what went wrong all go
/// back.
///
///     check --results FILE --arrays FOLDER [--yardstick] [--captured | --launch-fails] CASE... [--far CASE...]
///     check --results FILE --time [--seed N] [--yardstick] CASE...
///
/// Case number k reads FOLDER/k.in, the inputs and the output before the launch, and writes FOLDER/k.out: the same
/// arrays after it, and for each byte of the output who wrote it last. `--captured`: all that the step does has to come
/// to the stream that it is given. `--launch-fails`: no launch to the stream succeeds, and what the step returns is
/// looked at. `--far`: cases that are too large to be run, of which a few blocks are; only the emulator looks at them.
/// `--time` is for a device's owner: it measures, by data of its own. Exit status: 0 all cases were run; 2
/// bad arguments; 3 no usable device, or no input; 4 an output cannot be written; 86 the file's host code left its
/// confinement; 87 it needs a function that was left out.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/cuda/resources.hpp"
#include "common/exercises/check.hpp"
#include "common/harness/bench.hpp"
#include "common/harness/device.hpp"
#include "common/harness/format.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/results.hpp"
#include "common/harness/statistics.hpp"
#include "common/harness/verify.hpp"

#ifdef WARPBOOK_EMULATED
#include <warpbook_emulator.h>

namespace {
std::uint64_t filled_bytes = 0;
bool fills = true;  // Not what is too large.
}  // namespace

extern "C" {
// What the reader's file may write besides its stack; common/exercises/confine_pass.cpp puts it there.
extern const warpbook::emulator::OwnedPiece warpbook_own_variables[];  // NOLINT(readability-identifier-naming)
extern const std::size_t warpbook_own_count;                           // NOLINT(readability-identifier-naming)
/// A function was called that the same pass left out.
[[noreturn]] void __warpbook_rare() {
  _exit(87);
}  // NOLINT(readability-identifier-naming,bugprone-reserved-identifier)
/// The same pass puts this in the place of cudaMemsetAsync: what is filled is stored, too.
cudaError_t __warpbook_fill(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  filled_bytes += bytes;
  return fills ? cudaMemsetAsync(to, value, bytes, stream) : cudaSuccess;
}  // NOLINT(readability-identifier-naming,bugprone-reserved-identifier)
}
#endif

namespace warpbook::exercises {
namespace {

constexpr int kSamples = 30;
constexpr const char* kChecks = "init,race";
constexpr cudaError_t kNothingLaunched = cudaErrorStreamCaptureUnmatched;  // Which no launch returns.

struct Arguments {
  std::string results;
  std::string arrays;
  std::uint64_t seed = 1;
  bool yardstick = false;  // The step copies input 0.
  bool captured = false;
  bool launch_fails = false;
  bool time = false;
  std::vector<std::string> cases;
  std::vector<std::string> far;  // Cases that are too large to be run, of which one block is.
};

/// \throws CLI::ParseError
Arguments parse(int argc, const char* const* argv) {
  Arguments result;
  CLI::App app;
  app.set_help_flag();
  app.add_option("--results", result.results)->required();
  auto* arrays = app.add_option("--arrays", result.arrays);
  app.add_option("--seed", result.seed);
  app.add_flag("--yardstick", result.yardstick);
  auto* captured = app.add_flag("--captured", result.captured);
  app.add_flag("--launch-fails", result.launch_fails)->excludes(captured);
  app.add_flag("--time", result.time)->excludes(arrays);
  app.add_option("--far", result.far)->take_all()->needs(arrays);
  app.add_option("CASE", result.cases);
  app.parse(argc, argv);
  if (result.arrays.empty() && !result.time) throw CLI::RequiredError("--arrays or --time");
  return result;
}

/// Appends lines; each is on the disk before the next case begins, since the reader's code may end the program.
class Results {
public:
  explicit Results(const std::string& path) : file_(path, std::ios::app) {}

  bool write(const nlohmann::json& line) {
    file_ << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    return static_cast<bool>(file_);
  }

private:
  std::ofstream file_;
};

/// `work()`, with host code confined while it runs.
template <class F> cudaError_t confined(F&& work) {
#ifdef WARPBOOK_EMULATED
  struct Confined {
    Confined() { emulator::confine(warpbook_own_variables, warpbook_own_count); }
    ~Confined() { emulator::release(); }
    Confined(const Confined&) = delete;
    Confined& operator=(const Confined&) = delete;
  };
  const Confined here;
#endif
  return work();
}

cudaError_t run_alone(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  return confined([&] { return run_exercise(problem, arrays, stream); });
}

cudaError_t run_confined(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  return confined([&] {
    const cudaError_t error = run_exercise(problem, arrays, stream);
    return error != cudaSuccess ? error : cudaStreamSynchronize(stream);  // What was queued is confined as well.
  });
}

/// Whether anything ran since the counters were taken: on whatever stream.
bool has_launched() {
#ifdef WARPBOOK_EMULATED
  return cudaDeviceSynchronize() != cudaSuccess || emulator::take_launches().launches > 0;
#else
  return false;  // A GPU does not tell.
#endif
}

/// Captures what the step puts on the stream, and then runs that: what it launched elsewhere is missing or an error.
cudaError_t run_captured(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  error = run_alone(problem, arrays, stream);
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  const Owned<cudaGraph_t, cudaGraphDestroy> graph(captured);
  if (error == cudaSuccess) error = ended;
  std::size_t launches = 0;
  if (error == cudaSuccess) error = cudaGraphGetNodes(captured, nullptr, &launches);
  if (error != cudaSuccess) return error;
  if (launches == 0 && problem.output().elements > 0 && (!problem.updates_output() || has_launched()))
    return kNothingLaunched;
  if (launches == 0) return cudaSuccess;  // There was nothing to do.
  cudaGraphExec_t made = nullptr;
  error = cudaGraphInstantiate(&made, captured, 0);
  const Owned<cudaGraphExec_t, cudaGraphExecDestroy> executable(made);
  if (error != cudaSuccess) return error;
  return confined([&] {
    const cudaError_t launched = cudaGraphLaunch(made, stream);
    return launched != cudaSuccess ? launched : cudaStreamSynchronize(stream);
  });
}

/// Runs the step on a stream whose capture has failed already, so that each launch to it fails, too.
cudaError_t run_on_failed_capture(const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  static_cast<void>(cudaStreamSynchronize(stream));  // That is not allowed here.
  static_cast<void>(cudaGetLastError());
  error = run_alone(problem, arrays, stream);
  cudaGraph_t captured = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream, &captured));
  static_cast<void>(cudaGetLastError());
  return error;
}

/// What went wrong when the step was run in one of these ways; empty for nothing.
template <class Way> std::string launched(Way way, const Case& problem, const Arrays& arrays, cudaStream_t stream) {
  const std::string error = launch_step(way, problem, arrays, stream);
  const bool nothing = error.ends_with(CudaError::describe(kNothingLaunched));
  return nothing ? "nothing was launched to the stream that was given" : error;
}

/// A case's arrays, as they go to the device and come back.
class Desk {
public:
  explicit Desk(const Case& problem) : problem_(problem), transfer_(stream_), arrays_(problem, device_fences()) {}

  /// From the file into the device's memory and nowhere else: nothing stays on the heap, where host code might look.
  void load(const std::string& path) {
    std::ifstream file;
    file.rdbuf()->pubsetbuf(nullptr, 0);
    file.open(path, std::ios::binary);
    const auto take = [&](const FencedArray& array, const BufferLayout& layout) {
      transfer_.upload(array.data(), array.bytes(), [&](std::span<std::byte> chunk, std::size_t /*offset*/) {
        file.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
      });
      if (!file) throw std::runtime_error("there are no inputs in " + path);
      array.fill_fences(transfer_);
#ifdef WARPBOOK_EMULATED
      // A view begins behind its allocation's first byte: whoever reads what lies between is told of it.
      const auto before = static_cast<std::size_t>(layout.offset_bytes);
      emulator::forget_writes(array.data() - before, before);
#endif
    };
    const std::vector<BufferLayout> layouts = problem_.inputs();
    for (std::size_t i = 0; i < layouts.size(); ++i) take(arrays_.inputs()[i], layouts[i]);
    take(arrays_.output(), problem_.output());
    arrays_.scratch().fill_fences(transfer_);
#ifdef WARPBOOK_EMULATED
    const auto by_us = [](const FencedArray& array) {
      return array.bytes() == 0 || emulator::writers(array.data(), 1)[0] == emulator::Writer::runtime;
    };
    if (!by_us(arrays_.output())) throw std::runtime_error("the emulator's checks cannot be made: too few addresses?");
    if (!problem_.updates_output()) emulator::forget_writes(arrays_.output().data(), arrays_.output().bytes());
#endif
  }

  /// \return what went wrong; empty for nothing
  std::string run(const Arguments& arguments) {
    static_cast<void>(take_device_report());
    const auto way = arguments.launch_fails ? run_on_failed_capture : arguments.captured ? run_captured : run_confined;
    std::string error = launched(way, problem_, arrays_.arrays(), stream_.get());
    if (arguments.launch_fails) return error;
    const cudaError_t finished = cudaStreamSynchronize(stream_.get());
    if (error.empty() && finished != cudaSuccess) error = "the kernel failed: " + CudaError::describe(finished);
    return error;
  }

  bool save(const std::string& path) {
#ifdef WARPBOOK_EMULATED
    const auto writers = emulator::writers(arrays_.output().data(), arrays_.output().bytes());
    emulator::set_checks("race");  // What nobody wrote comes along: the referee tells of it.
#endif
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    const auto put = [&](std::span<const std::byte> bytes) {
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    };
    const auto bring = [&](const FencedArray& array) {
      transfer_.download(array.data(), array.bytes(), [&](std::span<const std::byte> chunk, std::size_t /*offset*/) {
        put(chunk);
        return true;
      });
    };
    for (const FencedArray& input : arrays_.inputs()) bring(input);
    bring(arrays_.output());
#ifdef WARPBOOK_EMULATED
    emulator::set_checks(kChecks);
    put(std::as_bytes(std::span(writers)));
#else
    put(std::vector<std::byte>(arrays_.output().bytes(),
                               std::byte{2}));  // As emulator::Writer::kernel: a GPU does not tell.
#endif
    file.close();
    return static_cast<bool>(file);
  }

  /// What was done beside the output, and beside the arrays, where they have fences.
  std::string damage() {
    std::string text = inspect_exercise(problem_, arrays_.arrays());
    const auto tell = [&](const std::string& found) { text += (text.empty() || found.empty() ? "" : "; ") + found; };
    const std::vector<BufferLayout> layouts = problem_.inputs();
#ifdef WARPBOOK_EMULATED
    // An atomic in front of a view may leave there what it found.
    const auto look_before = [&](const FencedArray& array, const BufferLayout& layout) {
      const auto before = static_cast<std::size_t>(layout.offset_bytes);
      const auto writers = emulator::writers(array.data() - before, before);
      if (std::ranges::find(writers, emulator::Writer::kernel) != writers.end())
        tell("what lies in front of " + layout.name + " was written to");
    };
    look_before(arrays_.output(), problem_.output());
    for (std::size_t i = 0; i < layouts.size(); ++i) look_before(arrays_.inputs()[i], layouts[i]);
    emulator::set_checks("race");  // What nobody wrote is looked at, too.
#endif
    const auto look = [&](const FencedArray& array, const std::string& name) {
      tell(array.inspect_fences(transfer_).describe(name));
    };
    look(arrays_.output(), problem_.output().name);
    for (std::size_t i = 0; i < layouts.size(); ++i) look(arrays_.inputs()[i], layouts[i].name);
    look(arrays_.scratch(), "the scratch memory");
#ifdef WARPBOOK_EMULATED
    emulator::set_checks(kChecks);
#endif
    return text;
  }

private:
  const Case& problem_;
  Stream stream_;
  Transfer transfer_;
  DeviceArrays arrays_;
};

/// What the step's kernels did, under the counters' names, with `launches` and the modelled `seconds`; and the blocks,
/// their threads and the limit of the longest launch.
nlohmann::json take_counters() {
  nlohmann::json counters = nlohmann::json::object();
#ifdef WARPBOOK_EMULATED
  const emulator::LaunchReport seen = emulator::take_launches();
  for (const auto& [name, value] : seen.counters) counters[name] = value;
  const auto volume = [](const dim3& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; };
  counters["launches"] = seen.launches;
  counters["filled_bytes"] = std::exchange(filled_bytes, 0);
  counters["seconds"] = seen.modelled_seconds;
  counters["blocks"] = volume(seen.grid);
  counters["threads"] = volume(seen.block);
  counters["threads_of_all_blocks"] = volume(seen.grid) * volume(seen.block);
  counters["limited_by"] = seen.limited_by;
#endif
  return counters;
}

/// \return the case's line; null where its arrays cannot be written
nlohmann::json run_case(const std::string& parameters, const std::string& arrays, const Arguments& arguments) {
  const std::unique_ptr<Case> problem = make_exercise_case(Parameters::parse(parameters));
  Desk desk(*problem);
  desk.load(arrays + ".in");
  static_cast<void>(take_counters());
  const std::string error = desk.run(arguments);
  nlohmann::json line{{"case", parameters}, {"error", one_line(error)}, {"counters", take_counters()}};
  if (error.empty()) {
    if (!desk.save(arrays + ".out")) return nullptr;
    line["damage"] = desk.damage();
  }
  line["report"] = one_line(take_device_report());
  return line;
}

#ifdef WARPBOOK_EMULATED
/// An array of zeros whose memory comes with use.
class SparseArray {
public:
  explicit SparseArray(const BufferLayout& layout)
      : name_(layout.name), far_bytes_(std::uint64_t{1} << 32U), bytes_(std::max<std::int64_t>(layout.bytes(), 1)) {
    memory_.reset(emulator::allocate_sparse(bytes_ + static_cast<std::size_t>(layout.offset_bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(memory_.get()) + layout.offset_bytes;
    far_bytes_ *= static_cast<std::uint64_t>(layout.element_bytes);
  }

  const std::string& name() const { return name_; }
  void* data() const { return data_; }

  /// True where a place was touched that numbers of 32 bits do not reach, or where there is none.
  bool is_reached() const {
    constexpr std::uintptr_t kPages = std::uintptr_t{2} << 20U;  // The largest that memory comes in.
    if (bytes_ <= far_bytes_ + 2 * kPages) return true;
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data_) + far_bytes_ + kPages) / kPages * kPages;
    const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(data_) + bytes_;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> resident((end - begin + page - 1) / page);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (mincore(reinterpret_cast<void*>(begin), end - begin, resident.data()) != 0) return true;
    return std::memchr(resident.data(), 1, resident.size()) != nullptr;
  }

private:
  std::string name_;
  std::uint64_t far_bytes_;
  std::size_t bytes_;
  Owned<void*, cudaFree> memory_;
  std::byte* data_ = nullptr;
};

/// Seconds of a processor that this program took.
double seconds_taken() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Runs a block here and a block there of what the step launches for a case that is too large to be run: a number that
/// was cut to 32 bits leads astray in some parts only. \return the case's line
nlohmann::json run_far(const std::string& parameters, const Arguments& arguments) {
  constexpr std::array kShares{1.0, 0.0, 0.5, 0.75, 0.25, 0.9, 0.6, 0.4, 0.8, 0.3, 0.7, 0.95};
  constexpr double kSeconds = 0.2;  // Where blocks loop through the arrays, a few are enough.
  const double begin = seconds_taken();
  const std::unique_ptr<Case> problem = make_exercise_case(Parameters::parse(parameters));
  nlohmann::json line{{"far", problem->title()}, {"said", ""}, {"report", ""}, {"missed", ""}};
  std::vector<SparseArray> inputs;
  for (const BufferLayout& layout : problem->inputs()) inputs.emplace_back(layout);
  const SparseArray output(problem->output());
  const SparseArray scratch({.name = "scratch", .elements = problem->scratch_bytes()});
  Arrays arrays{.inputs = {}, .output = output.data(), .scratch = scratch.data()};
  for (const SparseArray& input : inputs) arrays.inputs.push_back(input.data());

  const Stream stream;
  const auto way = arguments.captured ? run_captured : run_confined;
  for (const double share : kShares) {
    emulator::run_one_block(share);
    line["said"] = one_line(launched(way, *problem, arrays, stream.get()));
    static_cast<void>(cudaStreamSynchronize(stream.get()));
    emulator::run_one_block(-1);
    line["report"] = one_line(take_device_report());
    if (line["said"] != "" || line["report"] != "" || seconds_taken() - begin > kSeconds) return line;
  }
  const auto missed = std::ranges::find_if_not(inputs, &SparseArray::is_reached);
  line["missed"] = missed != inputs.end() ? missed->name() : output.is_reached() ? "" : output.name();
  return line;
}

/// After so much time of a processor it is not known what comes of such a case.
void limit_far_cases() {
  constexpr int kSeconds = 1;
  std::signal(SIGPROF, [](int /*signal*/) { _exit(0); });
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kSeconds, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}
#endif

/// The median of the step's times.
nlohmann::json time_case(const Step& step, const std::string& parameters, std::uint64_t seed,
                         const DeviceInfo& device) {
  const std::unique_ptr<Case> problem = make_exercise_case(Parameters::parse(parameters));
  if (verify_step(step, *problem, seed).status != Status::pass) return {{"case", parameters}};
  Workbench workbench(device);
  CaseBench bench(*problem, seed, false);
  Measurement measurement = bench.measure(step, workbench);
  std::vector<double> seconds(kSamples);
  for (double& s : seconds) s = measurement.sample();
  return {{"case", parameters}, {"seconds", summarize(seconds).median}};
}

int run(const Arguments& arguments) {
#ifdef WARPBOOK_EMULATED
  emulator::keep_arrays_apart();
#endif
  const DeviceInfo device = query_device();
#ifdef WARPBOOK_EMULATED
  emulator::set_trace(emulator::TraceMode::all);
  emulator::set_checks(kChecks);
#endif
  Step step;
  step.version = "exercise";
  step.name = "exercise";
  if (arguments.yardstick) step.kind = StepKind::yardstick;
  step.run = run_exercise;

  Results results(arguments.results);
  if (!results.write({{"device", device.name}, {"emulated", device.emulated}})) return 4;
  for (std::size_t k = 0; k < arguments.cases.size(); ++k) {
    const std::string& parameters = arguments.cases[k];
    if (!results.write({{"begins", parameters}})) return 4;
    const nlohmann::json line = arguments.time
                                    ? time_case(step, parameters, arguments.seed, device)
                                    : run_case(parameters, arguments.arrays + "/" + std::to_string(k), arguments);
    if (line.is_null() || !results.write(line)) return 4;
    static_cast<void>(cudaDeviceReset());  // After a kernel that failed, the next case starts afresh.
    static_cast<void>(cudaGetLastError());
  }
  if (!results.write({{"complete", true}})) return 4;
#ifdef WARPBOOK_EMULATED
  if (!arguments.far.empty()) limit_far_cases();
  fills = false;
  emulator::set_trace(emulator::TraceMode::off);
  emulator::set_checks("none");
  for (const std::string& parameters : arguments.far) {
    if (!results.write({{"begins", parameters}})) return 4;
    try {
      results.write(run_far(parameters, arguments));
    } catch (const std::bad_alloc&) {
      break;  // This machine has no such addresses.
    }
    static_cast<void>(cudaDeviceReset());
  }
#endif
  return 0;
}

}  // namespace
}  // namespace warpbook::exercises

int main(int argc, char** argv) {
  using namespace warpbook;
  const auto fail = [](const std::exception& error, int status) {
    std::cerr << "check: " << error.what() << '\n';
    return status;
  };
  int status = 0;
  try {
    status = exercises::run(exercises::parse(argc, argv));
  } catch (const CLI::ParseError& error) {
    status = fail(error, 2);
  } catch (const BadInput& error) {
    status = fail(error, 2);
  } catch (const std::exception& error) {
    status = fail(error, 3);
  }
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);  // What the reader's file left to be run at the end is not run.
}
