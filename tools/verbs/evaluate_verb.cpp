// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/say.h"
#include "db/database.h"
#include "tools/assembler.h"
#include "tools/command_line.h"
#include "tools/counts_table.h"
#include "tools/kernel_choice.h"
#include "tools/problem_audits.h"
#include "tools/run_files.h"

namespace ak::tools {
namespace {

/// Built, checked and timed once; committed as a session of its own.
EvaluationResult evaluate_once(const std::shared_ptr<const ProblemInstance>& problem,
                               const Candidate& candidate, const Target& target, const Config& config,
                               const std::filesystem::path& database, const std::string& command,
                               bool audited) {
  const auto store = db::open_store(database);
  const auto evaluator = make_evaluator(target, config);
  const std::uint64_t seed = random_seed() >> 1;
  const RowId session = store->begin_session({.command = command,
                                              .proposer = "user",
                                              .strategy = "none",
                                              .seed = seed,
                                              .budgets = Json::object(),
                                              .version = AK_VERSION,
                                              .audited = audited},
                                             *problem, target.device.value_or(DeviceFacts{}), target.arch);
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = candidate;
  request.arch = target.arch;
  request.depth = target.executes() ? Depth::time : Depth::build;
  request.seed = seed;
  request.changing_inputs = true;
  evaluator->submit(std::move(request));
  const auto done = evaluator->wait_any(std::chrono::steady_clock::time_point::max());
  AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
  const StoredEvaluation stored = store->commit({.session = session,
                                                 .iteration = 0,
                                                 .proposer = "user",
                                                 .arm = "",
                                                 .parents = {},
                                                 .request = &done->request,
                                                 .result = &done->result});
  const bool passed =
      done->result.outcome.status == Status::ok || done->result.outcome.status == Status::compiled_only;
  store->end_session(session, "finished", "one evaluation",
                     passed ? std::optional(stored.variant) : std::nullopt);
  return done->result;
}

}  // namespace

int run_evaluate(const Arguments& arguments) {
  CLI::App app{
      "Build, check and time one kernel file. A file that generate_kernel wrote says what it was made for; "
      "for any other, name the problem.",
      "alphakernel evaluate"};
  set_style(app,
            "Examples:\n  alphakernel evaluate softmax.cu\n  alphakernel evaluate mine.cu --algorithm "
            "softmax --dtype bf16\n"
            "  alphakernel evaluate mine.cu --problem my_problem/ --shape N=1000\n");
  std::string file, arch, device, database;
  bool json = false, unaudited = false;
  app.add_option("file", file, "the kernel, a .cu file with a launch plan (docs/candidate.md)")->required();
  app.add_option("--arch,--target", arch, "what to compile for (default: native)");
  app.add_option("--device", device, "where to run it: auto, cuda, cuda:N, emulator, none");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, unaudited);
  app.add_flag("--json", json, "print JSON");

  const std::string path = kernel_argument(arguments);
  std::optional<KernelChoice> kernel;
  if (!path.empty()) kernel = kernel_of_file(path);
  const ProblemFlags problem_flags(app, arguments, kernel ? kernel->problem : "");
  if (!parse(app, arguments)) return 0;
  if (!kernel) fail(ExitCode::usage, "expected a kernel file ending in .cu, got '{}'", file);
  const Config config = load_config();
  const auto problem = problem_flags.instance(kernel->params);
  const Target target =
      choose_target(device.empty() ? config.device : device, arch.empty() ? config.arch : arch);
  if (!target.notice.empty()) say("note: {}\n", target.notice);
  const std::filesystem::path db_file = database_file(database, config);
  const bool audited = require_audit(*problem, unaudited, config, db_file);
  const EvaluationResult result =
      evaluate_once(problem, kernel->candidate, target, config, db_file,
                    fmt::format("alphakernel evaluate {}", fmt::join(arguments, " ")), audited);
  if (json) {
    fmt::print("{}\n", evaluation_json(result).dump());
  } else {
    const auto& gate = result.outcome.gate;
    fmt::print("{}: {}{}{}\n{}{}", path, to_string(result.outcome.status),
               gate ? fmt::format(" (gate {})", to_string(*gate)) : "",
               result.outcome.message.empty() ? "" : ": " + result.outcome.message,
               evaluation_text(*problem, result), counts_table(result));
  }
  const bool passed = result.outcome.status == Status::ok || result.outcome.status == Status::compiled_only;
  return static_cast<int>(passed ? ExitCode::ok : ExitCode::no_kernel);
}

}  // namespace ak::tools
