// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/coding_agent_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include "agent/llm/api/http_client.h"
#include "agent/llm/api/redact.h"
#include "agent/llm/coding_agent/agent_usage.h"
#include "agent/llm/mailbox/answer_file.h"
#include "agent/llm/uncounted_trial.h"
#include "core/error.h"
#include "core/plan/candidate.h"
#include "core/token_counts.h"

namespace ak::agent {
namespace {

constexpr std::size_t kKeptOutputBytes = 64u << 10;  // the end of what it printed, kept with the call; chosen
constexpr int kNotStarted = 127;                     // a supervisor's exit code, as shells say it
constexpr std::int64_t kMostRefused = 1000;  // calls beyond its evaluations, far above any need; chosen
constexpr std::string_view kSourceBegin = "/* alphakernel";
/// The tool that runs kernels beside `evaluate`, which the server runs itself once the search allows it.
constexpr std::string_view kAllowed = "profile";

LlmReply failed(LlmFault fault, std::string message) {
  return {.text = "", .failure = LlmFailure{fault, std::move(message)}};
}

/// A byte says that somebody is there who cleans up.
void end_supervised(FileDescriptor& lifeline) {
  static_cast<void>(::write(lifeline.get(), "e", 1));
  lifeline.reset();
}

/// How it ended, where that was not with exit code 0.
std::string how_it_ended(const ProgramOutput& output, const CodingAgentSettings& settings) {
  if (output.failure && output.failure->fault == LlmFault::timeout)
    return fmt::format("the agent was ended after {}", time_in_words(settings.most_time));
  if (output.failure) return fmt::format("the agent was ended: {}", output.failure->message);
  if (!output.exit_code) return "the agent's supervisor was killed";
  constexpr int kSignalled = 128;
  if (*output.exit_code > kSignalled && *output.exit_code <= kSignalled + SIGRTMAX)
    return fmt::format("the agent was killed by signal {}", *output.exit_code - kSignalled);
  return *output.exit_code == 0 ? "" : fmt::format("the agent ended with code {}", *output.exit_code);
}

/// Its last lines, whole ones where it has such.
std::string_view end_of(std::string_view text) {
  if (text.size() <= kKeptOutputBytes) return text;
  text.remove_prefix(text.size() - kKeptOutputBytes);
  const std::size_t line = text.find('\n');
  return line == std::string_view::npos ? text : text.substr(line + 1);
}

/// What is kept of what it printed. A cut through a key would hide what is left of it, so keys go first; and of what was
/// printed far earlier nothing is looked at, because that takes a while.
std::string kept_output(std::string_view text, const Redactor& redactor) {
  constexpr std::size_t kLookedAt = 4 * kKeptOutputBytes;
  if (text.size() > kLookedAt) text.remove_prefix(text.size() - kLookedAt);
  return std::string(end_of(clean_text(redactor(text))));
}

}  // namespace

std::string as_answer(std::string text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || !std::string_view(text).substr(begin).starts_with(kSourceBegin))
    return text;
  return fmt::format("```cuda\n{}\n```\n", std::string_view(text).substr(begin));
}

LlmReply CodingAgentClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  AK_ASSERT(!settings_.program.empty(), "who asks an agent says which program serves it");
  try {
    const AgentFolder folder(request, settings_);
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(LlmFault::unreachable, "no pipe is left");
    const FileDescriptor read_end(ends[0]);
    FileDescriptor lifeline(ends[1]);
    {
      const std::lock_guard lock(mutex_);
      work_.emplace(folder.path());
    }
    ProgramCall call{.argv = {settings_.program.string(), "worker", "--role", "supervisor", "--scratch",
                              folder.path().string(), "--"},
                     .environment = set_variables(agent_.environment),
                     .folder = folder.path(),
                     .input = read_end.get(),
                     .timeout = settings_.most_time,
                     .watch = [&]() -> std::optional<LlmFailure> {
                       const std::lock_guard lock(mutex_);
                       if (auto flood = look(*work_)) return flood;
                       return overspent(folder.held());
                     },
                     .ask_to_end = [&] { end_supervised(lifeline); }};
    std::ranges::move(agent_arguments(agent_, folder.path(), folder.server(), settings_.server_variables),
                      std::back_inserter(call.argv));
    const ProgramOutput output = run_to_answer(call, cancelled);
    LlmReply reply = answered(folder, output);
    count(folder, output, request, reply);
    return reply;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    work_.reset();
    return failed(LlmFault::unreachable, redact(error.what()));
  }
}

/// What the agent left, or how it failed. Closes the question.
LlmReply CodingAgentClient::answered(const AgentFolder& folder, const ProgramOutput& output) {
  std::string best;
  {
    const std::lock_guard lock(mutex_);
    best = std::move(work_->best_text);
    work_.reset();
  }
  const Redactor redactor(secret_values(agent_.environment));
  LlmReply reply{.text = "", .stop = LlmStop::end};
  reply.request_id = folder.question();
  reply.raw = kept_output(output.text, redactor);
  if (output.failure && output.failure->fault == LlmFault::cancelled) {
    reply.failure = output.failure;
    return reply;
  }
  const std::string ended = how_it_ended(output, settings_);
  const AnswerLook answer = look_at_answer(folder.held() / "answer.md", folder.question());
  if (answer.state == AnswerLook::State::ready) {
    reply.text = redactor(as_answer(answer.text));
    reply.note = ForeignText(ended).line(redactor);
    return reply;
  }
  const std::string missing = answer.problem.empty()
                                  ? "it left no answer"
                                  : fmt::format("its answer is not taken: {}", answer.problem);
  const std::string why = ended.empty() ? missing : fmt::format("{}; {}", ended, missing);
  if (!best.empty()) {
    reply.text = redactor(best);
    reply.note = ForeignText(why + "; its fastest kernel is taken").line(redactor);
    return reply;
  }
  const std::string said = last_words(output.text, output.error_text);
  const bool absent =
      output.exit_code == kNotStarted || (output.failure && output.failure->fault == LlmFault::no_model);
  reply.failure = {
      absent ? LlmFault::no_model : LlmFault::malformed,
      ForeignText(said.empty() ? why : fmt::format("{}; it said: {}", why, said)).line(redactor)};
  return reply;
}

/// What it used: as it says, else by the texts; where money is limited and it says nothing, all that it might have.
void CodingAgentClient::count(const AgentFolder& folder, const ProgramOutput& output,
                              const LlmRequest& request, LlmReply& reply) const {
  AgentUsage usage = printed_usage(output.text);
  if (const auto written = written_usage(folder.held())) {
    if (!usage.tokens.reported) usage.tokens = written->tokens;
    if (!usage.cost_usd) usage.cost_usd = written->cost_usd;
  }
  const bool absent = reply.failure && reply.failure->fault == LlmFault::no_model;
  if (absent && !usage.tokens.reported && !usage.cost_usd) return;  // it was not started
  if (are_possible(usage.tokens)) reply.usage = usage.tokens;
  estimate_usage(request, true, reply);
  reply.cost_usd = usage.cost_usd;
  if (!reply.cost_usd && reply.usage.reported) reply.cost_usd = model_.cost_usd(reply.usage);
  if (!reply.cost_usd) reply.cost_usd = settings_.most_usd;
}

/// An agent that says itself that it has spent too much is ended.
std::optional<LlmFailure> CodingAgentClient::overspent(const std::filesystem::path& folder) const {
  if (!settings_.most_usd) return std::nullopt;
  const auto usage = written_usage(folder);
  if (!usage || !usage->cost_usd || *usage->cost_usd <= *settings_.most_usd) return std::nullopt;
  return LlmFailure{LlmFault::quota, fmt::format("it has spent {:.2f} US dollars, and {:.2f} are its limit",
                                                 *usage->cost_usd, *settings_.most_usd)};
}

// ---- trials

std::optional<LlmFailure> CodingAgentClient::look(Work& work) {
  for (const std::string& name : work.files.take_new()) {
    ++work.calls;
    begin(work, name);
  }
  if (work.calls > settings_.most_evaluations + kMostRefused)
    return LlmFailure{LlmFault::malformed, "it goes on calling though it has no evaluations left"};
  if (!work.files.flooded()) return std::nullopt;
  return LlmFailure{LlmFault::malformed, "it floods the folder of its calls"};
}

Json CodingAgentClient::left(const Work& work, Json answer) const {
  answer["evaluations_left"] = std::max<std::int64_t>(0, settings_.most_evaluations - work.counted);
  return answer;
}

/// Every call counts, whatever it asks for: who asks nonsense ends as soon as who asks well. One that the search itself has
/// no room for is given back (kUncounted).
void CodingAgentClient::begin(Work& work, const std::string& name) {
  const auto refuse = [&](std::string_view why) {
    static_cast<void>(work.files.tell(name, left(work, {{"refused", why}})));
  };
  if (work.counted >= settings_.most_evaluations)
    return refuse(fmt::format("all {} evaluations of this question are used: write answer.md now",
                              settings_.most_evaluations));
  ++work.counted;
  const Json request = work.files.request_of(name);
  const auto field = [&](const char* key) {
    return request.is_object() ? request.value(key, Json()) : Json();
  };
  if (field("tool") == kAllowed) {
    static_cast<void>(work.files.tell(name, left(work, {{"granted", true}})));
    return;
  }
  const Json text = field("text");
  if (field("tool") != "evaluate" || !text.is_string()) return refuse("this is no call of a tool");
  if (text.get_ref<const std::string&>().size() > kMaxCandidateBytes)
    return refuse(fmt::format("a kernel has at most {} bytes", kMaxCandidateBytes));
  const std::uint64_t ticket = ++last_ticket_;
  // It is stored as a candidate.
  std::string answer = Redactor(secret_values(agent_.environment))(as_answer(text.get<std::string>()));
  work.texts.emplace(ticket, answer);
  work.asked.emplace(ticket, name);
  work.waiting.push_back({.ticket = ticket, .text = std::move(answer)});
}

std::optional<LlmTrial> CodingAgentClient::take_trial() {
  const std::lock_guard lock(mutex_);
  if (!work_ || work_->waiting.empty()) return std::nullopt;
  LlmTrial trial = std::move(work_->waiting.front());
  work_->waiting.pop_front();
  return trial;
}

void CodingAgentClient::answer_trial(std::uint64_t ticket, Json result) {
  const std::lock_guard lock(mutex_);
  if (!work_) return;
  const auto found = work_->asked.extract(ticket);
  if (found.empty()) return;
  const auto text = work_->texts.extract(ticket);
  const auto time_ns = result.find("time_ns");
  const bool timed = result.value("passed", false) && time_ns != result.end() && time_ns->is_number();
  if (timed && (!work_->best_ns || time_ns->get<double>() < *work_->best_ns)) {
    work_->best_ns = time_ns->get<double>();
    work_->best_text = text.mapped();
  }
  if (result.erase(kUncounted) > 0) --work_->counted;
  static_cast<void>(work_->files.tell(found.mapped(), left(*work_, std::move(result))));
}

}  // namespace ak::agent
