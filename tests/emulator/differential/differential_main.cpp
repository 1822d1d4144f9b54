// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>

#include "core/error.h"
#include "core/text/file.h"
#include "tests/emulator/differential/agreement.h"
#include "tests/emulator/differential/generator.h"
#include "tests/emulator/differential/gpu_answers.h"
#include "tests/support/patience.h"

namespace ak::emulator::differential {
namespace {

struct Options {
  std::string folder, suite, name;
  bool verbose = false, nan_bits = false;
  int programs = 1000;
  std::uint64_t seed = 0;
  int optimization = 0;
};

constexpr const char* kAbout = R"(Compares the CPU device with a real GPU, kernel by kernel.

Some 1800 small PTX kernels (each instruction on edge values, atomics, matrix products, random programs) run on
both; results must agree bit for bit, or within the bounds of the PTX ISA manual where an instruction is
approximate.

  ptx_differential record tests/emulator/differential/answers
      on a machine with a Hopper GPU: writes what the GPU answers, about a minute
  ptx_differential compare tests/emulator/differential/answers --suite convert --verbose
      anywhere: compares the CPU device with those answers; exit code 1 when one differs
  ptx_differential live --programs 5000 --seed 123456
      on a machine with a GPU: new random programs, nothing recorded
  ptx_differential show --suite half --case 'fma.rn.f16'
      prints the PTX of the kernels whose name begins so)";

/// What `work` returns; errors are shown.
int guarded(const std::function<int()>& work) {
  try {
    return work();
  } catch (const Error& error) {
    fmt::print(stderr, "ptx_differential: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

bool chosen(const Options& options, const Case& one) { return one.name.starts_with(options.name); }

std::vector<Suite> chosen_suites(const Options& options) {
  std::vector<Suite> suites = all_suites();
  std::erase_if(suites,
                [&](const Suite& suite) { return !options.suite.empty() && suite.name != options.suite; });
  if (suites.empty()) fail(ExitCode::usage, "there is no suite '{}'", options.suite);
  return suites;
}

/// Adds what happened to run.json, which earlier suites, or an earlier recording of one suite, have begun.
void note_run(const std::filesystem::path& folder, const DeviceFacts& facts, const Suite& suite,
              const Json& entry) {
  const auto path = folder / "run.json";
  Json run = Json::object();
  if (std::filesystem::exists(path)) run = try_parse_json(read_file(path));
  if (!run.is_object()) run = Json::object();
  run["suites"][suite.name] = entry;
  run["suites"][suite.name]["device"] = facts.name;
  run["suites"][suite.name]["driver_version"] = facts.driver_version;
  run["suites"][suite.name]["recorded"] = now_utc();
  std::ofstream(path) << run.dump(2) << "\n";
}

/// Runs `suite` on the GPU as far as it goes. Returns what stopped it, or nothing.
std::string ask(Gpu& gpu, const Suite& suite, Answers& answers, Json& refused) {
  try {
    for (const auto batch : batches(suite)) {
      const std::vector<GpuAnswer> outputs = gpu.answers(batch);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        answers[key_of(batch[i])] = kept(batch[i], outputs[i].output);
        if (outputs[i].refusal.empty()) continue;
        fmt::print("refused: {}\n  {}\n", batch[i].name, outputs[i].refusal);
        refused.push_back(batch[i].name);
      }
    }
  } catch (const runtime::CudaError& error) {
    return error.what();
  }
  return {};
}

int record_suite(const Options& options, const Suite& suite) {
  // About one random program in 200 gives another result under the optimising compiler of driver 580
  // than under the same compiler without, and the latter agrees: what is compared here is hardware,
  // not a compiler.
  const bool programs = suite.name == random_programs(1, 1).name;
  Gpu gpu(programs ? 0 : kOptimized);
  Answers answers;
  Json refused = Json::array();
  const std::string error = ask(gpu, suite, answers, refused);
  const auto path = answers_path(options.folder, suite.name);
  write_answers(path, answers);
  fmt::print("{}: {} of {} kernels, {} refused, {} bytes\n", suite.name, answers.size(), suite.cases.size(),
             refused.size(), std::filesystem::file_size(path));
  if (!error.empty()) fmt::print("{} stopped: {}\n", suite.name, error);
  note_run(options.folder, gpu.facts(), suite,
           {{"cases", suite.cases.size()},
            {"answers", answers.size()},
            {"refused_by_driver", refused},
            {"error", error}});
  return error.empty() ? 0 : 1;
}

/// In its own process, so that a kernel that corrupts the context or never ends costs one suite.
bool in_child(const std::function<int()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(std::chrono::seconds(testing::kPatience).count());
    const int code = guarded(work);
    std::fflush(stdout);
    _exit(code);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int record(const Options& options) {
  std::filesystem::create_directories(options.folder);
  bool complete = true;
  for (const Suite& suite : chosen_suites(options)) {
    if (in_child([&] { return record_suite(options, suite); })) continue;
    fmt::print("{}: not recorded completely\n", suite.name);
    complete = false;
  }
  return complete ? 0 : 1;
}

void print(const CaseReport& report, const Options& options) {
  if (report.verdict == Verdict::agrees || (report.verdict == Verdict::refused && !options.verbose)) return;
  fmt::print("{}", describe(report, options.verbose ? 1000 : 3));
}

int conclude(const std::vector<Tally>& tallies) {
  fmt::print("\n{}", table(tallies));
  return std::all_of(tallies.begin(), tallies.end(), [](const Tally& tally) { return tally.good(); }) ? 0 : 1;
}

int compare(const Options& options) {
  std::vector<Tally> tallies;
  for (const Suite& suite : chosen_suites(options)) {
    const auto answers = read_answers(answers_path(options.folder, suite.name));
    if (!answers) fail(ExitCode::bad_input, "{}", answers.error().message);
    Tally& tally = tallies.emplace_back();
    tally.suite = suite.name;
    for (const Case& one : suite.cases) {
      if (!chosen(options, one)) continue;
      Case asked = one;
      if (options.nan_bits && one.rule.agreement == Agreement::any_nan) asked.rule = {};
      const CaseReport report = examine(asked, *answers);
      tally.add(report);
      print(report, options);
    }
  }
  return conclude(tallies);
}

int live(const Options& options) {
  Gpu gpu(options.optimization);
  Tally tally;
  tally.suite = "programs";
  constexpr int kAtOnce = 64;
  for (int done = 0; done < options.programs; done += kAtOnce) {
    const int count = std::min(kAtOnce, options.programs - done);
    const Suite suite = random_programs(options.seed + static_cast<std::uint64_t>(done), count);
    const std::vector<GpuAnswer> answers = gpu.answers(suite.cases);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const CaseReport report = examine(suite.cases[i], answers[i].output);
      tally.add(report);
      print(report, options);
    }
  }
  return conclude({tally});
}

int show(const Options& options) {
  for (const Suite& suite : chosen_suites(options)) {
    for (const Case& one : suite.cases)
      if (chosen(options, one)) fmt::print("// {}: {}\n{}\n", suite.name, one.name, one.text);
  }
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app(kAbout, "ptx_differential");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*verb)(const Options&)) {
    CLI::App* command = app.add_subcommand(name, what);
    if (verb == record || verb == compare)
      command->add_option("DIR", options.folder, "folder of answers")->required();
    if (verb != live) command->add_option("--suite", options.suite, "only this suite");
    if (verb == compare || verb == show)
      command->add_option("--case", options.name, "only cases whose name begins so");
    if (verb == compare)
      command->add_flag("--nan-bits", options.nan_bits,
                        "NaNs must agree in their bits where PTX leaves them open too");
    if (verb == compare || verb == live)
      command->add_flag("--verbose", options.verbose, "up to 1000 differences of a case, not 3");
    return command;
  };
  const CLI::App* record_command = add("record", "run everything on GPU 0 and keep its answers", record);
  const CLI::App* compare_command = add("compare", "compare the CPU device with recorded answers", compare);
  const CLI::App* show_command = add("show", "print kernels", show);
  CLI::App* live_command = add("live", "compare the CPU device with GPU 0 on new random programs", live);
  live_command->add_option("--programs", options.programs, "how many")->capture_default_str();
  live_command->add_option("--seed", options.seed, "of the first program; the next has the next seed")
      ->required();
  live_command
      ->add_option("--optimization", options.optimization,
                   "level of the driver's compiler; above 0 its own mistakes show")
      ->check(CLI::Range(0, kOptimized))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (record_command->parsed()) return record(options);
  if (compare_command->parsed()) return compare(options);
  return show_command->parsed() ? show(options) : live(options);
}

}  // namespace
}  // namespace ak::emulator::differential

int main(int argc, char** argv) {
  using namespace ak::emulator::differential;
  return guarded([&] { return run(argc, argv); });
}
