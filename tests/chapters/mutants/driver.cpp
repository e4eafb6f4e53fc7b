/// \file
/// Runs the mutants that a step's file was written with: `driver SECONDS MUTANT,MUTANT,... CASE...`. Each runs in a
/// process of its own with so many seconds of processor time, over the cases until one fails. Prints a line for each:
/// its number, killed or survived, and why. Mutant 0 is the step as it is: it must survive, and takes the part of the
/// cases that the step accepts.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <warpbook_emulator.h>

#include "common/harness/chapter.hpp"
#include "common/harness/device.hpp"
#include "common/harness/verify.hpp"

int warpbook_mutant = 0;

namespace warpbook {

Chapter mutated_chapter();

namespace {

constexpr int kSurvived = 0;
constexpr int kKilled = 1;
constexpr std::uint64_t kSeed = 2026;

/// Runs in the mutant's process. \return what the verification or the emulator said; empty: all was right.
std::string run_cases(const std::vector<std::string>& cases, int& accepted) {
  const Chapter chapter = mutated_chapter();
  const Step& step = chapter.steps.at(0);
  emulator::set_trace(emulator::TraceMode::all);
  emulator::set_checks("all");
  for (const std::string& parameters : cases) {
    const auto problem = chapter.make_case(Parameters::parse(parameters));
    const Verification found = verify_step(step, *problem, kSeed);
    if (found.status == Status::fail) return parameters + ": " + found.reason;
    if (found.status == Status::pass) ++accepted;
    if (const std::string report = take_device_report(); !report.empty()) return parameters + ": " + report;
  }
  return {};
}

/// \return what to print behind the mutant's number.
std::string run_mutant(int mutant, unsigned seconds, const std::vector<std::string>& cases) {
  int ends[2] = {};
  if (pipe(ends) != 0) return "lost no pipe";
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    setpgid(0, 0);
    const rlimit none{};
    setrlimit(RLIMIT_CORE, &none);
    const rlimit time{.rlim_cur = seconds, .rlim_max = seconds};  // Of processors: a busy machine is no endless loop.
    setrlimit(RLIMIT_CPU, &time);
    alarm(10 * seconds);  // What waits uses no processor.
    static_cast<void>(!std::freopen("/dev/null", "w", stdout));
    static_cast<void>(!std::freopen("/dev/null", "w", stderr));
    warpbook_mutant = mutant;
    int accepted = 0;
    std::string said;
    try {
      said = run_cases(cases, accepted);
    } catch (const std::exception& error) {
      said = error.what();
    }
    const int status = said.empty() ? kSurvived : kKilled;
    if (said.empty()) said = std::to_string(accepted) + " of " + std::to_string(cases.size()) + " cases";
    static_cast<void>(!write(ends[1], said.data(), std::min<std::size_t>(said.size(), 400)));
    _exit(status);  // No destructors: the emulator's findings were asked for.
  }
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const bool endless = WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL;
    return endless ? "killed it never ends" : "killed it crashes: " + std::string(strsignal(WTERMSIG(status)));
  }
  for (char& c : said) c = c == '\n' ? ' ' : c;
  return (WEXITSTATUS(status) == kSurvived ? "survived " : "killed ") + said;
}

}  // namespace
}  // namespace warpbook

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto seconds = static_cast<unsigned>(std::atoi(argv[1]));
  const std::vector<std::string> cases(argv + 3, argv + argc);
  std::istringstream numbers(argv[2]);
  for (std::string number; std::getline(numbers, number, ',');) {
    std::cout << number << ' ' << warpbook::run_mutant(std::atoi(number.c_str()), seconds, cases) << std::endl;
  }
  return 0;
}
