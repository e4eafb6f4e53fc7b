/// \file
/// Judges what a check of an exercise wrote: another program than the one that runs the reader's file, and the only one
/// of the two that has the reference.
///
///     referee --arrays FOLDER [--seed N] [--yardstick] [--any-writer] CASE...
///
/// Writes the arrays of case number k to FOLDER/k.in (see check.cpp) and says "ready". Then reads from its input the
/// name of the folder in which the .out files are, and writes what it found of each case as a line of JSON.
/// `--any-writer`: the result need not come from a kernel. Exit status: 0 judged, right or wrong; 2 bad arguments; 3
/// something failed.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/exercises/check.hpp"
#include "common/harness/case_data.hpp"
#include "common/harness/reports.hpp"
#include "common/harness/verify.hpp"

namespace warpbook::exercises {
namespace {

constexpr std::byte kByNobody{0};  // As emulator::Writer has them.
constexpr std::byte kByKernel{2};

struct Arguments {
  std::string arrays;
  std::uint64_t seed = 1;
  bool yardstick = false;
  bool any_writer = false;
  std::vector<std::string> cases;
};

/// \throws CLI::ParseError
Arguments parse(int argc, const char* const* argv) {
  Arguments result;
  CLI::App app;
  app.set_help_flag();
  app.add_option("--arrays", result.arrays)->required();
  app.add_option("--seed", result.seed);
  app.add_flag("--yardstick", result.yardstick);
  app.add_flag("--any-writer", result.any_writer);
  app.add_option("CASE", result.cases);
  app.parse(argc, argv);
  return result;
}

/// Arrays one behind the other, as they lie in a file.
class Pieces {
public:
  /// \throws std::runtime_error unless the file has exactly so many bytes
  Pieces(const std::string& path, std::size_t bytes) : content_(bytes) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) != bytes)
      throw std::runtime_error("the outputs are missing or cut short");
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(content_.span().data()), static_cast<std::streamsize>(bytes));
    if (!file) throw std::runtime_error("the outputs cannot be read");
  }

  std::span<std::byte> next(std::size_t bytes) {
    at_ += bytes;
    return content_.span().subspan(at_ - bytes, bytes);
  }

private:
  HostBytes content_;
  std::size_t at_ = 0;
};

/// A case with its reference.
class Judged {
public:
  Judged(const std::string& parameters, const Arguments& arguments)
      : parameters_(parameters), problem_(make_exercise_case(Parameters::parse(parameters))),
        host_(*problem_, arguments.seed), any_writer_(arguments.any_writer) {
    if (arguments.yardstick) step_.kind = StepKind::yardstick;
  }

  bool write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    const auto put = [&](std::span<const std::byte> bytes) {
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    };
    for (const auto input : host_.inputs()) put(input);
    put(before());
    file.close();
    return static_cast<bool>(file);
  }

  nlohmann::json judge(const std::string& path) const {
    Verification found;
    try {
      found = compare(path);
      explain(found, step_, host_);
    } catch (const std::runtime_error& error) {
      found.status = Status::fail;
      found.reason = error.what();
    }
    return {{"case", parameters_},
            {"title", problem_->title()},
            {"status", to_string(found.status)},
            {"reason", found.reason}};
  }

private:
  /// What an output that is made anew must become: of a yardstick, its input.
  std::span<const std::byte> expected() const { return step_.is_yardstick() ? host_.inputs()[0] : host_.expected(); }

  /// What the output holds before the launch. On a GPU, which does not tell who wrote a byte, what is wrong there; on
  /// the emulator nothing that tells of the reference.
  std::vector<std::byte> before() const {
    if (problem_->updates_output()) return {host_.initial().begin(), host_.initial().end()};
#ifdef WARPBOOK_EMULATED
    return std::vector<std::byte>(expected().size(), std::byte{0xcc});
#else
    return complement();
#endif
  }

  std::vector<std::byte> complement() const {
    std::vector<std::byte> result(expected().begin(), expected().end());
    for (std::byte& byte : result) byte = ~byte;
    return result;
  }

  /// \throws std::runtime_error
  Verification compare(const std::string& path) const {
    std::size_t bytes = 2 * expected().size();
    for (const auto input : host_.inputs()) bytes += input.size();
    Pieces pieces(path, bytes);
    std::string overwritten;
    for (std::size_t i = 0; i < host_.inputs().size(); ++i) {
      const auto input = host_.inputs()[i];
      if (!std::ranges::equal(pieces.next(input.size()), input))
        overwritten += (overwritten.empty() ? "" : "; ") + ("input " + problem_->inputs()[i].name + " was overwritten");
    }
    const std::span<std::byte> actual = pieces.next(expected().size());
    const std::span<const std::byte> writers = pieces.next(expected().size());

    // A byte that no kernel wrote counts as what it was before the launch: wrong, unless the step was to leave it
    // alone. (Zeros may come from cudaMemset: where sums begin.)
    const std::vector<std::byte> as_it_came(actual.begin(), actual.end());
    const std::vector<std::byte> untouched =
        problem_->updates_output() ? std::vector(host_.initial().begin(), host_.initial().end()) : complement();
    bool by_others = false;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (writers[i] == kByKernel) continue;
      if (writers[i] != kByNobody && (any_writer_ || (actual[i] == std::byte{0} && !problem_->updates_output())))
        continue;
      by_others |= writers[i] != kByNobody;
      actual[i] = untouched[i];
    }
    Verification found = verify_output(step_, host_, actual);
    if (found.status != Status::pass && by_others && verify_output(step_, host_, as_it_came).status == Status::pass) {
      found.difference = {};
      found.cause = "the result was not written by a kernel";
    }
    if (!overwritten.empty()) {
      found.status = Status::fail;
      found.cause += (found.cause.empty() ? "" : "; ") + overwritten;
    }
    return found;
  }

  std::string parameters_;
  std::unique_ptr<Case> problem_;
  HostCase host_;
  Step step_;
  bool any_writer_;
};

int run(const Arguments& arguments) {
  std::vector<std::unique_ptr<Judged>> cases;
  for (std::size_t k = 0; k < arguments.cases.size(); ++k) {
    cases.push_back(std::make_unique<Judged>(arguments.cases[k], arguments));
    const std::string path = arguments.arrays + "/" + std::to_string(k) + ".in";
    if (!cases.back()->write(path)) throw std::runtime_error(path + " cannot be written");
  }
  std::cout << "ready" << std::endl;
  std::string folder;
  if (!std::getline(std::cin, folder)) return 0;  // There is nothing to judge.
  for (std::size_t k = 0; k < cases.size(); ++k)
    std::cout << cases[k]
                     ->judge(folder + "/" + std::to_string(k) + ".out")
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
              << std::endl;
  return std::cout ? 0 : 3;
}

}  // namespace
}  // namespace warpbook::exercises

int main(int argc, char** argv) {
  using namespace warpbook;
  const auto fail = [](const std::exception& error, int status) {
    std::cerr << "referee: " << error.what() << '\n';
    return status;
  };
  try {
    return exercises::run(exercises::parse(argc, argv));
  } catch (const CLI::ParseError& error) {
    return fail(error, 2);
  } catch (const BadInput& error) {
    return fail(error, 2);
  } catch (const std::exception& error) {
    return fail(error, 3);
  }
}
