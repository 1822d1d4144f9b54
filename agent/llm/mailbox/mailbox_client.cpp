// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/mailbox/mailbox_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "agent/llm/api/http_client.h"
#include "agent/llm/api/redact.h"
#include "core/error.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr const char* kHead =
    "# Question {name}\n\n"
    "AlphaKernel, which searches fast CUDA kernels, asks this and waits for an answer. All that has to be "
    "known is in this file:\n"
    "first the instructions, then the question.\n\n"
    "- The answer is a file `{answer}` in this folder, in one of the forms that the instructions describe, "
    "of about\n"
    "  {tokens} tokens at most (four bytes each). Write it under another name and rename it when it is "
    "whole, or let\n"
    "  `alphakernel mailbox answer` do that.\n"
    "- Its first line may be `answers: {name}`, so that it cannot be taken for another question's; a line\n"
    "  `by: NAME` after it says who answers.\n"
    "- `alphakernel mailbox check FILE` tries an answer as it will be tried, on the CPU device.\n"
    "{parent}"
    "- A question that nobody waits for any more is renamed to `{withdrawn}`.\n";
constexpr const char* kParent =
    "- `{}` is the whole source of the parent that the question is about; edits are made to that file.\n";

std::string file_name(const MailQuestion& question, std::string_view kind) {
  return fmt::format("{:04}.{}", question.number, kind);
}

LlmReply failed(LlmFault fault, std::string message) {
  return {.text = "", .failure = LlmFailure{fault, std::move(message)}};
}

/// With the reason, where its file says one by now.
std::string withdrawal(const Mailbox& mailbox, const MailQuestion& asked) {
  std::string reason;
  try {
    reason = mailbox.question(asked.number).reason;
  } catch (const Error&) {
    // Whoever declined it has broken its file, too.
  }
  return fmt::format("question {}{}{}", asked.name(), reason.empty() ? "" : ": ", reason);
}

/// A request that is not of a search names itself by what it says. What looks like a key is in no file.
Json about_of(const LlmRequest& request) {
  Json about = request.about.is_object() ? request.about : Json::object();
  Redactor().redact(about);
  if (about.contains("id")) return about;
  std::string text = request.system;
  for (const LlmMessage& message : request.messages) text += message.text;
  about["id"] = sha256_hex(text);
  return about;
}

}  // namespace

std::filesystem::path mailbox_folder(std::string_view model) {
  const std::size_t colon = model.find(':');
  if (colon == std::string_view::npos || model.substr(0, colon) != kMailboxProvider) return {};
  std::string_view folder = model.substr(colon + 1);
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return folder;
}

std::string request_text(const LlmRequest& request) {
  std::string text = "\n---\n\n<!-- instructions -->\n\n" + redact(request.system) + "\n";
  for (const LlmMessage& message : request.messages)
    text +=
        fmt::format("\n---\n\n<!-- {} -->\n\n{}\n",
                    message.role == "user" ? "question" : "what was answered before", redact(message.text));
  return text;
}

std::string question_text(const MailQuestion& question, const LlmRequest& request) {
  const bool has_parent = request.about.is_object() && request.about.contains("parent_source");
  const std::string text = fmt::format(
      fmt::runtime(kHead), fmt::arg("name", question.name()),
      fmt::arg("answer", file_name(question, "answer.md")), fmt::arg("tokens", request.max_output_tokens),
      fmt::arg("parent",
               has_parent ? fmt::format(fmt::runtime(kParent), file_name(question, "parent.cu")) : ""),
      fmt::arg("withdrawn", file_name(question, "withdrawn.md")));
  return text + request_text(request);
}

LlmReply MailboxClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  mark_taken();
  const auto question = post(request, cancelled);
  LlmReply reply = question ? await(*question, cancelled)
                            : failed(LlmFault::cancelled, "the question could not be put into the mailbox");
  waiting_ = false;
  estimate_usage(request, reply.ok(), reply);
  if (reply.ok()) reply.cost_usd = model_.cost_usd(reply.usage);
  return reply;
}

/// Until the folder takes it; nothing where nobody is to wait for that. Why it does not is said once.
std::optional<MailQuestion> MailboxClient::post(const LlmRequest& request,
                                                const std::atomic<bool>* cancelled) {
  auto next = steady_clock::now();
  std::string told;
  for (;; std::this_thread::sleep_for(timing_.poll)) {
    if (steady_clock::now() >= next) {
      try {
        return mailbox_.post(about_of(request),
                             [&](const MailQuestion& asked) { return question_text(asked, request); });
      } catch (const Error& error) {
        waiting_ = true;
        const std::string problem = redact(error.what());
        if (problem != std::exchange(told, problem))
          print_stderr("note: a question waits until the mailbox can be written: {}\n", problem);
      }
      next = steady_clock::now() + timing_.again;
    }
    if (cancelled != nullptr && cancelled->load()) return std::nullopt;
  }
}

/// Until there is an answer that can be taken, or nobody is to wait for it. What is wrong with one is said once.
LlmReply MailboxClient::await(const MailQuestion& question, const std::atomic<bool>* cancelled) {
  FileStamp seen;
  auto seen_since = steady_clock::now();
  std::string told;
  for (;;) {
    const AnswerLook answer = mailbox_.answer_to(question);
    const auto now = steady_clock::now();
    if (answer.stamp != seen) {
      seen = answer.stamp;
      seen_since = now;
    }
    const bool settled = now - seen_since >= timing_.settle;
    waiting_ = answer.state != AnswerLook::State::ready;
    if (answer.state == AnswerLook::State::ready && settled) return take(question, answer);
    if (answer.state == AnswerLook::State::bad && settled &&
        answer.problem != std::exchange(told, answer.problem))
      print_stderr("note: {} is not taken: {}; replace it\n",
                   mailbox_.file(question.number, "answer.md").string(), answer.problem);
    if (answer.state == AnswerLook::State::absent && mailbox_.is_withdrawn(question))
      return failed(LlmFault::withdrawn, redact(withdrawal(mailbox_, question)));
    if (cancelled != nullptr && cancelled->load())
      return failed(LlmFault::cancelled, fmt::format("question {} stays in the mailbox", question.name()));
    std::this_thread::sleep_for(timing_.poll);
  }
}

/// Marking it is for those who look at the folder: a disk that is full or read-only by now loses no answer.
LlmReply MailboxClient::take(const MailQuestion& question, const AnswerLook& answer) {
  LlmReply reply{.text = redact(answer.text), .stop = LlmStop::end};
  reply.raw = reply.text;
  reply.request_id =
      answer.by.empty() ? question.name() : fmt::format("{} by {}", question.name(), answer.by);
  if (!question.is_open()) return reply;
  {
    const std::lock_guard lock(mutex_);
    taken_.push_back({question, answer});
  }
  mark_taken();
  if (was_taken(question))
    reply.note = fmt::format("{} does not say yet that its answer was taken: the mailbox cannot be written",
                             question.name());
  return reply;
}

/// What the folder refuses is tried again with the next question, and at the end.
void MailboxClient::mark_taken() {
  const std::lock_guard lock(mutex_);
  std::erase_if(taken_, [this](const Taken& taken) {
    try {
      mailbox_.note_taken(taken.question, taken.answer);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  });
}

bool MailboxClient::was_taken(const MailQuestion& question) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(taken_, [&](const Taken& taken) { return taken.question.id == question.id; });
}

/// The process that took the answer may have ended before its question could say so.
void MailboxClient::pass_over(const LlmReply& known) {
  const std::string name = known.request_id.substr(0, known.request_id.find(' '));
  try {
    const MailQuestion question = mailbox_.question(mail_place(name.substr(0, name.find('-'))).number);
    const AnswerLook answer = mailbox_.answer_to(question);
    if (question.name() == name && answer.state == AnswerLook::State::ready &&
        redact(answer.text) == known.text)
      static_cast<void>(take(question, answer));
  } catch (const Error&) {
    // No answer of a mailbox, or its folder is away by now.
  }
}

void MailboxClient::withdraw(const QuestionName& name, std::string_view why) {
  mark_taken();
  try {
    std::vector<MailFault> faults;
    for (const MailQuestion& question : mailbox_.questions(faults)) {
      const bool meant = question.search == name.search && (name.id.empty() || question.id == name.id);
      if (!meant || !question.is_open() || was_taken(question)) continue;
      if (!name.id.empty() && mailbox_.answer_to(question).state == AnswerLook::State::ready) continue;
      mailbox_.withdraw(question, why);
      print_stderr("note: question {} is withdrawn: {}\n", question.name(), why);
    }
  } catch (const Error& error) {
    print_stderr("note: questions cannot be withdrawn: {}\n", error.what());
  }
}

}  // namespace ak::agent
