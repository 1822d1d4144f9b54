// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "agent/champion.h"
#include "agent/llm/answer.h"
#include "agent/llm/reward.h"
#include "agent/llm/uncounted_trial.h"
#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::agent {
namespace {

constexpr auto kShortSleep = std::chrono::milliseconds(5);
constexpr double kOvertaken = 2;  // times the champion's: nobody needs to improve a kernel that slow; chosen
constexpr int kRepairs = 2;       // of what one question led to; then another parent is taken

bool has_no_launches(const Candidate& candidate) { return candidate.plan.launches.empty(); }

/// What was meant to be a candidate, to be stored with its error.
Candidate unusable(const std::string& name, const std::string& source) {
  return {.name = name + ".cu", .source = source.substr(0, kMaxCandidateBytes), .plan = {}, .tunables = {}};
}

Result<Candidate> parse_trial(const LlmTrial& trial, const Candidate& parent) {
  if (trial.tunables) {
    Result<Candidate> known = parse_candidate("trial.cu", trial.text);
    if (known) known.value().tunables = *trial.tunables;
    return known;
  }
  auto read = read_answer(trial.text, parent, "trial", 1);
  if (!read) return read.error();
  return std::move(read.value().front().candidate);
}

/// Named after what it is alone: a process that resumes the search gives it the same name, in whatever order the trials
/// come then, and finds its evaluation by it.
Result<Candidate> read_trial(const LlmTrial& trial, const Candidate& parent) {
  constexpr std::size_t kDigits = 12;  // of its hash: no two kernels of a search have the same; chosen
  Result<Candidate> read = parse_trial(trial, parent);
  if (read) read.value().name = fmt::format("trial_{}.cu", read.value().variant_hash().substr(0, kDigits));
  return read;
}

/// What came of a kernel, for the agent that tries it.
Json trial_json(const Attempt& attempt, const Attempt& parent) {
  Json json{{"passed", attempt.passed}, {"variant", attempt.variant}, {"outcome", attempt.outcome}};
  if (attempt.score_ns) json["time_ns"] = *attempt.score_ns;
  if (attempt.score_ns && parent.score_ns) json["speedup_over_parent"] = *parent.score_ns / *attempt.score_ns;
  if (!attempt.limits.empty()) json["limits"] = attempt.limits;
  return json;
}

std::string worded(const InputError& input_error, LlmStop stop) {
  return input_error.message +
         (stop == LlmStop::length ? " (the answer ended at the limit of its length)" : "");
}

}  // namespace

LlmProposer::LlmProposer(LlmProposerOptions options)
    : options_(std::move(options)),
      archive_(options_.seed),
      models_(options_),
      spending_(options_.budgets, options_.spent_usd),
      choice_(options_, archive_, bandit_),
      writer_(options_, archive_),
      calls_(options_, models_, spending_) {
  AK_ASSERT(!options_.models.empty(), "a proposer asks a model");
}

LlmProposer::~LlmProposer() { calls_.cancel(); }  // the futures wait for their threads

void LlmProposer::begin(RowId search, VariantStore& store) {
  store_ = &store;
  calls_.begin(search, store);
}

bool LlmProposer::working() const {
  return store_ != nullptr && (end_reason_.empty() || !offers_.empty() || thinking());
}

bool LlmProposer::thinking() const {
  return std::ranges::any_of(exchanges_, [](const auto& exchange) { return exchange->call.in_flight(); });
}

bool LlmProposer::awaits_results() const {
  return std::ranges::any_of(exchanges_, [](const auto& exchange) { return !exchange->tried.empty(); });
}

bool LlmProposer::resting() const { return exchanges_.empty() && offers_.empty() && models_.resting(); }

void LlmProposer::wait(std::chrono::milliseconds most) {
  note_wait();
  for (const auto& exchange : exchanges_) {
    if (!exchange->call.in_flight()) continue;
    const auto& reply = exchange->call.reply;
    static_cast<void>(reply.wait_for(exchanges_.size() > 1 ? std::min(most, 4 * kShortSleep) : most));
    return;
  }
  std::this_thread::sleep_for(resting() ? most : std::min<std::chrono::milliseconds>(most, kShortSleep));
}

/// Called while there is nothing else to do.
void LlmProposer::note_wait() {
  const bool waits =
      thinking() && std::ranges::all_of(exchanges_, [this](const auto& exchange) {
        return !exchange->call.in_flight() || options_.models[exchange->model].client->is_waiting();
      });
  if (!waits || !options_.mailbox_wait) return end_wait();
  const auto now = std::chrono::steady_clock::now();
  if (!waits_since_) waits_since_ = now;
  suspended_ = now - *waits_since_ >= *options_.mailbox_wait;
}

/// There is something else to do.
void LlmProposer::end_wait() {
  waits_since_.reset();
  suspended_ = false;
}

std::optional<Offer> LlmProposer::poll(bool busy, std::int64_t room) {
  if (!working()) return std::nullopt;
  room_ = room;
  for (std::size_t i = exchanges_.size(); i-- > 0;)
    if (is_due(*exchanges_[i])) receive(*exchanges_[i]);
  for (const auto& exchange : exchanges_) take_trials(*exchange);
  send_repairs();
  if (offers_.empty()) {
    if (end_reason_.empty() && exchanges_.size() < options_.parallel && (told_ > 0 || !busy))
      begin_exchange();
    return std::nullopt;
  }
  Offer offer = std::move(offers_.front());
  offers_.pop_front();
  return offer;
}

/// Or it is known to the client, and to be taken now.
bool LlmProposer::is_due(const Exchange& exchange) const {
  return exchange.call.answered() ||
         (exchange.call.in_flight() &&
          options_.models[exchange.model].client->owes_answer(exchange.question.request));
}

// ---- questions and answers

/// For a candidate from one more answer of the model, beyond those that are awaited. A question that may stay open for
/// days keeps no room from a model that answers now: the search's end withdraws it.
bool LlmProposer::has_room(std::size_t model) const {
  const auto keeps = [this](std::size_t other) { return options_.models[other].client->keeps_questions(); };
  const auto asked = std::ranges::count_if(exchanges_, [&](const auto& exchange) {
    return exchange->call.in_flight() && (keeps(model) || !keeps(exchange->model));
  });
  return room_ > asked + std::ssize(offers_);
}

/// Nothing is asked while no model is free that there is room for.
void LlmProposer::begin_exchange() {
  auto free = models_.free();
  std::erase_if(free, [this](std::size_t model) { return !has_room(model); });
  if (free.empty()) return;
  const QuestionChoice::Plan plan = choice_.choose(free);
  auto exchange = std::make_unique<Exchange>();
  exchange->model = plan.model;
  exchange->credited = plan.credited;
  exchange->island = plan.choice.island;
  if (send(*exchange, writer_.about(plan.choice, options_.models[plan.model], calls_.next_number())))
    exchanges_.push_back(std::move(exchange));
}

/// False when it cannot be afforded; it is not sent then.
bool LlmProposer::send(Exchange& exchange, Question question) {
  const std::string credited_arm = exchange.credited.substr(options_.models[exchange.model].name.size() + 1);
  auto call = calls_.send(question, exchange.model, credited_arm, writer_.bottleneck_of(question.parent));
  if (!call) {
    // Else the questions in flight may use less than is reserved for them.
    if (!spending_.exhausted().empty()) end_reason_ = spending_.exhausted();
    return false;
  }
  if (!exchange.first_call) exchange.first_call = call->row;
  exchange.call = std::move(*call);
  exchange.question = std::move(question);
  const std::optional<double> parent_ns = exchange.question.parent.score_ns;
  exchange.withdrawn = false;
  exchange.overtakable = best_ns_ && parent_ns && *parent_ns <= kOvertaken * *best_ns_;
  return true;
}

void LlmProposer::receive(Exchange& exchange) {
  const LlmReply reply = calls_.receive(exchange.call);
  end_wait();
  exchange.cost += spending_.price_of(reply);  // what is limited is what arms should pay with
  if (!reply.note.empty()) print_stderr("note: {}: {}\n", options_.models[exchange.model].name, reply.note);
  if (!reply.failure) {
    models_.note_answer(exchange.model);
    answered_ = true;
    return read(exchange, reply);
  }
  // A question that the search takes back says nothing about the model; who declines one after the other is not there.
  if (!exchange.withdrawn) models_.note_failure(exchange.model, *reply.failure);
  if (!models_.end_reason().empty()) end_reason_ = models_.end_reason();
  remove(exchange);  // that says nothing about the arm
}

void LlmProposer::read(Exchange& exchange, const LlmReply& reply) {
  const std::string name = fmt::format("llm_{}", exchange.call.number);
  auto proposed =
      read_answer(reply.text, exchange.question.parent.candidate, name, exchange.question.max_candidates);
  const bool usable =
      proposed && std::ranges::any_of(*proposed, [](const auto& one) { return one.candidate.ok(); });
  if (!usable && !exchange.question.is_repeat && has_room(exchange.model)) {
    const InputError& input_error = proposed ? proposed->front().candidate.error() : proposed.error();
    if (send(exchange, writer_.repeated(exchange.question, reply.text, worded(input_error, reply.stop))))
      return;
  }
  models_.note_exchange(exchange.model, usable);
  if (!models_.end_reason().empty()) end_reason_ = models_.end_reason();
  if (!proposed) return offer(exchange, unusable(name, reply.text), worded(proposed.error(), reply.stop));
  for (ProposedCandidate& one : proposed.value()) {
    if (!one.hypothesis_error.empty())
      print_stderr("note: {}: question {}: what it expects is not kept: {}\n",
                   options_.models[exchange.model].name, exchange.call.number, one.hypothesis_error);
    if (one.candidate) {
      credited_.try_emplace(one.source, exchange.credited);
      if (!take_tried(exchange, *one.candidate))
        offer(exchange, std::move(one.candidate).value(), "", std::move(one.hypothesis));
    } else {
      offer(exchange, unusable(name, one.source), worded(one.candidate.error(), reply.stop),
            std::move(one.hypothesis));
    }
  }
  if (exchange.awaited.empty()) settle(exchange);  // all of it was evaluated while the agent was at work
}

void LlmProposer::offer(Exchange& exchange, Candidate candidate, std::string input_error,
                        std::optional<Hypothesis> hypothesis) {
  if (hypothesis) {
    hypothesis->parent_ns = exchange.question.parent.score_ns;
    exchange.stated.insert_or_assign(candidate.variant_hash(), *hypothesis);
  }
  Offer offer = offer_of(exchange, std::move(candidate));
  offer.origin.hypothesis = std::move(hypothesis);
  offer.input_error = std::move(input_error);
  exchange.awaited.insert(offer.candidate.variant_hash());
  offers_.push_back(std::move(offer));
}

Offer LlmProposer::offer_of(const Exchange& exchange, Candidate candidate) const {
  const Question& question = exchange.question;
  Offer offer{.candidate = std::move(candidate),
              .origin = {.proposer = options_.models[exchange.model].name,
                         .arm = question.arm,
                         .parents = {},
                         .llm_call = exchange.call.row,
                         .hypothesis = {}},
              .input_error = ""};
  if (question.parent.variant != 0) offer.origin.parents.push_back(question.parent.variant);
  if (question.second) offer.origin.parents.push_back(*question.second);
  return offer;
}

// ---- what coding agents try before they answer

void LlmProposer::take_trials(Exchange& exchange) {
  if (!exchange.call.in_flight()) return;
  LlmClient& client = *options_.models[exchange.model].client;
  while (const auto trial = client.take_trial()) try_out(exchange, *trial);
}

/// It is a candidate of the search like those of the answer.
void LlmProposer::try_out(Exchange& exchange, const LlmTrial& trial) {
  LlmClient& client = *options_.models[exchange.model].client;
  const Attempt& parent = exchange.question.parent;
  auto read = read_trial(trial, parent.candidate);
  if (!read) return client.answer_trial(trial.ticket, {{"refused", read.error().message}});
  Candidate& candidate = read.value();
  const std::string hash = candidate.variant_hash();
  if (const auto known = exchange.measured.find(hash); known != exchange.measured.end())
    return client.answer_trial(trial.ticket, trial_json(known->second, parent));
  const bool under_way = exchange.tried.contains(hash);
  // One evaluation is kept for the answer.
  if (!under_way && room_ <= std::ssize(offers_) + 1)
    return client.answer_trial(
        trial.ticket, {{"refused", "the search has no evaluations left: answer now"}, {kUncounted, true}});
  exchange.tried[hash].push_back(trial.ticket);
  if (under_way) return;
  credited_.try_emplace(candidate.source, exchange.credited);
  offers_.push_back(offer_of(exchange, std::move(candidate)));
}

/// Its result is the exchange's, too.
void LlmProposer::tell_trials(Exchange& exchange, const Attempt& attempt) {
  const auto waiting = exchange.tried.extract(attempt.candidate.variant_hash());
  for (const std::uint64_t ticket : waiting.mapped())
    options_.models[exchange.model].client->answer_trial(ticket,
                                                         trial_json(attempt, exchange.question.parent));
  exchange.measured.insert_or_assign(attempt.candidate.variant_hash(), attempt);
}

/// True where the agent has had it evaluated, or it is evaluated for the agent now: what it expects of it is no
/// expectation.
bool LlmProposer::take_tried(Exchange& exchange, const Candidate& candidate) {
  const std::string hash = candidate.variant_hash();
  if (exchange.tried.contains(hash)) {
    if (!exchange.awaited.contains(hash)) exchange.awaited.insert(hash);
    return true;
  }
  const auto known = exchange.measured.find(hash);
  if (known == exchange.measured.end()) return false;
  exchange.passed = exchange.passed || known->second.passed;
  if (!known->second.passed) exchange.last_failed = known->second;
  return true;
}

// ---- verdicts

LlmProposer::Exchange* LlmProposer::awaiting(const std::string& hash) const {
  const auto found = std::ranges::find_if(
      exchanges_, [&](const auto& exchange) { return exchange->awaited.contains(hash); });
  return found == exchanges_.end() ? nullptr : found->get();
}

LlmProposer::Exchange* LlmProposer::trying(const std::string& hash) const {
  const auto found =
      std::ranges::find_if(exchanges_, [&](const auto& exchange) { return exchange->tried.contains(hash); });
  return found == exchanges_.end() ? nullptr : found->get();
}

Attempt LlmProposer::attempt_of(const Completed& completed, RowId variant, const Exchange* exchange) const {
  const EvaluationResult& result = completed.result;
  const Candidate& candidate = completed.request.candidate;
  const bool useful = passed(result, completed.request.depth);
  const Diagnosis diagnosis =
      useful && options_.subject.diagnosis ? options_.subject.diagnosis(candidate, result) : Diagnosis{};
  std::optional<Hypothesis> hypothesis;
  if (exchange != nullptr)
    if (const auto stated = exchange->stated.find(candidate.variant_hash()); stated != exchange->stated.end())
      hypothesis = stated->second;
  return {.variant = variant,
          .candidate = candidate,
          .passed = useful,
          .score_ns = useful ? result.score_ns : std::nullopt,
          .outcome = outcome_text(options_.subject, candidate, result),
          .line = outcome_line(result),
          .bottleneck = diagnosis.bottleneck,
          .limits = diagnosis.text,
          .hypothesis = std::move(hypothesis),
          .by_model = exchange != nullptr && !exchange->question.asks_points(),
          .island = exchange ? exchange->island : 0};
}

void LlmProposer::tell(const Completed& completed, RowId variant) {
  ++told_;
  end_wait();
  const std::string hash = completed.request.candidate.variant_hash();
  Exchange* const tries = trying(hash);
  Exchange* exchange = tries != nullptr ? tries : awaiting(hash);
  // Failed points of a search would crowd out what was tried.
  if (exchange == nullptr && !passed(completed.result, completed.request.depth)) return;
  Attempt attempt = attempt_of(completed, variant, exchange);
  const double reward = reward_of(attempt, best_ns_);
  if (attempt.score_ns) best_ns_ = std::min(best_ns_.value_or(*attempt.score_ns), *attempt.score_ns);
  if (exchange == nullptr) {
    // What the search makes of a model's source is the model's merit, too.
    const auto credited = credited_.find(attempt.candidate.source);
    if (credited != credited_.end() && reward >= kLeadReward) bandit_.add_reward(credited->second, reward);
    archive_.add(std::move(attempt));
    return withdraw_overtaken();
  }
  exchange->reward = std::max(exchange->reward, reward);
  if (tries != nullptr) tell_trials(*tries, attempt);
  const auto awaited = exchange->awaited.find(hash);
  if (awaited == exchange->awaited.end()) {
    archive_.add(std::move(attempt));
    return withdraw_overtaken();
  }
  exchange->awaited.erase(awaited);
  exchange->passed = exchange->passed || attempt.passed;
  if (!attempt.passed) exchange->last_failed = attempt;
  archive_.add(std::move(attempt));
  if (exchange->awaited.empty()) settle(*exchange);
  withdraw_overtaken();
}

/// A question that may wait for days is not worth an answer when its parent was left far behind meanwhile.
void LlmProposer::withdraw_overtaken() {
  for (const auto& exchange : exchanges_) {
    const std::optional<double> parent_ns = exchange->question.parent.score_ns;
    const bool overtaken = best_ns_ && parent_ns && *parent_ns > kOvertaken * *best_ns_;
    if (exchange->withdrawn || !overtaken || !exchange->overtakable || !exchange->call.in_flight()) continue;
    exchange->withdrawn = true;
    calls_.withdraw(exchange->call, "a kernel was found that is twice as fast as its parent");
  }
}

/// The verdicts on all candidates from the last question are known.
void LlmProposer::settle(Exchange& exchange) {
  exchange.to_repair = !exchange.passed && exchange.last_failed &&
                       !has_no_launches(exchange.last_failed->candidate) &&
                       !exchange.question.asks_points() && exchange.repairs < kRepairs && end_reason_.empty();
  if (!exchange.to_repair) end(exchange);
}

/// Not where the verdict is learned: it may have been the last evaluation of the search.
void LlmProposer::send_repairs() {
  for (std::size_t i = exchanges_.size(); i-- > 0;) {
    Exchange& exchange = *exchanges_[i];
    if (!exchange.to_repair || !has_room(exchange.model)) continue;
    exchange.to_repair = false;
    ++exchange.repairs;
    const Choice choice{.arm = "repair", .island = exchange.island, .parent = &*exchange.last_failed};
    if (models_.given_up(exchange.model) || !end_reason_.empty() ||
        !send(exchange, writer_.about(choice, options_.models[exchange.model], calls_.next_number())))
      end(exchange);
  }
}

void LlmProposer::end(const Exchange& exchange) {
  bandit_.credit(exchange.credited, exchange.reward, exchange.cost);
  if (!exchange.question.asks_points()) archive_.note_question(exchange.island);
  if (exchange.first_call) store_->note_llm_reward(*exchange.first_call, exchange.reward);
  remove(exchange);
}

void LlmProposer::remove(const Exchange& exchange) {
  std::erase_if(exchanges_, [&](const auto& other) { return other.get() == &exchange; });
}

void LlmProposer::stop(std::string_view why) {
  calls_.cancel();
  for (const auto& exchange : exchanges_)
    if (exchange->call.in_flight()) static_cast<void>(calls_.receive(exchange->call));
  calls_.withdraw_all(fmt::format("its search has ended: {}", why));
  for (std::size_t i = exchanges_.size(); i-- > 0;)
    if (exchanges_[i]->to_repair) end(*exchanges_[i]);  // its candidates were judged
  clear();
}

void LlmProposer::suspend() {
  calls_.cancel();
  for (const auto& exchange : exchanges_)
    if (exchange->call.in_flight()) calls_.leave(exchange->call);
  clear();
}

void LlmProposer::clear() {
  exchanges_.clear();
  offers_.clear();
  store_ = nullptr;
}

}  // namespace ak::agent
