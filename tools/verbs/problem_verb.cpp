// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "app/evaluate/run_files.h"
#include "app/problem/draft_mark.h"
#include "app/problem/problem_drafting.h"
#include "app/problem/python_problem.h"
#include "app/setup/assembler.h"
#include "app/setup/config.h"
#include "app/setup/interrupt.h"
#include "app/setup/option_ranges.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/source/skeleton.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/reference_dump.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "tools/problem/drafting_command.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kProblemHelp =
    "Usage: alphakernel problem new DIR --from KERNEL.cu\n       alphakernel problem new DIR --from-python "
    "FILE.py\n       alphakernel problem new DIR --describe TEXT [--paper FILE] --model MODEL\n"
    "       alphakernel problem confirm DIR\n       alphakernel problem check DIR\n"
    "       alphakernel problem dump --algorithm NAME --output DIR\n\n"
    "A problem folder says what to compute, on which shapes, and how right it must be (docs/problem.md).\n";

int make_from_python(const std::string& folder, app::PythonSource source, const std::string& python,
                     bool json) {
  const auto installation = runtime::find_python(python.empty() ? app::load_config().python : python);
  const app::InterruptGuard interrupt;
  source.stop = &interrupt.requested();
  print_stderr("running {} to see what it computes, for at most {} s (--time-limit)\n", source.file.string(),
               std::chrono::duration<double>(source.limit).count());
  const app::PythonProblem made = app::make_python_problem(folder, source, installation);
  if (json) {
    fmt::print("{}\n", Json{{"folder", folder},
                            {"name", made.name},
                            {"notes", made.notes},
                            {"open", made.open},
                            {"kernel", made.kernel.empty() ? Json() : Json(made.kernel)},
                            {"degenerate", made.degenerate.empty() ? Json() : Json(made.degenerate)}}
                           .dump(-1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  fmt::print("made {}\n", folder);
  for (const std::string& note : made.notes) fmt::print("  {}\n", note);
  if (!made.kernel.empty()) fmt::print("  {} is a plain kernel to start from\n", made.kernel);
  if (!made.degenerate.empty()) fmt::print("  degenerate: {}\n", made.degenerate);
  for (const std::string& point : made.open) fmt::print("  left for you: {}\n", point);
  fmt::print("then: alphakernel problem check {}\n", folder);
  return 0;
}

constexpr double kDescribeSeconds = static_cast<double>(app::kDescribeLimit.count());

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

/// Where the folder is to come from, and how it is said.
struct NewFlags {
  std::string folder, kernel, file, python;
  bool eval = false, json = false;
  std::optional<double> limit_s = {};
  codegen::NewProblem request = {};
  DescribeFlags described{
      .description = {}, .paper = {}, .model = {}, .record = {}, .rounds = app::kDraftRounds};
};

void add_kernel_flags(CLI::App& app, NewFlags& flags) {
  CLI::Option* const from = app.add_option("--from", flags.kernel, "file with your __global__ function");
  app.add_option("--outputs", flags.request.outputs,
                 "pointers that are outputs (default: those that are not const)")
      ->delimiter(',')
      ->needs(from);
  app.add_flag("--reference-is-right", flags.request.reference_is_right,
               "the kernel is right: it becomes the reference, in fp64")
      ->needs(from);
}

void add_python_file_flags(CLI::App& app, NewFlags& flags) {
  CLI::Option* const from_python =
      app.add_option("--from-python", flags.file,
                     "your PyTorch file, with a module or a function (docs/python.md)")
          ->excludes("--from");
  app.add_option("--python", flags.python, "interpreter with PyTorch")->needs(from_python);
  app.add_flag("--eval", flags.eval, "run the file's modules in evaluation mode")->needs(from_python);
}

// More answers than this have not helped; chosen.
constexpr IntegerRange kDraftAnswers{.min = 1, .max = 10};

void add_description_flags(CLI::App& app, NewFlags& flags) {
  DescribeFlags& described = flags.described;
  CLI::Option* const describe =
      app.add_option("--describe", described.description,
                     "what to compute, in words: a language model drafts the folder, and you confirm it")
          ->excludes("--from")
          ->excludes("--from-python");
  app.add_option("--paper", described.paper, "text, Markdown, LaTeX or PDF that describes it")
      ->needs(describe);
  app.add_option("--model", described.model,
                 "language model that drafts it: anthropic:NAME, openai:NAME, local:URL#NAME, command:NAME, "
                 "mailbox:FOLDER, replay:FILE (default: the configuration's first)")
      ->needs(describe);
  app.add_option("--record", described.record, "append every exchange with the model to this file")
      ->needs(describe);
  add_integer(app, "--answers", kDraftAnswers, into(described.rounds),
              "most answers of the model until one passes the checks (default: 4)")
      ->needs(describe)
      ->group("Language models");
  add_integer(app, "--max-tokens", app::kTokens, into(described.max_tokens), "most tokens of the model")
      ->needs(describe);
  add_quantity(app, "--max-cost-usd", kDollars, into(described.max_cost_usd), "most money for the model")
      ->needs(describe);
}

int make_from_kernel(const NewFlags& flags) {
  const std::vector<std::string> open_points =
      codegen::new_problem(flags.folder, flags.kernel, flags.request);
  fmt::print("made {}; fill in:\n", flags.folder);
  for (const std::string& point : open_points) fmt::print("  - {}\n", point);
  fmt::print("then: alphakernel problem check {}\n", flags.folder);
  return 0;
}

int make_problem(const app::Arguments& arguments) {
  CLI::App app{"Make a problem folder from your kernel, your PyTorch file, or a description.",
               "alphakernel problem new"};
  set_style(app,
            "Example:\n  alphakernel problem new my_problem/ --from my_kernel.cu\n"
            "         alphakernel problem new my_problem/ --from-python model.py\n"
            "         alphakernel problem new my_problem/ --describe \"rows of x divided by their largest "
            "magnitude\" --model mailbox:box\n");
  NewFlags flags;
  app.add_option("folder", flags.folder, "folder to make")->required();
  add_kernel_flags(app, flags);
  add_python_file_flags(app, flags);
  add_description_flags(app, flags);
  add_quantity(
      app, "--time-limit", kSeconds, into(flags.limit_s),
      "give up on a PyTorch file (default: 300s), or on the checks of one answer (600s), after this time");
  app.add_flag("--json", flags.json, "print JSON (not with --from)");
  if (!parse(app, arguments)) return 0;
  if (app.count("--describe") > 0) {
    flags.described.limit_s = flags.limit_s;
    return make_from_description(flags.folder, flags.described, flags.json);
  }
  if (flags.kernel.empty() && flags.file.empty())
    fail(ExitCode::usage, "expected --from KERNEL.cu, --from-python FILE.py or --describe TEXT");
  if (!flags.file.empty())
    return make_from_python(flags.folder,
                            {.file = flags.file,
                             .eval = flags.eval,
                             .limit = milliseconds_of(flags.limit_s.value_or(kDescribeSeconds))},
                            flags.python, flags.json);
  if (flags.json || flags.limit_s) fail(ExitCode::usage, "--json and --time-limit do not go with --from");
  return make_from_kernel(flags);
}

/// One evaluation of each template's default point, on the device or (without one) as far as the build.
int check_templates(const std::shared_ptr<const ProblemInstance>& problem, const app::Target& target,
                    Evaluator& evaluator) {
  int broken = 0;
  Environment known = problem->environment({});
  known.merge(device_environment(evaluator.capabilities().device, target.arch));
  for (const CandidateFile& file : problem->templates) {
    const Result<Candidate> candidate = parse_candidate(file.name, file.source);
    if (!candidate) {
      fmt::print("  {}:{}: {}\n", file.name, candidate.error().line, candidate.error().message);
      ++broken;
      continue;
    }
    if (const auto needs = broken_constraints(candidate->plan, known, candidate->tunables); !needs.empty()) {
      fmt::print("  {}: not for {} with these parameters: needs {}\n", file.name, target.arch.sm(),
                 fmt::join(needs, " and "));
      continue;
    }
    EvaluationRequest request;
    request.problem = problem;
    request.candidate = *candidate;
    request.arch = target.arch;
    request.depth = target.executes() ? Depth::time : Depth::build;
    request.seed = random_seed() >> 1;
    evaluator.submit(std::move(request));
    const auto done = evaluator.wait_any(std::chrono::steady_clock::time_point::max());
    AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
    const Outcome& outcome = done->result.outcome;
    fmt::print("  {}: {}{}\n{}", file.name, to_string(outcome.status),
               outcome.message.empty() ? "" : ": " + outcome.message,
               app::evaluation_text(*problem, done->result));
    broken += outcome.status != Status::ok && outcome.status != Status::compiled_only;
  }
  return broken;
}

bool has_tunables(const CandidateFile& file) {
  const Result<Candidate> candidate = parse_candidate(file.name, file.source);
  return candidate.ok() && !candidate->plan.tunables.empty();
}

/// Places of the folder's files that still wait for the user, as "file:line: text".
std::vector<std::string> open_places(const std::filesystem::path& folder) {
  std::vector<std::string> places;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::istringstream text(read_file(entry.path()));
    int number = 0;
    for (std::string line; std::getline(text, line);) {
      ++number;
      if (line.find("FILL-IN") == std::string::npos) continue;
      line.erase(0, line.find_first_not_of(" \t"));
      places.push_back(fmt::format("{}:{}: {}", entry.path().filename().string(), number, line));
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

/// What the kernels of a problem came to, under all params that are checked.
struct CheckedKernels {
  int broken = 0;
  std::size_t kernels = 0;
  bool tunable = false;
};

CheckedKernels check_kernels(const codegen::Problem& loaded, const std::string& folder,
                             const app::Target& target) {
  const auto evaluator = app::make_evaluator(target, app::load_config());
  CheckedKernels checked;
  for (const Params& params : codegen::covering_params(loaded)) {
    const auto problem = codegen::instantiate(loaded, params);
    fmt::print("{}: {} with {} workloads, {} distributions, {} mutations, {} kernels\n", folder,
               problem->definition.name, problem->workloads.size(), problem->distributions.size(),
               problem->mutations.size(), problem->templates.size());
    checked.broken += check_templates(problem, target, *evaluator);
    checked.kernels += problem->templates.size();
    checked.tunable = checked.tunable || std::ranges::any_of(problem->templates, has_tunables);
  }
  return checked;
}

/// What a check without faults showed.
std::string summary(std::size_t kernels, const app::Target& target) {
  if (kernels == 0) return "no fault found; it has no kernel, so none was tried";
  return target.executes() ? "every kernel passed" : "no fault found; nothing was executed";
}

std::string next_without_tunables(std::size_t kernels, const std::string& folder) {
  return fmt::format(
      "next: {}, so there is nothing to search yet. {} (docs/candidate.md), or let a language model write "
      "kernels:\n  alphakernel generate --problem {} --proposer llm --output k.cu\n",
      kernels == 0 ? "there is no kernel here" : "no kernel here has tunables",
      kernels == 0 ? "Write one as a .cu file of this folder"
                   : "Name constants such as the block size under \"tunables\" of a launch plan",
      folder);
}

int check_problem(const app::Arguments& arguments) {
  CLI::App app{"Check a problem folder: read it, build its reference, and evaluate its kernels.",
               "alphakernel problem check"};
  set_style(app, "Example:\n  alphakernel problem check my_problem/ --arch sm_90a\n");
  std::string folder, arch, device;
  app.add_option("folder", folder, "the problem folder")->required();
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run: auto, cuda, cuda:N, emulator, none");
  add_python_flag(app);
  if (!parse(app, arguments)) return 0;
  const codegen::Problem loaded = codegen::load_problem(folder);
  const app::Target target = app::choose_target(device, arch);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  const CheckedKernels checked = check_kernels(loaded, folder, target);
  const std::vector<std::string> open = open_places(folder);
  for (const std::string& place : open) fmt::print("  to fill in: {}\n", place);
  if (checked.broken > 0) {
    fmt::print("{} of {} kernels failed\n", checked.broken, checked.kernels);
    return static_cast<int>(ExitCode::no_kernel);
  }
  if (!open.empty()) {
    fmt::print("not ready: {} places wait to be filled in\n", open.size());
    return static_cast<int>(ExitCode::bad_input);
  }
  const std::string degenerate = codegen::degenerate_evidence(loaded);
  if (!degenerate.empty())
    fmt::print("degenerate: {}; its kernels are not ranked and in no mean\n", degenerate);
  fmt::print("{}\n", summary(checked.kernels, target));
  if (const auto mark = app::read_draft_mark(folder); mark && mark->confirmed.empty())
    fmt::print("a draft that no person has confirmed yet: alphakernel problem confirm {}\n", folder);
  else if (!checked.tunable)
    fmt::print("{}", next_without_tunables(checked.kernels, folder));
  return static_cast<int>(ExitCode::ok);
}

/// Small workloads that do not have to wait for a GPU, unless the user names others.
std::vector<std::string> workloads_to_dump(const ProblemInstance& problem,
                                           const std::vector<std::string>& named) {
  std::vector<std::string> names;
  for (const Workload* one : runtime::select_workloads(problem, named, DeviceKind::emulator))
    names.push_back(one->name);
  return names;
}

int dump_problem(const app::Arguments& arguments) {
  CLI::App app{"Write a problem's inputs and the results of its exact reference as raw files.",
               "alphakernel problem dump"};
  set_style(app, "Example:\n  alphakernel problem dump --algorithm softmax --dtype bf16 --output data/\n");
  std::string output, arch, device;
  std::vector<std::string> named;
  std::uint64_t seed = 1;
  ProblemFlags flags(app, arguments);
  app.add_option("--output", output, "folder to write to; made where it is missing")->required();
  app.add_option("--workload", named, "workload to write; may be repeated (default: the small ones)");
  add_integer(app, "--seed", kAnyNumber, into(seed), "seed of the inputs");
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run: auto, cuda, cuda:N, emulator");
  if (!parse(app, arguments)) return 0;
  const auto problem = flags.instance();
  const app::Target target = app::choose_target(device, arch);
  if (!target.executes() || !target.device)
    fail(ExitCode::usage, "--device {}: references have to run somewhere: cuda or emulator", device);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  std::error_code error;
  std::filesystem::create_directories(output, error);
  if (error) fail(ExitCode::output, "--output {}: {}", output, error.message());
  const runtime::DumpRequest request{.problem = problem,
                                     .workloads = workloads_to_dump(*problem, named),
                                     .seed = seed,
                                     .folder = std::filesystem::absolute(output)};
  const Outcome outcome = runtime::dump_references(app::evaluator_options(target, app::load_config()),
                                                   app::source_assembler(), *target.device, request);
  if (outcome.status != Status::ok) fail(ExitCode::bad_input, "{}", explain(outcome));
  fmt::print("wrote {} workloads x {} distributions of {} to {}\n", request.workloads.size(),
             problem->distributions.size(), problem->definition.name, output);
  return static_cast<int>(ExitCode::ok);
}

int run_problem(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{
      Verb{"new", "make a problem folder", make_problem}, Verb{"check", "check one", check_problem},
      Verb{"confirm", "confirm a draft", confirm_problem}, Verb{"judge", "judge a draft", judge_problem},
      Verb{"dump", "write inputs and results", dump_problem}};
  return run_subcommand(kSubcommands, kProblemHelp, arguments);
}

}  // namespace

const Verb kProblemVerb{"problem", "make and check a problem folder for your own kernel", run_problem,
                        kProblemVerbs};

}  // namespace ak::tools
