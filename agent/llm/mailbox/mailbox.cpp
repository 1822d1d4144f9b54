// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/mailbox/mailbox.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/format_version.h"
#include "core/text/hash.h"
#include "core/text/json_reader.h"
#include "core/text/suggest.h"

namespace ak::agent {
namespace {

namespace fs = std::filesystem;

constexpr Format kMailFormat{.name = "a question of a mailbox"};
constexpr std::size_t kMaxQuestionBytes = 1u << 20;  // of NNNN.json, which has about a thousand; chosen
constexpr std::size_t kMaxParentBytes = 4u << 20;    // with room for what a candidate may have
constexpr std::size_t kShownReason = 200;
constexpr std::array<std::string_view, 3> kStates{"open", "answered", "withdrawn"};
constexpr int kMaxNumber = 999'999'999;  // behind which nothing overflows; chosen

/// The number in front of the first point; nothing where there is none of four digits or more.
std::optional<int> number_of(std::string_view name) {
  const std::string_view digits = name.substr(0, name.find('.'));
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.size() < 4 || number < 1 ||
      number > kMaxNumber)
    return std::nullopt;
  return number;
}

/// False where a file of this name is there already: two processes never take the same one.
bool create(const fs::path& file, std::string_view content) {
  const fs::path made = fmt::format("{}.{:016x}", file.string(), random_seed());
  try {
    write_file_atomically(made, content);
  } catch (const Error& error) {  // of the file's own name: who tries again says the same once
    std::string message = error.what();
    if (const std::size_t at = message.find(made.string()); at != std::string::npos)
      message.replace(at, made.string().size(), file.string());
    throw Error(error.code(), message);
  }
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, file.c_str(), RENAME_NOREPLACE) == 0) return true;
  // File systems without that have hard links.
  int error = errno;
  if (error != EEXIST) error = ::link(made.c_str(), file.c_str()) == 0 ? 0 : errno;
  ::unlink(made.c_str());
  if (error == 0) return true;
  if (error == EEXIST) return false;
  fail(ExitCode::output, "cannot write {}: {}", file.string(), std::strerror(error));
}

std::string now() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

std::string text_at(const JsonReader& at, std::string_view key) {
  const auto found = at.find(key);
  return found ? found->text() : "";
}

std::vector<MailQuestion> open_in(const fs::path& folder, const std::string& search) {
  try {
    std::vector<MailFault> faults;
    std::vector<MailQuestion> found = Mailbox(folder).questions(faults);
    std::erase_if(found, [&](const MailQuestion& question) {
      return !question.is_open() || question.search != search;
    });
    return found;
  } catch (const Error&) {
    return {};  // who asks or answers there is told
  }
}

std::string as_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

MailQuestion read_mail_question(std::string_view text, const std::string& file, int number) {
  try {
    MailQuestion question{.number = number, .about = up_to_date(kMailFormat, parse_json(text))};
    const JsonReader at(question.about);
    question.id = at.member("id").text();
    if (question.id.empty()) at.member("id").fail("a text");
    question.search = text_at(at, "search");
    question.state = at.member("state").text();
    if (std::ranges::find(kStates, question.state) == kStates.end())
      at.member("state").fail(fmt::format("{}", fmt::join(kStates, ", ")));
    question.reason = sanitize(text_at(at, "reason"), kShownReason);
    std::ranges::replace(question.reason, '\n', ' ');
    question.answer_hash = text_at(at, "answer_hash");
    return question;
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", file, input_error.what());
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", file, error.what());
  }
}

std::string MailQuestion::name() const {
  std::string digits;
  std::ranges::copy_if(id, std::back_inserter(digits), [](unsigned char c) { return std::isalnum(c) != 0; });
  return fmt::format("{:04}-{}", number, digits.substr(0, 8));
}

fs::path Mailbox::file(int number, std::string_view kind) const {
  return folder_ / fmt::format("{:04}.{}", number, kind);
}

void Mailbox::require_writable() const {
  std::error_code refused;
  fs::create_directories(folder_, refused);
  if (refused) fail(ExitCode::output, "cannot make the mailbox {}: {}", folder_.string(), refused.message());
  ak::require_writable(folder_ / "question");
}

std::vector<int> Mailbox::numbers(std::string_view kind) const {
  std::error_code refused;
  std::vector<int> found;
  for (fs::directory_iterator entry(folder_, refused), end; !refused && entry != end;
       entry.increment(refused)) {
    const std::string name = entry->path().filename().string();
    const auto number = number_of(name);
    if (number && name == file(*number, kind).filename().string()) found.push_back(*number);
  }
  if (refused)
    fail(ExitCode::bad_input, "cannot read the mailbox {}: {}", folder_.string(), refused.message());
  std::ranges::sort(found);
  return found;
}

MailQuestion Mailbox::question(int number) const {
  std::error_code unreadable;
  const fs::path json = file(number, "json");
  if (!fs::exists(json, unreadable))
    fail(ExitCode::bad_input, "the mailbox {} has no question {:04}", folder_.string(), number);
  MailQuestion question = read_mail_question(read_file(json, kMaxQuestionBytes), json.string(), number);
  if (question.is_open() && is_withdrawn(question)) question.state = "withdrawn";  // by hand
  return question;
}

std::vector<MailQuestion> Mailbox::questions(std::vector<MailFault>& faults) const {
  std::vector<MailQuestion> all;
  for (const int number : numbers("json")) {
    try {
      all.push_back(question(number));
    } catch (const Error& error) {
      faults.push_back({file(number, "json").filename().string(), error.what()});
    }
  }
  return all;
}

std::optional<MailQuestion> Mailbox::find(const std::string& id) const {
  std::vector<MailFault> faults;
  for (MailQuestion& known : questions(faults))
    if (known.id == id) return std::move(known);
  return std::nullopt;
}

/// Under the first number behind all questions that are there.
MailQuestion Mailbox::add(Json about) const {
  const auto taken = numbers("json");
  std::error_code unreadable;
  for (int number = taken.empty() ? 1 : taken.back() + 1; number <= kMaxNumber; ++number) {
    if (fs::exists(fs::symlink_status(file(number, "answer.md"), unreadable))) continue;
    MailQuestion question{.number = number, .id = about.at("id"), .state = "open"};
    Json json = Json::object();
    set_version(kMailFormat, json);
    json.update({{"number", number},
                 {"name", question.name()},
                 {"state", "open"},
                 {"asked_at", now()},
                 {"question", file(number, "question.md").filename().string()},
                 {"answer", file(number, "answer.md").filename().string()}});
    json.update(about);
    question.search = json.value("search", "");
    question.about = std::move(json);
    if (create(file(number, "json"), as_text(question.about))) return question;
  }
  fail(ExitCode::output, "the mailbox {} has a question {}, and no number is left behind it",
       folder_.string(), kMaxNumber);
}

MailQuestion Mailbox::post(Json about, const Render& render) const {
  const std::string parent = about.value("parent_source", "");
  about.erase("parent_source");
  auto known = find(about.at("id"));
  const MailQuestion question = known ? *std::move(known) : add(std::move(about));
  std::error_code unreadable;
  if (!question.is_open() || fs::exists(file(question.number, "question.md"), unreadable)) return question;
  try {
    if (!parent.empty()) write_file_atomically(file(question.number, "parent.cu"), parent);
    write_file_atomically(file(question.number, "question.md"), render(question));
  } catch (const Error&) {  // nobody is to answer half a question
    fs::remove(file(question.number, "parent.cu"), unreadable);
    fs::remove(file(question.number, "json"), unreadable);
    throw;
  }
  return question;
}

AnswerLook Mailbox::answer_to(const MailQuestion& question) const {
  return look_at_answer(file(question.number, "answer.md"), question.name());
}

void Mailbox::answer(const MailQuestion& question, std::string_view by, std::string_view text,
                     bool replace) const {
  const std::string name = question.name();
  const AnswerLook there = answer_to(question);
  if (question.state == "answered" && there.state == AnswerLook::State::ready)
    fail(ExitCode::bad_input, "question {} was answered, and the search has the answer", name);
  if (is_withdrawn(question))
    fail(ExitCode::bad_input, "question {} was withdrawn{}{}: nobody waits for an answer", name,
         question.reason.empty() ? "" : ": ", question.reason);
  if (!replace && there.state == AnswerLook::State::ready)
    fail(ExitCode::bad_input,
         "question {} has an answer that was not taken yet; --replace puts another in its place", name);
  const std::string content = answer_file_text(name, by, text);
  if (const std::string problem = answer_text_error(content); !problem.empty())
    fail(ExitCode::bad_input, "this cannot be the answer to {}: {}", name, problem);
  write_file_atomically(file(question.number, "answer.md"), content);
}

void Mailbox::write(const MailQuestion& question) const {
  write_file_atomically(file(question.number, "json"), as_text(question.about));
}

void Mailbox::note_taken(MailQuestion question, const AnswerLook& answer) const {
  question.about.update(
      {{"state", "answered"}, {"taken_at", now()}, {"answer_hash", sha256_hex(answer.text)}});
  if (!answer.by.empty()) question.about["by"] = answer.by;
  write(question);
}

void Mailbox::withdraw(MailQuestion question, std::string_view why) const {
  question.about.update({{"state", "withdrawn"}, {"reason", why}, {"withdrawn_at", now()}});
  write(question);  // first: who sees the other name finds the reason
  const fs::path asked = file(question.number, "question.md"),
                 withdrawn = file(question.number, "withdrawn.md");
  if (::rename(asked.c_str(), withdrawn.c_str()) != 0 && errno != ENOENT)
    fail(ExitCode::output, "cannot withdraw {}: {}", asked.string(), std::strerror(errno));
}

bool Mailbox::is_withdrawn(const MailQuestion& question) const {
  std::error_code unreadable;
  return question.state == "withdrawn" || fs::exists(file(question.number, "withdrawn.md"), unreadable);
}

std::string Mailbox::parent_source(const MailQuestion& question) const {
  const fs::path parent = file(question.number, "parent.cu");
  std::error_code unreadable;
  return fs::exists(parent, unreadable) ? read_file(parent, kMaxParentBytes) : "";
}

std::vector<std::string> open_questions(const fs::path& folder, const std::string& search) {
  std::vector<std::string> names;
  for (const MailQuestion& question : open_in(folder, search)) names.push_back(question.name());
  return names;
}

bool has_answer(const fs::path& folder, const std::string& search) {
  const Mailbox mailbox(folder);
  return std::ranges::any_of(open_in(folder, search), [&](const MailQuestion& question) {
    return mailbox.answer_to(question).state == AnswerLook::State::ready;
  });
}

std::vector<MailFault> misplaced_answers(const Mailbox& mailbox) {
  std::vector<MailFault> faults;
  const std::vector<MailQuestion> questions = mailbox.questions(faults);
  std::error_code refused;
  for (fs::directory_iterator entry(mailbox.folder(), refused), end; !refused && entry != end;
       entry.increment(refused)) {
    const std::string name = entry->path().filename().string();
    const auto number = number_of(name);
    if (!number || name != mailbox.file(*number, "answer.md").filename().string()) continue;
    const auto found = std::ranges::find(questions, *number, &MailQuestion::number);
    if (found == questions.end()) {
      faults.push_back({name, "there is no question of this number"});
      continue;
    }
    const AnswerLook look = mailbox.answer_to(*found);
    if (found->is_open() && look.state == AnswerLook::State::bad)
      faults.push_back({name, look.problem});
    else if (found->state == "withdrawn")
      faults.push_back({name, "its question was withdrawn, so it is not taken"});
    else if (found->state == "answered" && found->answer_hash != sha256_hex(look.text))
      faults.push_back({name, "it was changed after the search had taken it, and is not taken again"});
  }
  std::ranges::sort(faults, {}, &MailFault::file);
  return faults;
}

MailPlace mail_place(const fs::path& word) {
  const auto number = number_of(word.filename().string());
  if (!number)
    fail(ExitCode::usage,
         "'{}' names no question: expected a file of one, such as box/0007.question.md, or box/0007",
         sanitize(word.string(), kShownReason));
  const fs::path folder = word.parent_path();
  return {.folder = folder.empty() ? fs::path(".") : folder, .number = *number};
}

bool is_name_of_search(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::array<std::string_view, 4> kKinds{"question.md", "json", "parent.cu", "withdrawn.md"};
  return number_of(name) &&
         std::ranges::find(kKinds, std::string_view(name).substr(name.find('.') + 1)) != kKinds.end();
}

}  // namespace ak::agent
