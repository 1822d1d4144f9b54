// SPDX-License-Identifier: Apache-2.0
#include "app/problem/problem_drafting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/llm/api/provider.h"
#include "agent/llm/coding_agent/agent_program.h"
#include "agent/llm/llm_spending.h"
#include "agent/llm/mailbox/mailbox_client.h"
#include "agent/llm/prompts.h"
#include "agent/llm/quoting.h"
#include "app/problem/draft_mark.h"
#include "app/problem/new_folder.h"
#include "app/problem/paper_text.h"
#include "app/setup/program_paths.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/text/json_reader.h"
#include "core/text/shown_text.h"
#include "core/text/suggest.h"
#include "core/text/written_json.h"
#include "runtime/process/child_process.h"
#include "runtime/process/program_output.h"
#include "runtime/process/scratch_folder.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr int kMostAside = 99;             // rejected drafts of one name; chosen
constexpr std::int64_t kTokens = 400'000;  // without a limit of the user's: rounds of a long paper; chosen
constexpr std::int64_t kAnswerShown = 20'000;   // tokens of an earlier answer in the next question; chosen
constexpr std::int64_t kFindingsShown = 4'000;  // of what was found; chosen

// What another process of this program finds its files by, beside what a worker gets.
constexpr std::array<std::string_view, 3> kForJudge{"HOME", "XDG_*", "ALPHAKERNEL_*"};

/// Keys of problem.json that a model may write. Others name programs, PyTorch's included, or say that a problem needs
/// no checks.
constexpr std::array<std::string_view, 15> kDraftKeys{
    "name",       "summary",       "op_type",   "params",       "param_constraints",
    "definition", "aliases",       "flops",     "bytes_read",   "bytes_written",
    "tolerance",  "distributions", "mutations", "audit_exempt", "sources"};

/// In the place of a PyTorch form, which other verbs would run outside of a sandbox: a person may write one.
constexpr const char* kNoPythonForm =
    "def run(*inputs):\n    raise NotImplementedError(\"drafted from a text: reference.cu is the "
    "reference\")\n";

/// problem.json as it is kept: known keys, and no program. The error is suitable for the model.
Result<std::string> guarded_problem(const std::string& text) {
  Result<Json> json = parse_json_line(text);
  if (!json) return InputError{"problem.json: " + json.error().message};
  if (!json->is_object()) return InputError{"problem.json: expected an object"};
  if (const auto repeated = find_repeated_key(text); repeated)
    return InputError{fmt::format("problem.json has the key '{}' twice, in lines {} and {}", repeated->key,
                                  repeated->first_line, repeated->line)};
  for (const auto& [key, value] : json->items())
    if (std::ranges::find(kDraftKeys, key) == kDraftKeys.end())
      return InputError{fmt::format("problem.json: a draft has no key '{}'", sanitize(key, 60))};
  Json problem = std::move(json).value();
  problem["reference"] = kNoPythonForm;
  return problem.dump(2) + "\n";
}

void note(const DraftOrder& order, const std::string& line) {
  if (order.on_note) order.on_note(line);
}

bool stopped(const DraftOrder& order) { return order.stop != nullptr && order.stop->load(); }

std::string listed(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += "- " + fault + "\n";
  return text;
}

/// The conversation with the model, of which only the last answer is repeated.
class Conversation {
 public:
  Conversation(const DraftOrder& order, const Config& config)
      : order_(order), prompts_(prompt_set()), budgets_(limits(config)), spending_(budgets_) {
    agent::LlmSettings settings = config.llm;
    settings.record_to = order.record_to;
    model_ = agent::open_model(order.model, settings);
    if (budgets_.max_cost_usd && !model_.entry.price && !model_.entry.question_usd)
      fail(ExitCode::usage,
           "model '{}' has no price entry, so a limit of money cannot be kept (docs/providers.md)",
           order.model);
    request_.model = model_.entry.name;
    request_.max_output_tokens = config.llm_answer_tokens;
    request_.effort = config.llm_effort;
    request_.system = prompts_.text("draft_system");
    most_tokens_ = config.llm_answer_tokens;
    first_question(order);
  }

  /// The text of an answer. Throws Error(interrupted), Error(environment).
  [[nodiscard]] std::string ask(const agent::DraftFiles& former) {
    request_.max_output_tokens = most_tokens_;
    request_.about = {{"arm", agent::kDraftArm},
                      {"definition", "a problem folder"},
                      {"arch", "any device"},
                      {"asked", ++asked_},
                      {"former", former}};
    const auto reservation = spending_.reserve(model_.entry, request_);
    if (!reservation)
      fail(ExitCode::environment, "no answer of {}: the {} is used up", order_.model, spending_.exhausted());
    const LlmReply reply = model_.client->ask(request_, order_.stop);
    spending_.count(*reservation, reply);
    if (!reply.note.empty()) note(order_, reply.note);
    if (reply.failure && reply.failure->fault == LlmFault::cancelled)
      fail(ExitCode::interrupted, "interrupted: {}", reply.failure->message);
    if (reply.failure)
      fail(ExitCode::environment, "{} gave no answer ({}): {}", order_.model, info(reply.failure->fault).name,
           reply.failure->message);
    return reply.text;
  }

  /// The next question: the last answer, and what is wrong with it.
  void object(const std::string& answer, const DraftRound& round) {
    const std::string findings = agent::quotable(listed(round.faults), kFindingsShown);
    const std::string fence = agent::fence_for(0, 2, findings);
    const char* name = round.fault_kind == "unreadable" ? "draft_unreadable" : "draft_repair";
    request_.messages.resize(1);
    request_.messages.push_back({"assistant", agent::quotable(answer, kAnswerShown)});
    request_.messages.push_back(
        {"user", prompts_.fill(name, {{"fence", fence},
                                      {"findings", findings},
                                      {"left", std::to_string(order_.rounds - asked_)}})});
  }

  [[nodiscard]] const std::string& prompts_version() const { return prompts_.version(); }
  [[nodiscard]] std::int64_t tokens() const { return spending_.tokens(); }
  [[nodiscard]] std::optional<double> cost_usd() const {
    return spending_.price_known() ? std::optional(spending_.cost_usd()) : std::nullopt;
  }

 private:
  static agent::PromptSet prompt_set() {
    const fs::path settings = config_path();
    return agent::PromptSet::with_folder(settings.empty() ? settings : settings.parent_path() / "prompts");
  }
  static agent::Budgets limits(const Config& config) {
    agent::Budgets budgets;
    budgets.max_tokens = config.budgets.max_tokens;
    budgets.max_cost_usd = config.budgets.max_cost_usd;
    if (!budgets.max_tokens && !budgets.max_cost_usd) budgets.max_tokens = kTokens;
    return budgets;
  }
  void first_question(const DraftOrder& order) {
    PaperText paper;
    if (!order.paper.empty()) paper = read_paper(order.paper, order.stop);
    if (!paper.note.empty()) note(order, "note: " + paper.note);
    const std::string described = agent::quotable(order.description, kMaxDescription);
    const std::string quoted = paper.text.empty() ? "" : agent::quotable(paper.text, std::ssize(paper.text));
    const std::string fence = agent::fence_for(0, 1, described + quoted);
    std::string text = prompts_.fill("draft_ask", {{"fence", fence}, {"description", described}});
    if (!quoted.empty()) text += prompts_.fill("draft_paper", {{"fence", fence}, {"paper", quoted}});
    request_.messages = {{"user", std::move(text)}};
  }

  const DraftOrder& order_;
  agent::PromptSet prompts_;
  agent::Budgets budgets_;
  agent::LlmSpending spending_;
  agent::LlmModel model_;
  LlmRequest request_;
  int most_tokens_ = 0;
  int asked_ = 0;
};

/// What the checks say of the files, from a process of its own: they run what a stranger wrote.
DraftRound judged(const fs::path& folder, const DraftOrder& order, Draft& draft) {
  const auto output =
      runtime::output_of({worker_command().front(), "problem", "judge", folder.string(), "--json"},
                         runtime::child_environment(false, kForJudge), order.judge_limit,
                         {.stop = order.stop, .last_words = true});
  if (stopped(order)) fail(ExitCode::interrupted, "interrupted while a draft was checked");
  if (!output && output.error().message.starts_with("did not end"))
    return {.fault_kind = "timeout",
            .faults = {fmt::format("the checks of it {}: make the workloads of tier \"emulator\" and the "
                                   "reference's work on them smaller, and look for a loop without an end",
                                   output.error().message)}};
  const Json json = output ? try_parse_json(*output) : Json();
  if (!json.is_object())
    fail(ExitCode::environment, "the checks of a draft cannot run: {}",
         output ? "they say nothing" : output.error().message);
  const JsonReader at(json);
  draft.name = at.member("name").text();
  draft.summary = at.member("summary").text();
  DraftRound round{.fault_kind = at.member("passed").boolean() ? "" : "rejected", .faults = {}};
  for (const JsonReader& fault : at.member("faults").items()) round.faults.push_back(fault.text());
  return round;
}

/// Takes an answer into `files`, and has them judged in `folder`.
DraftRound tried(const std::string& answer, const fs::path& folder, const DraftOrder& order,
                 agent::DraftFiles& files, Draft& draft) {
  Result<agent::DraftFiles> read = agent::read_problem_answer(answer, files);
  if (!read) return {.fault_kind = "unreadable", .faults = {read.error().message}};
  files = std::move(read).value();
  const Result<std::string> problem = guarded_problem(files.at("problem.json"));
  if (!problem) return {.fault_kind = "rejected", .faults = {problem.error().message}};
  for (const auto& [name, text] : files)
    write_file_atomically(folder / name, name == "problem.json" ? *problem : text);
  return judged(folder, order, draft);
}

std::string findings_page(const DraftOrder& order, const Draft& draft) {
  std::string page = fmt::format("# A draft that the checks reject\n\nAsked for: {}\n\nModel: {}\n",
                                 shown_text(order.description), order.model);
  for (std::size_t i = 0; i < draft.rounds.size(); ++i)
    page += fmt::format("\n## Answer {}: {}\n\n{}", i + 1,
                        draft.rounds[i].fault_kind.empty() ? "passed" : draft.rounds[i].fault_kind,
                        shown_text(listed(draft.rounds[i].faults)));
  return page +
         "\nCorrect the files by hand, see what `alphakernel problem judge` says of this folder, and confirm "
         "it with `alphakernel problem confirm`.\n";
}

/// A name that is free next to the wanted folder. Throws Error(output).
fs::path place_aside(const fs::path& wanted) {
  for (int i = 1; i <= kMostAside; ++i) {
    fs::path place = wanted;
    place += i == 1 ? std::string(".rejected") : fmt::format(".rejected-{}", i);
    if (!fs::exists(fs::symlink_status(place))) return place;
  }
  fail(ExitCode::output, "{}.rejected and those after it exist: remove some", wanted.string());
}

void check_description(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    fail(ExitCode::usage, "--describe: say what to compute, in a sentence or more");
  if (text.size() > kMaxDescription)
    fail(ExitCode::usage,
         "--describe: {} bytes, and at most {} are taken: give the long text as --paper FILE", text.size(),
         kMaxDescription);
  for (std::string_view left = text; !left.empty();) {
    const std::size_t length = character_length(left);
    if (length == 0) fail(ExitCode::usage, "--describe: the text is not UTF-8");
    left.remove_prefix(length);
  }
}

void check_model(const std::string& model) {
  if (model.empty())
    fail(ExitCode::usage, "--describe needs a language model: --model PROVIDER:MODEL (docs/providers.md)");
  if (model.starts_with(std::string(agent::kAgentProvider) + ":"))
    fail(ExitCode::usage,
         "'{}' tries kernels of a search, and a draft has none: ask it as a command (docs/providers.md)",
         model);
}

}  // namespace

DraftRound try_draft_answer(const std::string& answer, const agent::DraftFiles& former,
                            const std::atomic<bool>* stop) {
  const runtime::ScratchFolder scratch;
  agent::DraftFiles files = former;
  Draft draft;
  return tried(answer, scratch.path(), {.description = {}, .model = {}, .stop = stop}, files, draft);
}

Draft draft_problem(const fs::path& folder, const DraftOrder& order, const Config& config) {
  check_description(order.description);
  check_model(order.model);
  NewFolder made(folder);
  Conversation conversation(order, config);
  if (!made.is_free())  // a mailbox or a record in it
    fail(ExitCode::usage, "the model's files cannot lie in the folder that is to be made: {}",
         folder.string());
  Draft draft{.folder = made.wanted()};
  agent::DraftFiles files;
  std::string answer;
  while (std::ssize(draft.rounds) < order.rounds && !draft.passed) {
    note(order, fmt::format("asking {} ({} of {})", order.model, draft.rounds.size() + 1, order.rounds));
    try {
      answer = conversation.ask(files);
    } catch (const Error& error) {
      if (draft.rounds.empty() || error.code() == ExitCode::interrupted) throw;
      draft.ended_by = error.what();
      break;
    }
    draft.rounds.push_back(tried(answer, made.path(), order, files, draft));
    const DraftRound& round = draft.rounds.back();
    draft.passed = round.fault_kind.empty();
    for (const std::string& fault : round.faults) note(order, "  " + fault);
    if (!draft.passed) conversation.object(answer, round);
  }
  draft.tokens = conversation.tokens();
  draft.cost_usd = conversation.cost_usd();
  write_draft_mark(made.path(), {.model = order.model,
                                 .description = order.description,
                                 .paper = order.paper.filename().string(),
                                 .prompts = conversation.prompts_version(),
                                 .rounds = static_cast<int>(draft.rounds.size())});
  if (draft.passed && made.is_free()) {
    made.keep();
    return draft;
  }
  write_file_atomically(made.path() / "findings.md", findings_page(order, draft));
  write_file_atomically(made.path() / "answer.md", answer);
  draft.folder = place_aside(made.wanted());
  made.keep_as(draft.folder);
  if (draft.passed)
    fail(ExitCode::output, "{} is not empty any more: the draft, which passed, is in {}",
         made.wanted().string(), draft.folder.string());
  return draft;
}

}  // namespace ak::app
