// SPDX-License-Identifier: Apache-2.0
#include "app/llm/answer_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "agent/llm/answer.h"
#include "app/audit/problem_audits.h"
#include "app/evaluate/single_evaluation.h"
#include "app/search/manifest_fields.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/json_quantity.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

constexpr IntegerRange kAskedCandidates{.min = 1, .max = 16};  // as of llm_candidates
constexpr std::size_t kShownPath = 200;

/// Reads a part of a question's file, and names the file where it is not as it should be.
template <class Read>
auto of_question(const agent::Mailbox& mailbox, const agent::MailQuestion& question, Read read) {
  try {
    return read(JsonReader(question.about));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", mailbox.file(question.number, "json").string(), input_error.what());
  }
}

/// Whoever wrote the question's file could name any folder, and a problem may run programs: only what ships is taken at
/// its word.
codegen::Problem problem_named(const JsonReader& at, const std::string& given) {
  if (!given.empty()) return codegen::load_problem(given);
  const std::string name = at.member("problem").text();
  if (name.find('/') != std::string::npos)
    fail(ExitCode::usage,
         "the question is about a problem that does not ship: name its folder with --problem, such as "
         "{}",
         sanitize(name, kShownPath));
  return codegen::load_problem(codegen::find_problem(name));
}

std::shared_ptr<const ProblemInstance> problem_of(const JsonReader& at, const std::string& given) {
  const codegen::Problem problem = problem_named(at, given);
  std::map<std::string, std::string> params;
  if (const auto known = at.find("params"))
    for (const auto& [name, value] : read_params(*known)) params[name] = to_string(value);
  auto instance = codegen::instantiate(problem, codegen::choose_params(problem, params));
  const auto shapes = at.member("shapes").items();
  return shapes.size() == 1 ? codegen::with_shape(*instance, read_shape(shapes.front())) : instance;
}

/// Without a source where the question is about none.
Candidate parent_of(const agent::Mailbox& mailbox, const agent::MailQuestion& question) {
  const std::string source = mailbox.parent_source(question);
  if (source.empty()) return {};
  Result<Candidate> read = parse_candidate("parent.cu", source);
  if (!read)
    fail(ExitCode::bad_input, "{}: {}", mailbox.file(question.number, "parent.cu").string(),
         read.error().message);
  Candidate parent = std::move(read).value();
  of_question(mailbox, question, [&](const JsonReader& at) {
    if (const auto tunables = at.find("parent_tunables"))
      for (const auto& [name, value] : tunables->members())
        if (const auto known = parent.tunables.find(name); known != parent.tunables.end())
          known->second = value.integer();
    return 0;
  });
  return parent;
}

Result<std::vector<agent::ProposedCandidate>> read_as_search(const agent::Mailbox& mailbox,
                                                             const agent::MailQuestion& question,
                                                             const std::string& text) {
  const auto most = of_question(mailbox, question, [](const JsonReader& at) {
    const auto given = at.find("max_candidates");
    return given ? static_cast<std::size_t>(integer_in(*given, kAskedCandidates)) : std::size_t{1};
  });
  return agent::read_answer(text, parent_of(mailbox, question), fmt::format("{:04}", question.number), most);
}

/// The files of the answer before: what a repair may leave out.
agent::DraftFiles former_files(const agent::Mailbox& mailbox, const agent::MailQuestion& question) {
  return of_question(mailbox, question, [](const JsonReader& at) {
    agent::DraftFiles files;
    if (const auto former = at.find("former"))
      for (const auto& [name, text] : former->members())
        if (std::ranges::find(agent::kDraftFileNames, name) != agent::kDraftFileNames.end())
          files[name] = text.text();
    return files;
  });
}

}  // namespace

bool AnswerCheck::passed() const { return std::ranges::any_of(candidates, &CheckedCandidate::passed); }

bool asks_for_draft(const agent::MailQuestion& question) {
  const auto arm = question.about.find("arm");
  return arm != question.about.end() && *arm == Json(agent::kDraftArm);
}

DraftRound check_draft_answer(const agent::Mailbox& mailbox, const agent::MailQuestion& question,
                              const std::string& text) {
  return try_draft_answer(text, former_files(mailbox, question), nullptr);
}

std::string unreadable_answer(const agent::Mailbox& mailbox, const agent::MailQuestion& question,
                              const std::string& text) {
  if (asks_for_draft(question)) {
    const auto files = agent::read_problem_answer(text, former_files(mailbox, question));
    return files ? "" : files.error().message;
  }
  const auto proposed = read_as_search(mailbox, question, text);
  if (!proposed) return proposed.error().message;
  const bool usable = std::ranges::any_of(*proposed, [](const auto& one) { return one.candidate.ok(); });
  return usable ? "" : proposed->front().candidate.error().message;
}

AnswerCheck check_answer(const agent::Mailbox& mailbox, const agent::MailQuestion& question,
                         const std::string& text, const AnswerOrder& order, const Config& config,
                         const std::filesystem::path& database) {
  AnswerCheck check;
  check.problem =
      of_question(mailbox, question, [&](const JsonReader& at) { return problem_of(at, order.problem); });
  auto proposed = read_as_search(mailbox, question, text);
  if (!proposed) {
    check.unreadable = proposed.error().message;
    return check;
  }
  const Target target = choose_target(order.device, of_question(mailbox, question, [](const JsonReader& at) {
                                        return at.member("arch").text();
                                      }));
  const bool audited = require_audit(*check.problem, order.unaudited, config, database);
  for (agent::ProposedCandidate& one : proposed.value()) {
    CheckedCandidate checked{.name = fmt::format("candidate {}", check.candidates.size() + 1),
                             .form = one.form,
                             .hypothesis = one.hypothesis,
                             .hypothesis_error = one.hypothesis_error};
    if (one.candidate) {
      const SingleEvaluation done = evaluate_once({.problem = check.problem,
                                                   .candidate = std::move(one.candidate).value(),
                                                   .depth = Depth::check,
                                                   .command = order.command,
                                                   .audited = audited},
                                                  target, config, database);
      checked.passed = done.passed();
      checked.result = done.result;
    } else {
      checked.input_error = one.candidate.error().message;
    }
    check.candidates.push_back(std::move(checked));
  }
  return check;
}

}  // namespace ak::app
