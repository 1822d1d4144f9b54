// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "agent/llm/mailbox/mailbox.h"
#include "app/evaluate/run_files.h"
#include "app/llm/answer_check.h"
#include "app/setup/config.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/shown_text.h"
#include "core/text/suggest.h"
#include "tools/command_line.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMailboxHelp =
    "Questions of searches to people and agents who answer at their own pace, as files in a folder.\n\n"
    "Usage: alphakernel mailbox list FOLDER           # which questions are open, and what is wrong there\n"
    "       alphakernel mailbox show box/0007         # the question, complete\n"
    "       alphakernel mailbox check box/0007.draft.md     # try a draft on the CPU device\n"
    "       alphakernel mailbox answer box/0007.draft.md    # give it; the search takes it\n\n"
    "A search asks there with `--model mailbox:FOLDER`. docs/mailbox.md says more.\n"
    "Exit codes: docs/exit_codes.md\n";
constexpr const char* kMailboxPage = "Mailboxes: docs/mailbox.md\n";
constexpr std::size_t kShownText = 80;  // bytes of a field that someone else wrote; chosen

/// A text of the question's file, which may be anything.
std::string field(const agent::MailQuestion& question, const char* key) {
  const auto found = question.about.find(key);
  if (found == question.about.end() || !found->is_string()) return "";
  std::string text = sanitize(found->get<std::string>(), kShownText);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

Json question_json(const agent::MailQuestion& question, const agent::Mailbox& mailbox) {
  const bool answered =
      question.is_open() && mailbox.answer_to(question).state == agent::AnswerLook::State::ready;
  return {
      {"question", question.name()},
      {"number", question.number},
      {"state", answered ? "waits to be taken" : question.state},
      {"reason", question.reason},
      {"arm", field(question, "arm")},
      {"definition", field(question, "definition")},
      {"arch", field(question, "arch")},
      {"asked_at", field(question, "asked_at")},
      {"file", mailbox.file(question.number, question.state == "withdrawn" ? "withdrawn.md" : "question.md")
                   .string()}};
}

void print_questions(const Json& questions, std::size_t left_out) {
  for (const Json& question : questions) {
    const std::string state = question["state"], reason = question["reason"];
    fmt::print("{}  {:<17} {:<10} {} for {}, asked {}{}\n", question["question"].get<std::string>(), state,
               question["arm"].get<std::string>(), question["definition"].get<std::string>(),
               question["arch"].get<std::string>(), question["asked_at"].get<std::string>(),
               reason.empty() ? "" : ": " + reason);
  }
  if (questions.empty()) fmt::print("no question is open\n");
  if (left_out > 0) fmt::print("{} answered or withdrawn (--all)\n", left_out);
}

int list_mail(const app::Arguments& arguments) {
  CLI::App app{"List the questions of a mailbox, and what is wrong in it.", "alphakernel mailbox list"};
  set_style(app, kMailboxPage);
  std::string folder;
  bool all = false, json = false;
  app.add_option("folder", folder, "the mailbox")->required();
  app.add_flag("--all", all, "those that were answered or withdrawn, too");
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  const agent::Mailbox mailbox(folder);
  std::vector<agent::MailFault> unread;  // misplaced_answers() names them, too
  Json questions = Json::array(), faults = Json::array();
  std::size_t left_out = 0;
  for (const agent::MailQuestion& question : mailbox.questions(unread)) {
    Json one = question_json(question, mailbox);
    const bool shown = all || (one["state"] != "answered" && one["state"] != "withdrawn");
    left_out += !shown;
    if (shown) questions.push_back(std::move(one));
  }
  for (const agent::MailFault& fault : agent::misplaced_answers(mailbox))
    faults.push_back({{"file", fault.file}, {"problem", fault.problem}});
  if (json) {
    fmt::print("{}\n", Json{{"questions", questions}, {"left_out", left_out}, {"faults", faults}}.dump(
                           -1, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  print_questions(questions, left_out);
  for (const Json& fault : faults)
    fmt::print("! {}: {}\n", fault["file"].get<std::string>(), fault["problem"].get<std::string>());
  return 0;
}

int show_mail(const app::Arguments& arguments) {
  CLI::App app{"Print a question.", "alphakernel mailbox show"};
  set_style(app, kMailboxPage);
  std::string word;
  app.add_option("question", word, "any file of the question, or box/0007")->required();
  if (!parse(app, arguments)) return 0;
  const agent::MailPlace place = agent::mail_place(word);
  const agent::Mailbox mailbox(place.folder);
  const agent::MailQuestion question = mailbox.question(place.number);
  const bool withdrawn = mailbox.is_withdrawn(question);
  if (withdrawn) fmt::print("withdrawn{}{}\n\n", question.reason.empty() ? "" : ": ", question.reason);
  fmt::print("{}",
             shown_text(read_file(mailbox.file(place.number, withdrawn ? "withdrawn.md" : "question.md"),
                                  agent::kMaxMailBytes)));
  return 0;
}

/// A file of a person or an agent, and the question that it is for.
struct Draft {
  agent::Mailbox mailbox;
  agent::MailQuestion question;
  std::string text, by;
};

/// @param word of the question; empty: the file's name says it. Throws Error(bad_input) where the file cannot be an answer.
Draft read_draft(const std::string& file, const std::string& word) {
  const agent::MailPlace place = agent::mail_place(word.empty() ? file : word);
  if (agent::is_name_of_search(file))
    fail(ExitCode::bad_input,
         "{} has the name of a file that the search writes, and is no answer: call yours {:04}.draft.md, say",
         file, place.number);
  agent::Mailbox mailbox(place.folder);
  agent::MailQuestion question = mailbox.question(place.number);
  const agent::AnswerLook look = agent::look_at_answer(file, question.name());
  if (look.state == agent::AnswerLook::State::absent) fail(ExitCode::bad_input, "there is no file {}", file);
  if (look.state == agent::AnswerLook::State::bad) fail(ExitCode::bad_input, "{}: {}", file, look.problem);
  return {.mailbox = std::move(mailbox), .question = std::move(question), .text = look.text, .by = look.by};
}

void add_draft(CLI::App& app, std::string& file, std::string& word) {
  app.add_option("file", file, "the answer")->required();
  app.add_option(
      "--question", word,
      "the question, as for `show` (default: the number in front of the file's name, in its folder)");
}

int answer_mail(const app::Arguments& arguments) {
  CLI::App app{"Give an answer: it is put in its place in one piece.", "alphakernel mailbox answer"};
  set_style(app, kMailboxPage);
  std::string file, word, by;
  bool replace = false, anyway = false;
  add_draft(app, file, word);
  app.add_option("--by", by, "who answers: a person or a model; stored with the answer");
  app.add_flag("--replace", replace, "in the place of an answer that was not taken yet");
  app.add_flag("--anyway", anyway, "also where the search cannot read a candidate out of it");
  if (!parse(app, arguments)) return 0;
  const Draft draft = read_draft(file, word);
  if (const std::string why = app::unreadable_answer(draft.mailbox, draft.question, draft.text);
      !why.empty() && !anyway)
    fail(ExitCode::bad_input, "{}: the search cannot read this: {} (--anyway gives it all the same)", file,
         why);
  draft.mailbox.answer(draft.question, by.empty() ? draft.by : by, draft.text, replace);
  fmt::print("question {} has its answer\n", draft.question.name());
  return 0;
}

Json checked_json(const app::AnswerCheck& check) {
  Json candidates = Json::array();
  for (const app::CheckedCandidate& one : check.candidates) {
    Json json{{"name", one.name}, {"form", one.form}, {"passed", one.passed}};
    if (!one.input_error.empty()) json["error"] = one.input_error;
    if (const auto& stated = one.hypothesis)
      json["hypothesis"] = {
          {"change", stated->change}, {"why", stated->reason}, {"speedup", stated->speedup}};
    if (!one.hypothesis_error.empty()) json["hypothesis_error"] = one.hypothesis_error;
    if (one.result) json["evaluation"] = app::evaluation_json(*one.result);
    candidates.push_back(std::move(json));
  }
  return {
      {"passed", check.passed()}, {"unreadable", check.unreadable}, {"candidates", std::move(candidates)}};
}

void print_checked(const app::AnswerCheck& check) {
  if (!check.unreadable.empty()) fmt::print("the search cannot read this: {}\n", check.unreadable);
  for (const app::CheckedCandidate& one : check.candidates) {
    if (one.result)
      fmt::print("{}", app::evaluation_page(fmt::format("{} ({})", one.name, one.form), *check.problem,
                                            *one.result));
    else
      fmt::print("{}: no candidate: {}\n", one.name, one.input_error);
    if (const auto& stated = one.hypothesis)
      fmt::print("{}: expected to be {:.3g} times as fast as its parent: {}, because {}\n", one.name,
                 stated->speedup, stated->change, stated->reason);
    if (!one.hypothesis_error.empty())
      fmt::print("{}: what it expects would not be kept: {}\n", one.name, one.hypothesis_error);
  }
}

/// Of an answer that drafts a problem folder.
int print_checked_draft(const app::DraftRound& round, bool json) {
  const bool passed = round.fault_kind.empty();
  if (json)
    fmt::print(
        "{}\n",
        Json{{"passed", passed}, {"verdict", passed ? "passed" : round.fault_kind}, {"faults", round.faults}}
            .dump(-1, ' ', false, Json::error_handler_t::replace));
  else if (passed)
    fmt::print("the checks find nothing wrong with this draft\n");
  for (const std::string& fault : round.faults)
    if (!json) fmt::print("! {}\n", fault);
  return static_cast<int>(passed ? ExitCode::ok : ExitCode::no_kernel);
}

int check_mail(const app::Arguments& arguments) {
  CLI::App app{
      "Try an answer before it is given: read it as the search will, build its candidates for the question's "
      "target, "
      "and check them on its shapes on the CPU device; of a draft of a problem, have the checks judge it. "
      "Exit code 4 "
      "where none passes.",
      "alphakernel mailbox check"};
  set_style(app, kMailboxPage);
  std::string file, word, database;
  app::AnswerOrder order;
  bool json = false;
  add_draft(app, file, word);
  app.add_option("--problem", order.problem, "folder of the question's problem, where it does not ship");
  app.add_option("--device", order.device, "where to run it: emulator, cuda, none (default: emulator)");
  app.add_option("--db", database, "performance database");
  add_unaudited_flag(app, order.unaudited);
  app.add_flag("--json", json, "print JSON");
  if (!parse(app, arguments)) return 0;
  const Draft draft = read_draft(file, word);
  if (app::asks_for_draft(draft.question))
    return print_checked_draft(app::check_draft_answer(draft.mailbox, draft.question, draft.text), json);
  const app::Config config = app::load_config();
  order.command = fmt::format("alphakernel mailbox check {}", fmt::join(arguments, " "));
  const app::AnswerCheck check = app::check_answer(draft.mailbox, draft.question, draft.text, order, config,
                                                   app::database_file(database, config));
  if (json)
    fmt::print("{}\n", checked_json(check).dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    print_checked(check);
  return static_cast<int>(check.passed() ? ExitCode::ok : ExitCode::no_kernel);
}

int run_mailbox(const app::Arguments& arguments) {
  static constexpr std::array kSubcommands{Verb{"list", "list the questions of a mailbox", list_mail},
                                           Verb{"show", "print a question", show_mail},
                                           Verb{"answer", "give an answer", answer_mail},
                                           Verb{"check", "try an answer before it is given", check_mail}};
  if (arguments.empty() && !DescribeCommandLines::active()) {
    fmt::print("{}", kMailboxHelp);
    return static_cast<int>(ExitCode::usage);
  }
  return run_subcommand(kSubcommands, kMailboxHelp, arguments);
}

}  // namespace

const Verb kMailboxVerb{"mailbox", "answer questions of searches at your own pace: list, show, check, answer",
                        run_mailbox, kServeVerbs};

}  // namespace ak::tools
