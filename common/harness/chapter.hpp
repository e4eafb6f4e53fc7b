/// \file
/// What a chapter tells the harness: its steps, its cases, and how one case is made, computed and compared.
/// This is all the harness knows of a chapter, and all a chapter knows of the harness.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/harness/parameters.hpp"

namespace warpbook {

/// One array of a case, as the steps see it.
struct BufferLayout {
  std::string name;               ///< "x", "indices": as error messages and the book call it.
  std::int64_t elements = 0;      ///< May be 0: the steps then get a valid pointer that must not be touched.
  int element_bytes = 1;          ///< 1, 2, 4, 8 or 16.
  std::int64_t offset_bytes = 0;  ///< How far the first element lies behind a 256-byte boundary (a misaligned view).

  /// Size of the array in bytes.
  std::int64_t bytes() const { return elements * element_bytes; }
};

/// What comparing a result with its reference found.
struct Difference {
  std::int64_t count = 0;   ///< Elements that differ; 0 is a pass.
  std::int64_t first = -1;  ///< The first such element's index in the output; -1 when there is none.
  std::string expected;     ///< The reference's value there, printed.
  std::string actual;       ///< The step's value there, printed.
};

/// One input of a chapter: shapes, types and parameters, with its arrays, its result and its least traffic.
class Case {
public:
  virtual ~Case() = default;

  /// One line for tables: "(0,1,2)->(0,2,1)  32x1024x2048  half".
  virtual std::string title() const = 0;
  /// The text that makes this case again with `--case`: "shape=32,1024,2048 perm=0,2,1 dtype=half".
  virtual std::string parameters() const = 0;

  /// The arrays that the steps read.
  virtual std::vector<BufferLayout> inputs() const = 0;
  /// The array that the steps write.
  virtual BufferLayout output() const = 0;
  /// Bytes of device memory that steps may use as they like while they run (`Arrays::scratch`); what an earlier launch
  /// left there is not theirs to rely on. Aligned to 256 bytes.
  virtual std::int64_t scratch_bytes() const { return 0; }
  /// Bytes that the operation must move at least: every input element read once, every output element written once.
  virtual std::int64_t bytes_moved() const = 0;

  /// True where the operation adds to what the output holds: then `fill(inputs().size(), ...)` makes that content, and
  /// the harness restores it before every launch. False: the output is poisoned instead.
  virtual bool updates_output() const { return false; }

  /// Fills array number `array` (an index into `inputs()`, or `inputs().size()` for the output's first content) with
  /// reproducible data. Neither symmetric nor constant, so that a wrong index shows.
  virtual void fill(std::size_t array, std::uint64_t seed, std::span<std::byte> bytes) const = 0;

  /// Computes the result on the host. `inputs[i]` holds the bytes of `inputs()[i]`; `expected` has the output's size
  /// and, where `updates_output()`, its first content.
  virtual void reference(std::span<const std::span<const std::byte>> inputs, std::span<std::byte> expected) const = 0;

  /// Compares a step's output with the reference. The default is bit for bit, which is right for pure data movement;
  /// arithmetic overrides it with a bound derived from the operation.
  virtual Difference compare(std::span<const std::byte> expected, std::span<const std::byte> actual) const;

  /// The coordinate of an output element, for messages: "[3, 0, 17]". The default is its number.
  virtual std::string coordinate(std::int64_t element) const;

  /// What the difference looks like, where the chapter can tell ("the output is the input, not permuted"); else empty.
  virtual std::string likely_cause(std::span<const std::span<const std::byte>> /*inputs*/,
                                   std::span<const std::byte> /*expected*/,
                                   std::span<const std::byte> /*actual*/) const {
    return {};
  }
};

/// Device pointers of one case's arrays, in the order of `Case::inputs()`.
struct Arrays {
  std::vector<const void*> inputs;  ///< Never written by a step.
  void* output = nullptr;           ///< The only array that a step writes, besides scratch.
  void* scratch = nullptr;          ///< `Case::scratch_bytes()` of them.
};

/// What a step is to the chapter.
enum class StepKind {
  step,      ///< A rung of the ladder.
  aside,     ///< An experiment beside the ladder.
  library,   ///< A kernel that the take-away header needs for inputs that the ladder does not teach.
  yardstick  ///< A plain copy of input 0 to the output, or a fill: compared with, and verified as what it is.
};

/// "step", "aside", "library", "yardstick".
const char* kind_name(StepKind kind);

/// What a step says of itself.
struct StepInfo {
  std::string version;                     ///< "v2a".
  std::string name;                        ///< "index_type".
  std::string base;                        ///< The version whose kernel was edited to make this one; empty: none.
  std::string idea;                        ///< One sentence.
  std::vector<std::string> counters = {};  ///< What its story is about: "sectors/request", "turns/shared load".
  StepKind kind = StepKind::step;          ///< What it is to the chapter.
  std::string prepares = {};               ///< What a step that gains nothing by itself prepares: "the tiles".
};

/// One version of the chapter's operation. make_step.hpp makes them.
struct Step : StepInfo {
  /// Why the step does not take a case ("both dimensions must be even"); empty where it does.
  std::function<std::string(const Case&)> refusal = {};
  /// Launches the step on the stream, and returns what CUDA said of the launch.
  std::function<cudaError_t(const Case&, const Arrays&, cudaStream_t)> run = {};
  /// What the step works out for a case by running on its arrays, once before its first launch there: a plan. Not part
  /// of any time; the output is poisoned behind it. Empty for nearly every step.
  std::function<cudaError_t(const Case&, const Arrays&, cudaStream_t)> prepare = {};
  /// What a yardstick sets every byte of the output to, where it reads nothing and only fills: what writing alone
  /// takes.
  std::optional<std::byte> fills = std::nullopt;

  bool is_yardstick() const { return kind == StepKind::yardstick; }  ///< It copies or fills.
};

/// In place of a bare `true`.
inline constexpr bool kHeadline = true;

/// A case that moves more takes seconds for each step on the emulator, which leaves it out unless it is asked for.
inline constexpr std::int64_t kEmulatorCaseBytes = std::int64_t{48} << 20U;

/// A case by its parameters.
struct CaseSpec {
  std::string parameters;     ///< As `Case::parameters()`.
  bool headline = false;      ///< One of the two or three that a run without options is made of.
  std::string emulated = {};  ///< The smaller case of the same kind that the emulator runs in a headline case's place.
};

/// Each spec with braces becomes one for every part between them: "n={1|2} dtype={float|half}" is n=1 float, n=1 half,
/// n=2 float, n=2 half.
std::vector<CaseSpec> expanded(const std::vector<CaseSpec>& specs);

/// A chapter as data.
struct Chapter {
  int number = 0;               ///< 3.
  std::string name;             ///< "permute".
  std::string title;            ///< "Permute: ...": one line.
  std::vector<Step> steps;      ///< Of each kind in the book's order: a base before what is built on it.
  std::vector<CaseSpec> cases;  ///< In the order in which they are run.
  int samples = 50;             ///< Taken of each step, unless `--samples` says otherwise.
  std::string case_help;        ///< For `--help`: the keys of a case and what they accept, one line each.

  /// Makes a case; throws BadInput with one line that says what was wrong and what is accepted.
  std::function<std::unique_ptr<Case>(const Parameters&)> make_case;
};

/// What is wrong with a chapter's data, a line each: a base that is not there before its step, a counter that nobody
/// knows, no headline case or too many, a case that cannot be made, a headline case that the emulator would leave out.
/// For the chapters' tests.
std::vector<std::string> defects(const Chapter& chapter);

/// The step of a version; nullptr where there is none.
const Step* find_step(const Chapter& chapter, const std::string& version);

/// The main function of every chapter's `run_all`. Returns the exit status (see `--help`).
int run_all(const Chapter& chapter, int argc, const char* const* argv);

/// Compares element by element, bit for bit. `print` makes the text of the element that begins at its argument; left
/// out, it is hexadecimal. For overrides of `Case::compare` that only want to print their type.
Difference compare_bits(std::span<const std::byte> expected, std::span<const std::byte> actual, int element_bytes,
                        const std::function<std::string(const std::byte*)>& print = {});

/// Compares element by element: `passes(want, got)` judges the elements that begin at its arguments, on all cores.
Difference compare_elements(std::span<const std::byte> expected, std::span<const std::byte> actual, int element_bytes,
                            const std::function<bool(const std::byte* want, const std::byte* got)>& passes,
                            const std::function<std::string(const std::byte*)>& print);

/// The index of element number `element` of a contiguous array, the last dimension the fastest.
std::vector<std::int64_t> index_in(std::span<const std::int64_t> sizes, std::int64_t element);
/// "[3, 0, 17]".
std::string coordinate_text(std::span<const std::int64_t> index);

/// Calls `body(begin, end)` for parts of [0, count) on all cores, and waits. For references and comparisons on the
/// host.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Calls `body(i)` for each i of [0, count) on all cores, and waits.
template <class Body> void parallel_each(std::int64_t count, const Body& body) {
  parallel_for(count, [&body](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace warpbook
