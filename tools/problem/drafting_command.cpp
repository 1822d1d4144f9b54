// SPDX-License-Identifier: Apache-2.0
#include "tools/problem/drafting_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "app/audit/problem_audits.h"
#include "app/problem/draft_judgement.h"
#include "app/problem/draft_mark.h"
#include "app/problem/draft_page.h"
#include "app/problem/problem_drafting.h"
#include "app/setup/interrupt.h"
#include "codegen/problem/problem_files.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/print_stderr.h"
#include "tools/command_line.h"

namespace ak::tools {
namespace {

constexpr const char* kDraftPage = "Drafts: docs/problem.md\n";

std::string one_line_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json draft_json(const app::Draft& draft) {
  Json rounds = Json::array();
  for (const app::DraftRound& round : draft.rounds)
    rounds.push_back(
        {{"verdict", round.fault_kind.empty() ? "passed" : round.fault_kind}, {"faults", round.faults}});
  return {{"folder", draft.folder.string()},
          {"passed", draft.passed},
          {"name", draft.name},
          {"summary", draft.summary},
          {"rounds", std::move(rounds)},
          {"ended_by", draft.ended_by},
          {"tokens", draft.tokens},
          {"cost_usd", draft.cost_usd ? Json(*draft.cost_usd) : Json()}};
}

/// A search of a problem that the checks reject, or that nobody has looked at, is what must not happen.
int ending_of(const app::Draft& draft) {
  if (draft.passed) return static_cast<int>(ExitCode::ok);
  return static_cast<int>(draft.ended_by.empty() ? ExitCode::audit : ExitCode::environment);
}

void print_draft(const app::Draft& draft, const std::string& folder) {
  if (draft.passed) {
    fmt::print("made {}: {}\n", folder, draft.summary);
    fmt::print("then: alphakernel problem confirm {}    # nothing is searched before\n", folder);
    return;
  }
  if (!draft.ended_by.empty()) fmt::print("{}\n", draft.ended_by);
  fmt::print("no draft passed the checks; the last one is in {}, with what was found in findings.md\n",
             draft.folder.string());
}

/// What the person in front of the terminal says.
bool says_yes() {
  fmt::print("\nIs this what you meant? yes or no: ");
  std::fflush(stdout);
  std::string line;
  return static_cast<bool>(std::getline(std::cin, line)) && line == "yes";
}

/// The folder's examples on the CPU device; none where the file is missing.
std::vector<app::ExampleRun> run_examples(const codegen::Problem& problem, const app::Config& config) {
  std::vector<app::ExampleRun> runs;
  if (!codegen::has_problem_file(problem.folder, app::kExamplesFile)) return runs;
  const app::Target target = app::choose_target("emulator", "");
  try {
    const std::string text = codegen::read_problem_file(problem.folder, app::kExamplesFile);
    for (const app::DraftExample& example : app::read_examples(text))
      runs.push_back(app::run_example(problem, example, runs, target, config));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", problem.folder.string(), input_error.what());
  }
  return runs;
}

/// Of a folder that is none nothing can be found.
void require_problem_folder(const std::string& folder) {
  if (!codegen::has_problem_file(folder, "problem.json"))
    fail(ExitCode::bad_input, "{} is no problem folder: it has no problem.json", folder);
}

}  // namespace

int make_from_description(const std::string& folder, const DescribeFlags& flags, bool json) {
  app::Config config = app::load_config();
  if (flags.max_tokens) config.budgets.max_tokens = flags.max_tokens;
  if (flags.max_cost_usd) config.budgets.max_cost_usd = flags.max_cost_usd;
  const app::InterruptGuard interrupt;
  app::DraftOrder order{.description = flags.description,
                        .paper = flags.paper,
                        .model = flags.model,
                        .record_to = flags.record,
                        .rounds = static_cast<int>(flags.rounds),
                        .stop = &interrupt.requested(),
                        .on_note = [](const std::string& line) { print_stderr("{}\n", line); }};
  if (order.model.empty() && !config.models.empty()) order.model = config.models.front();
  if (flags.limit_s)
    order.judge_limit =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(*flags.limit_s));
  const app::Draft draft = app::draft_problem(folder, order, config);
  if (json)
    fmt::print("{}", one_line_json(draft_json(draft)));
  else
    print_draft(draft, folder);
  return ending_of(draft);
}

int judge_problem(const app::Arguments& arguments) {
  CLI::App app{
      "Say what the checks find in a drafted problem folder: whether it can be read, whether its reference "
      "agrees with its examples, and its audit, on the CPU device. Exit code 9 where something is wrong.",
      "alphakernel problem judge"};
  set_style(app, kDraftPage);
  std::string folder;
  bool json = false;
  app.add_option("folder", folder, "the problem folder")->required();
  app.add_flag("--json", json, "print JSON, and exit with 0 whatever was found");
  if (!parse(app, arguments)) return 0;
  if (!json || !std::filesystem::is_directory(folder)) require_problem_folder(folder);
  const app::DraftJudgement judgement = app::judge_draft(folder, app::load_config());
  if (json) {
    fmt::print("{}", one_line_json(app::to_json(judgement)));
    return 0;
  }
  for (const std::string& fault : judgement.faults) fmt::print("! {}\n", fault);
  if (!judgement.faults.empty()) return static_cast<int>(ExitCode::audit);
  fmt::print(
      "{}: {} examples agree with the reference, {} findings of its audit under {} choices of params are "
      "as they should be\n",
      judgement.name, judgement.examples.size(), judgement.findings, judgement.choices);
  for (const std::string& name : app::unshown_mutations(judgement.examples))
    fmt::print(
        "note: no example shows the mutation '{}': look whether the reference itself makes that mistake\n",
        name);
  return 0;
}

int confirm_problem(const app::Arguments& arguments) {
  CLI::App app{
      "Show what a problem computes that a language model drafted, with examples that its reference computes "
      "now, and confirm that it is what was meant. Nothing is searched before.",
      "alphakernel problem confirm"};
  set_style(app, kDraftPage);
  std::string folder;
  bool yes = false;
  app.add_option("folder", folder, "the problem folder")->required();
  app.add_flag("--yes", yes, "confirm without asking: for those who have read it");
  if (!parse(app, arguments)) return 0;
  require_problem_folder(folder);
  auto mark = app::read_draft_mark(folder);
  if (!mark) fail(ExitCode::usage, "{} is no draft of a language model: there is nothing to confirm", folder);
  const std::string content =
      app::audited_content(folder);  // of what is shown, not of what it is after the answer
  const codegen::Problem problem = codegen::load_problem(folder);
  fmt::print("{}", app::draft_page(problem, *mark, run_examples(problem, app::load_config())));
  if (!yes && ::isatty(STDIN_FILENO) != 1)
    fail(ExitCode::usage, "nobody can answer here: read the above, then give --yes");
  if (!yes && !says_yes()) {
    fmt::print("not confirmed. Correct the files, or ask again in other words\n");
    return static_cast<int>(ExitCode::audit);
  }
  mark->confirmed = content;
  app::write_draft_mark(folder, *mark);
  fmt::print("confirmed: alphakernel generate --problem {}\n", folder);
  return 0;
}

}  // namespace ak::tools
