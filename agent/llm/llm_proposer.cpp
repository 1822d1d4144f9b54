// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "agent/champion.h"
#include "agent/llm/answer.h"
#include "agent/llm/recording.h"
#include "agent/llm/redact.h"
#include "agent/seeds.h"
#include "core/error.h"
#include "core/say.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

// Tokens of the parts of a request that others write; chosen so that all of it fits into 32,000.
constexpr std::int64_t kSourceTokens = 12'000, kOutcomeTokens = 2'500, kHistoryTokens = 1'500;
constexpr std::int64_t kAnswerTokens = 12'000;  // of an unreadable answer, when it is sent back
constexpr int kLeastAnswerTokens = 1000;        // less room is no use: the budget is spent
constexpr double kMostPerEstimate = 4.0 / 3;    // tokens: three bytes each; chosen, not measured
constexpr int kMaxFailuresInARow = 5;           // each after its retries; chosen
constexpr auto kShortNap = std::chrono::milliseconds(5);
constexpr std::size_t kElitesShown = 5;
constexpr std::uint64_t kFenceStream = 1'000'000;  // of the seed; the archive has the first

std::string fence_for(std::uint64_t seed, int request, std::string_view text) {
  for (std::uint64_t salt = 0;; ++salt) {
    std::string fence = fmt::format(
        "{:016x}", derive_seed(seed, kFenceStream + 1000 * static_cast<std::uint64_t>(request) + salt));
    if (text.find(fence) == std::string_view::npos) return fence;
  }
}

/// Somebody else's text as it may stand between two lines of a prompt.
std::string quotable(std::string_view text, std::int64_t tokens) {
  std::string quoted = fitted(clean_text(text), tokens);
  if (!quoted.ends_with('\n')) quoted += '\n';
  return quoted;
}

}  // namespace

LlmProposer::LlmProposer(LlmProposerOptions options)
    : options_(std::move(options)),
      system_(system_prompt(options_.prompts, options_.subject)),
      archive_(options_.seed) {}

LlmProposer::~LlmProposer() { cancelled_ = true; }  // the future waits for its thread

void LlmProposer::begin(RowId session, VariantStore& store) {
  session_ = session;
  store_ = &store;
}

bool LlmProposer::working() const { return end_reason_.empty() && store_ != nullptr; }

void LlmProposer::wait(std::chrono::milliseconds most) {
  if (reply_.valid()) {
    static_cast<void>(reply_.wait_for(most));
  } else {
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(most, kShortNap));
  }
}

std::optional<Offer> LlmProposer::poll(bool busy) {
  if (!working()) return std::nullopt;
  if (question_) {
    if (reply_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    return receive(reply_.get());
  }
  if (awaited_.empty() && (told_ > 0 || !busy)) ask_next();
  return std::nullopt;
}

void LlmProposer::tell(const Completed& completed, RowId variant) {
  const EvaluationResult& result = completed.result;
  const Candidate& candidate = completed.request.candidate;
  ++told_;
  const bool mine = awaited_.erase(candidate.variant_hash()) > 0;
  const bool useful = passed(result, completed.request.depth);
  if (!mine && !useful) return;  // failed points of a search would crowd out what was tried
  archive_.add({.variant = variant,
                .candidate = candidate,
                .passed = useful,
                .score_ns = useful ? result.score_ns : std::nullopt,
                .outcome = outcome_text(options_.subject, candidate, result),
                .line = outcome_line(result),
                .by_model = mine});
}

std::string LlmProposer::history() const {
  std::string text = "Fastest so far:\n";
  std::size_t shown = 0;
  for (const Attempt* elite : archive_.elites()) {
    if (++shown > kElitesShown) break;
    text += fmt::format("- {} ({}): {}\n", elite->candidate.name, tunables_text(elite->candidate.tunables),
                        elite->line);
  }
  if (shown == 0) text += "- nothing has passed the checks yet\n";
  if (archive_.recent().empty()) return text;
  text += "\nYour candidates, oldest first:\n";
  for (const Attempt& attempt : archive_.recent())
    text += fmt::format("- {} ({}): {}\n", attempt.candidate.name, tunables_text(attempt.candidate.tunables),
                        attempt.line);
  return text;
}

std::string LlmProposer::user_prompt(const Choice& choice) {
  const PromptSet& prompts = options_.prompts;
  const std::string past = quotable(history(), kHistoryTokens);
  const std::string source = choice.parent ? quotable(choice.parent->candidate.source, kSourceTokens) : "";
  const std::string outcome = choice.parent ? quotable(choice.parent->outcome, kOutcomeTokens) : "";
  const std::string fence = fence_for(options_.seed, asked_, past + source + outcome);
  std::string text = prompts.fill("history", {{"fence", fence}, {"history", past}});
  if (choice.parent != nullptr)
    text += prompts.fill("parent", {{"fence", fence},
                                    {"source", source},
                                    {"tunables", tunables_text(choice.parent->candidate.tunables)},
                                    {"outcome", outcome}});
  return text + prompts.text("ask_" + choice.arm);
}

void LlmProposer::ask_next() {
  const Choice choice = archive_.choose();
  Question question{.request = {.model = options_.model.entry.name,
                                .system = system_,
                                .messages = {{"user", user_prompt(choice)}},
                                .max_output_tokens = options_.max_output_tokens,
                                .effort = options_.effort},
                    .arm = choice.arm,
                    .parent = choice.parent ? *choice.parent : Attempt{},
                    .is_repair = false,
                    .call = 0,
                    .sent = {}};
  if (afford(question.request)) send(std::move(question));
}

/// Cuts the answer's length to what is left of the budgets, counting the worst case.
bool LlmProposer::afford(LlmRequest& request) {
  const auto input = kMostPerEstimate * static_cast<double>(estimated_tokens(request));
  double room = request.max_output_tokens;
  const ModelEntry& model = options_.model.entry;
  if (model.max_output_tokens > 0) room = std::min(room, static_cast<double>(model.max_output_tokens));
  if (const double left = static_cast<double>(model.context_tokens) - input; left >= kLeastAnswerTokens)
    room = std::min(room, left);
  if (const auto& most = options_.budgets.max_tokens) {
    room = std::min(room, static_cast<double>(*most - tokens_) - input);
    if (room < kLeastAnswerTokens) end_reason_ = "token budget";
  }
  if (const auto& most = options_.budgets.max_cost_usd; most && model.price && model.price->output > 0) {
    const double left =
        (*most - cost_usd_) * 1e6 - input * std::max(model.price->input, model.price->cache_write);
    room = std::min(room, left / model.price->output);
    if (room < kLeastAnswerTokens && end_reason_.empty()) end_reason_ = "cost budget";
  }
  request.max_output_tokens = static_cast<int>(room);
  return end_reason_.empty();
}

void LlmProposer::send(Question question) {
  question.call = store_->begin_llm_call({.session = session_,
                                          .model = options_.model.name,
                                          .arm = question.is_repair ? "unreadable" : question.arm,
                                          .prompt_version = options_.prompts.version(),
                                          .request = to_json(question.request)});
  question.sent = steady_clock::now();
  ++asked_;
  reply_ = std::async(std::launch::async, [this, request = question.request] {
    return options_.model.client->ask(request, &cancelled_);
  });
  question_ = std::move(question);
}

std::optional<Offer> LlmProposer::receive(LlmReply reply) {
  const std::chrono::duration<double, std::milli> latency = steady_clock::now() - question_->sent;
  store_->end_llm_call(question_->call, reply, latency.count());
  tokens_ += reply.usage.total();
  cost_usd_ += reply.cost_usd.value_or(0);
  if (!reply.note.empty()) say("note: {}: {}\n", options_.model.name, reply.note);
  if (!reply.failure) {
    failures_in_a_row_ = 0;
    return read(reply);
  }
  note_failure(*reply.failure);
  question_.reset();
  return std::nullopt;
}

void LlmProposer::note_failure(const LlmFailure& failure) {
  const LlmFaultInfo& fault = info(failure.fault);
  const bool enough = ++failures_in_a_row_ >= kMaxFailuresInARow;
  if (failure.fault != LlmFault::cancelled)
    say("note: {}: {}: {}\n", options_.model.name, fault.name, failure.message);
  if (fault.hopeless || enough)
    end_reason_ = fmt::format("the model cannot be asked: {}: {}", fault.name, failure.message);
}

std::optional<Offer> LlmProposer::read(const LlmReply& reply) {
  const std::string name = fmt::format("llm_{}.cu", asked_);
  Result<ProposedCandidate> proposed = read_answer(reply.text, question_->parent.candidate, name);
  if (proposed) return offer(std::move(proposed->candidate), "");
  std::string complaint = proposed.error().message;
  if (reply.stop == LlmStop::length) complaint += " (the answer ended at the limit of its length)";
  if (!question_->is_repair && ask_again(reply, complaint)) return std::nullopt;
  return offer({.name = name,
                .source = source_of_answer(reply.text, question_->parent.candidate),
                .plan = {},
                .tunables = {}},
               complaint);
}

/// False when there is no budget for another question.
bool LlmProposer::ask_again(const LlmReply& reply, const std::string& complaint) {
  Question again = *question_;
  again.is_repair = true;
  again.request.messages.push_back({"assistant", fitted(clean_text(reply.text), kAnswerTokens)});
  again.request.messages.push_back(
      {"user", options_.prompts.fill("unreadable", {{"complaint", clean_text(complaint)}})});
  again.request.max_output_tokens = options_.max_output_tokens;
  if (!afford(again.request)) return false;
  send(std::move(again));
  return true;
}

Offer LlmProposer::offer(Candidate candidate, std::string complaint) {
  Offer offer{.candidate = std::move(candidate),
              .origin = {.proposer = options_.model.name,
                         .arm = question_->arm,
                         .parents = {},
                         .llm_call = question_->call},
              .complaint = std::move(complaint)};
  if (question_->parent.variant != 0) offer.origin.parents.push_back(question_->parent.variant);
  awaited_.insert(offer.candidate.variant_hash());
  question_.reset();
  return offer;
}

void LlmProposer::stop() {
  cancelled_ = true;
  if (question_ && reply_.valid()) {
    const std::chrono::duration<double, std::milli> latency = steady_clock::now() - question_->sent;
    const LlmReply reply = reply_.get();
    store_->end_llm_call(question_->call, reply, latency.count());
    tokens_ += reply.usage.total();
    cost_usd_ += reply.cost_usd.value_or(0);
  }
  question_.reset();
  store_ = nullptr;
}

}  // namespace ak::agent
