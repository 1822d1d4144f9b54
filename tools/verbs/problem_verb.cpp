// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "codegen/problem_catalog.h"
#include "codegen/skeleton.h"
#include "core/error.h"
#include "core/hash.h"
#include "tools/assembler.h"
#include "tools/command_line.h"
#include "tools/run_files.h"

namespace ak::tools {
namespace {

int make_problem(const Arguments& arguments) {
  CLI::App app{"Make a problem folder from the signature of your kernel.", "alphakernel problem new"};
  set_style(app, "Example:\n  alphakernel problem new my_problem/ --from my_kernel.cu\n");
  std::string folder, kernel;
  app.add_option("folder", folder, "folder to make")->required();
  app.add_option("--from", kernel, "file with your __global__ function")->required();
  if (!parse(app, arguments)) return 0;
  const std::vector<std::string> open_points = codegen::new_problem(folder, kernel);
  fmt::print("made {}; fill in:\n", folder);
  for (const std::string& point : open_points) fmt::print("  - {}\n", point);
  fmt::print("then: alphakernel problem check {}\n", folder);
  return 0;
}

/// One evaluation of each template's default point, on the device or (without one) as far as the build.
int check_templates(const std::shared_ptr<const ProblemInstance>& problem, const Target& target,
                    Evaluator& evaluator) {
  int broken = 0;
  for (const CandidateFile& file : problem->templates) {
    const Result<Candidate> candidate = parse_candidate(file.name, file.source);
    if (!candidate) {
      fmt::print("  {}:{}: {}\n", file.name, candidate.error().line, candidate.error().message);
      ++broken;
      continue;
    }
    EvaluationRequest request;
    request.problem = problem;
    request.candidate = *candidate;
    request.arch = target.arch;
    request.depth = target.kind == DeviceKind::cuda ? Depth::time : Depth::build;
    request.seed = random_seed() >> 1;
    evaluator.submit(std::move(request));
    const auto done = evaluator.wait_any(std::chrono::steady_clock::time_point::max());
    AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
    const Outcome& outcome = done->result.outcome;
    fmt::print("  {}: {}{}\n{}", file.name, to_string(outcome.status),
               outcome.message.empty() ? "" : ": " + outcome.message,
               evaluation_text(*problem, done->result));
    broken += outcome.status != Status::ok && outcome.status != Status::compiled_only;
  }
  return broken;
}

int check_problem(const Arguments& arguments) {
  CLI::App app{"Check a problem folder: read it, build its reference, and evaluate its kernels.",
               "alphakernel problem check"};
  set_style(app, "Example:\n  alphakernel problem check my_problem/ --arch sm_90a\n");
  std::string folder, arch, device;
  app.add_option("folder", folder, "the problem folder")->required();
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run: auto, cuda, cuda:N, none");
  if (!parse(app, arguments)) return 0;
  const codegen::Problem loaded = codegen::load_problem(folder);
  const auto problem = codegen::instantiate(loaded, codegen::choose_params(loaded, {}));
  fmt::print("{}: {} with {} workloads, {} distributions, {} lesions, {} kernels\n", folder,
             problem->definition.name, problem->workloads.size(), problem->distributions.size(),
             problem->lesions.size(), problem->templates.size());
  const Target target = choose_target(device, arch);
  if (!target.notice.empty()) fmt::print(stderr, "note: {}\n", target.notice);
  const auto evaluator = make_evaluator(target, load_config());
  const int broken = check_templates(problem, target, *evaluator);
  fmt::print("{}\n", broken == 0 ? "no fault found" : fmt::format("{} kernels failed", broken));
  return static_cast<int>(broken == 0 ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace

int run_problem(const Arguments& arguments) {
  const std::string word = arguments.empty() ? "" : arguments.front();
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (word == "new") return make_problem(rest);
  if (word == "check") return check_problem(rest);
  if (word == "--help" || word == "-h") {
    fmt::print(
        "Usage: alphakernel problem new DIR --from KERNEL.cu\n       alphakernel problem check DIR\n\n"
        "A problem folder says what to compute, on which shapes, and how right it must be "
        "(docs/problem.md).\n");
    return 0;
  }
  fail(ExitCode::usage, "expected 'problem new' or 'problem check', got '{}'", word);
}

}  // namespace ak::tools
