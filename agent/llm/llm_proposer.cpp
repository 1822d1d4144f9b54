// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_proposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "agent/champion.h"
#include "agent/llm/answer.h"
#include "agent/llm/api/recording.h"
#include "agent/llm/api/redact.h"
#include "agent/llm/quoting.h"
#include "agent/llm/user_prompt.h"
#include "core/error.h"
#include "core/text/print_stderr.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::int64_t kAnswerTokens = 12'000;  // of an unreadable answer, when it is sent back
constexpr int kMinAnswerTokens = 1000;          // less room is no use: the budget is spent
constexpr int kMaxFailuresInARow = 5;           // each after its retries; chosen
constexpr int kMaxUselessInARow =
    20;  // exchanges without a candidate: nothing else may limit a free model; chosen
constexpr auto kShortSleep = std::chrono::milliseconds(5);
constexpr int kRepairs = 2;            // of what one question led to; then another parent is taken
constexpr std::size_t kMaxPoints = 8;  // of an answer
constexpr std::size_t kMinSpace = 16;  // points of a template: fewer are soon tried all

// What a candidate is worth to the bandit: half for taking the lead and the rest up to a gain of 10 %, a
// little for coming close, so that arms which lead nowhere are distinguished. Chosen.
constexpr double kLeadReward = 0.5, kFullGain = 0.1, kCloseReward = 0.1, kClose = 1.25;

bool has_no_launches(const Candidate& candidate) { return candidate.plan.launches.empty(); }

std::size_t product_of_values(const LaunchPlan& plan) {
  std::size_t product = 1;
  for (const Tunable& tunable : plan.tunables)
    product = std::min<std::size_t>(product * std::max<std::size_t>(tunable.values.size(), 1), 1'000'000);
  return product;
}

}  // namespace

LlmProposer::LlmProposer(LlmProposerOptions options)
    : options_(std::move(options)),
      system_(system_prompt(options_.prompts, options_.subject,
                            fence_for(options_.seed, 0, options_.subject.lessons))),
      archive_(options_.seed),
      model_states_(options_.models.size()) {
  AK_ASSERT(!options_.models.empty(), "a proposer asks a model");
}

LlmProposer::~LlmProposer() { cancelled_ = true; }  // the futures wait for their threads

void LlmProposer::begin(RowId session, VariantStore& store) {
  session_ = session;
  store_ = &store;
}

bool LlmProposer::working() const {
  return store_ != nullptr && (end_reason_.empty() || !offers_.empty() || thinking());
}

bool LlmProposer::thinking() const {
  return std::ranges::any_of(jobs_, [](const auto& job) { return job->reply.valid(); });
}

bool LlmProposer::resting() const {
  const auto now = steady_clock::now();
  return jobs_.empty() && offers_.empty() && std::ranges::all_of(model_states_, [&](const ModelState& model) {
           return !model.end_reason.empty() || now < model.paused_until;
         });
}

void LlmProposer::wait(std::chrono::milliseconds most) {
  for (const auto& job : jobs_) {
    if (!job->reply.valid()) continue;
    static_cast<void>(job->reply.wait_for(jobs_.size() > 1 ? std::min(most, 4 * kShortSleep) : most));
    return;
  }
  std::this_thread::sleep_for(resting() ? most : std::min<std::chrono::milliseconds>(most, kShortSleep));
}

std::optional<Offer> LlmProposer::poll(bool busy) {
  if (!working()) return std::nullopt;
  for (std::size_t i = jobs_.size(); i-- > 0;) {
    if (jobs_[i]->reply.valid() &&
        jobs_[i]->reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      receive(*jobs_[i]);
  }
  if (offers_.empty()) {
    if (end_reason_.empty() && jobs_.size() < options_.parallel && (told_ > 0 || !busy)) begin_job();
    return std::nullopt;
  }
  Offer offer = std::move(offers_.front());
  offers_.pop_front();
  return offer;
}

double LlmProposer::reward_of(const Attempt& attempt) const {
  if (!attempt.passed) return 0;
  if (!attempt.score_ns || !best_ns_) return kCloseReward;
  const double gain = 1 - *attempt.score_ns / *best_ns_;
  if (gain > 0) return kLeadReward + (1 - kLeadReward) * std::min(gain / kFullGain, 1.0);
  return *attempt.score_ns <= kClose * *best_ns_ ? kCloseReward : 0;
}

void LlmProposer::tell(const Completed& completed, RowId variant) {
  const EvaluationResult& result = completed.result;
  const Candidate& candidate = completed.request.candidate;
  ++told_;
  const std::string hash = candidate.variant_hash();
  const auto found =
      std::ranges::find_if(jobs_, [&](const auto& job) { return job->awaited.contains(hash); });
  Job* job = found == jobs_.end() ? nullptr : found->get();
  const bool useful = passed(result, completed.request.depth);
  if (job == nullptr && !useful) return;  // failed points of a search would crowd out what was tried
  const Diagnosis diagnosis =
      useful && options_.subject.diagnosis ? options_.subject.diagnosis(candidate, result) : Diagnosis{};
  Attempt attempt{.variant = variant,
                  .candidate = candidate,
                  .passed = useful,
                  .score_ns = useful ? result.score_ns : std::nullopt,
                  .outcome = outcome_text(options_.subject, candidate, result),
                  .line = outcome_line(result),
                  .bottleneck = diagnosis.bottleneck,
                  .limits = diagnosis.text,
                  .by_model = job != nullptr && job->question.arm != "points",
                  .island = job ? job->island : 0};
  const double reward = reward_of(attempt);
  if (attempt.score_ns) best_ns_ = std::min(best_ns_.value_or(*attempt.score_ns), *attempt.score_ns);
  if (job == nullptr) {
    // What the search makes of a model's source is the model's merit, too.
    const auto credited = credited_.find(candidate.source);
    if (credited != credited_.end() && reward >= kLeadReward) bandit_.add_reward(credited->second, reward);
    archive_.add(std::move(attempt));
    return;
  }
  job->awaited.erase(job->awaited.find(hash));
  job->passed = job->passed || useful;
  job->reward = std::max(job->reward, reward);
  if (!useful) job->last_failed = attempt;
  archive_.add(std::move(attempt));
  if (job->awaited.empty()) settle(*job);
}

/// The verdicts on all that came of the last question are in.
void LlmProposer::settle(Job& job) {
  const bool repair = !job.passed && job.last_failed && !has_no_launches(job.last_failed->candidate) &&
                      job.question.arm != "points" && job.repairs < kRepairs && end_reason_.empty();
  if (repair) {
    ++job.repairs;
    const Choice choice{.arm = "repair", .island = job.island, .parent = &*job.last_failed};
    if (model_states_[job.model].end_reason.empty() && send(job, question_about(choice, job.model))) return;
  }
  end(job);
}

void LlmProposer::end(const Job& job) {
  bandit_.credit(job.credited, job.reward, job.cost);
  if (job.question.arm != "points") archive_.note_question(job.island);
  if (job.first_call) store_->note_llm_reward(*job.first_call, job.reward);
  std::erase_if(jobs_, [&](const auto& other) { return other.get() == &job; });
}

/// The fastest source with a space of which no points were asked for yet.
const Attempt* LlmProposer::unexplored() const {
  if (!options_.ask_points) return nullptr;
  for (const Attempt* elite : archive_.elites()) {
    if (!points_asked_.contains(elite->candidate.source) &&
        product_of_values(elite->candidate.plan) >= kMinSpace)
      return elite;
  }
  return nullptr;
}

/// Nothing while no model is free.
std::optional<LlmProposer::Plan> LlmProposer::choose() {
  std::vector<std::size_t> free;
  std::set<std::string> names;
  for (std::size_t i = 0; i < model_states_.size(); ++i) {
    const ModelState& model = model_states_[i];
    if (!model.busy && model.end_reason.empty() && model.paused_until <= steady_clock::now() &&
        names.insert(options_.models[i].name).second)
      free.push_back(i);
  }
  if (free.empty()) return std::nullopt;
  const Archive::Turn turn = archive_.next_turn();
  const Attempt* space = unexplored();
  std::vector<std::string> arms{turn.forced};
  if (turn.forced.empty()) {
    arms = archive_.arms(turn.island);
    if (space != nullptr) arms.insert(arms.begin(), "points");
    if (arms.empty()) arms = {"fresh"};
  }
  std::vector<std::string> keys;
  for (const std::size_t model : free)
    for (const std::string& arm : arms) keys.push_back(options_.models[model].name + " " + arm);
  const std::size_t chosen = bandit_.choose(keys);
  const std::string& arm = arms[chosen % arms.size()];
  Plan plan{.model = free[chosen / arms.size()], .credited = keys[chosen], .choice = {}};
  plan.choice = arm == "points" ? Choice{.arm = arm, .island = space->island, .parent = space}
                                : archive_.choose(arm, turn.island);
  return plan;
}

void LlmProposer::begin_job() {
  const auto plan = choose();
  if (!plan) return;
  if (plan->choice.arm == "points") points_asked_.insert(plan->choice.parent->candidate.source);
  auto job = std::make_unique<Job>();
  job->model = plan->model;
  job->credited = plan->credited;
  job->island = plan->choice.island;
  if (send(*job, question_about(plan->choice, plan->model))) jobs_.push_back(std::move(job));
}

LlmProposer::Question LlmProposer::question_about(const Choice& choice, std::size_t model) {
  const bool several = choice.arm == "explore", points = choice.arm == "points";
  Question question{.request = {.model = options_.models[model].entry.name,
                                .system = system_,
                                .messages = {},
                                .max_output_tokens = options_.max_output_tokens,
                                .effort = options_.effort},
                    .arm = choice.arm,
                    .parent = choice.parent ? *choice.parent : Attempt{},
                    .second = choice.second ? std::optional(choice.second->variant) : std::nullopt,
                    .most = points    ? kMaxPoints
                            : several ? options_.max_candidates
                                      : 1,
                    .is_repeat = false,
                    .number = 0,
                    .call = 0,
                    .sent = {}};
  question.request.messages = {{"user", user_prompt(options_.prompts, archive_, choice, question.most,
                                                    remembered(choice), options_.seed, asked_ + 1)}};
  return question;
}

/// Of the parent, or of its source where this point was not profiled.
std::string LlmProposer::bottleneck_of(const Attempt& parent) const {
  if (!parent.bottleneck.empty()) return parent.bottleneck;
  const KnownLimits* known = archive_.limits(parent.candidate.source);
  return known ? known->bottleneck : "";
}

std::string LlmProposer::remembered(const Choice& choice) const {
  if (choice.parent == nullptr || !options_.subject.remembered) return "";
  const std::string bottleneck = bottleneck_of(*choice.parent);
  return bottleneck.empty() ? "" : options_.subject.remembered(bottleneck);
}

/// Cuts the answer's length to what is left of the budgets, counting the worst case of all that
/// is in progress.
bool LlmProposer::afford(Job& job, LlmRequest& request) {
  std::int64_t tokens = tokens_;
  double usd = cost_usd_;
  for (const auto& other : jobs_) tokens += other->reserved_tokens, usd += other->reserved_usd;
  const ModelEntry& model = options_.models[job.model].entry;
  const auto input = model.max_per_estimate * static_cast<double>(estimated_tokens(request));
  double room = request.max_output_tokens;
  if (model.max_output_tokens > 0) room = std::min(room, static_cast<double>(model.max_output_tokens));
  if (const double left = static_cast<double>(model.context_tokens) - input; left >= kMinAnswerTokens)
    room = std::min(room, left);
  std::string_view reached;
  if (const auto& most = options_.budgets.max_tokens) {
    room = std::min(room, static_cast<double>(*most - tokens) - input);
    if (room < kMinAnswerTokens) reached = "token budget";
  }
  const double input_price = model.price ? std::max(model.price->input, model.price->cache_write) : 0;
  if (const auto& most = options_.budgets.max_cost_usd; most && model.price && model.price->output > 0) {
    room = std::min(room, ((*most - usd) * 1e6 - input * input_price) / model.price->output);
    if (room < kMinAnswerTokens && reached.empty()) reached = "cost budget";
  }
  if (!reached.empty()) {
    const auto under_way = [](const auto& other) { return other->reply.valid(); };
    if (std::ranges::none_of(jobs_, under_way)) end_reason_ = reached;  // else less may be used than reserved
    return false;
  }
  request.max_output_tokens = static_cast<int>(room);
  job.reserved_tokens = static_cast<std::int64_t>(input + room);
  job.reserved_usd = model.price ? (input * input_price + room * model.price->output) / 1e6 : 0;
  return true;
}

/// False when it cannot be afforded; it is not sent then.
bool LlmProposer::send(Job& job, Question question) {
  if (!afford(job, question.request)) return false;
  const LlmModel& model = options_.models[job.model];
  question.number = ++asked_;
  question.call = store_->begin_llm_call({.session = session_,
                                          .model = model.name,
                                          .arm = question.is_repeat ? "unreadable" : question.arm,
                                          .credited_arm = job.credited.substr(model.name.size() + 1),
                                          .prompt_version = options_.prompts.version(),
                                          .bottleneck = bottleneck_of(question.parent),
                                          .request = to_json(question.request)});
  question.sent = steady_clock::now();
  if (!job.first_call) job.first_call = question.call;
  model_states_[job.model].busy = true;
  job.reply = std::async(std::launch::async, [this, client = model.client, request = question.request] {
    return client->ask(request, &cancelled_);
  });
  job.question = std::move(question);
  return true;
}

void LlmProposer::account(Job& job, const LlmReply& reply) {
  const std::chrono::duration<double, std::milli> latency = steady_clock::now() - job.question.sent;
  store_->end_llm_call(job.question.call, reply, latency.count());
  model_states_[job.model].busy = false;
  job.reserved_tokens = 0;
  job.reserved_usd = 0;
  tokens_ += reply.usage.total();
  cost_usd_ += reply.cost_usd.value_or(0);
  // What is limited is what arms should pay with.
  job.cost +=
      options_.budgets.max_cost_usd ? reply.cost_usd.value_or(0) : static_cast<double>(reply.usage.total());
}

void LlmProposer::receive(Job& job) {
  const LlmReply reply = job.reply.get();
  account(job, reply);
  const LlmModel& model = options_.models[job.model];
  if (!reply.note.empty()) print_stderr("note: {}: {}\n", model.name, reply.note);
  if (!reply.failure) {
    model_states_[job.model].failures_in_a_row = 0;
    model_states_[job.model].out_since.reset();
    return read(job, reply);
  }
  note_failure(job.model, *reply.failure);
  // That says nothing about the arm.
  std::erase_if(jobs_, [&](const auto& other) { return other.get() == &job; });
}

void LlmProposer::note_failure(std::size_t index, const LlmFailure& failure) {
  const std::string& name = options_.models[index].name;
  const LlmFaultInfo& fault = info(failure.fault);
  ModelState& model = model_states_[index];
  if (fault.retry && options_.outage) return rest(model, name, failure);
  if (failure.fault != LlmFault::cancelled)
    print_stderr("note: {}: {}: {}\n", name, fault.name, failure.message);
  if (fault.permanent || ++model.failures_in_a_row >= kMaxFailuresInARow)
    give_up(name, fmt::format("{}: {}", fault.name, failure.message));
}

/// An outage may pass: the search continues meanwhile, and the model is asked again later.
void LlmProposer::rest(ModelState& model, const std::string& name, const LlmFailure& failure) {
  const auto now = steady_clock::now();
  model.pause =
      model.out_since ? std::min(2 * model.pause, options_.outage->longest) : options_.outage->first;
  if (!model.out_since) model.out_since = now;
  model.paused_until = now + model.pause;
  const auto& fault = info(failure.fault).name;
  if (now - *model.out_since >= options_.outage->most)
    return give_up(name, fmt::format("{}: {}", fault, failure.message));
  print_stderr("note: {}: {}: {}; it is asked again in {} s\n", name, fault, failure.message,
               std::chrono::duration_cast<std::chrono::seconds>(model.pause).count());
}

void LlmProposer::give_up(const std::string& name, const std::string& why) {
  bool left = false;
  for (std::size_t i = 0; i < model_states_.size(); ++i) {
    if (options_.models[i].name == name) model_states_[i].end_reason = why;
    left = left || model_states_[i].end_reason.empty();
  }
  if (!left) end_reason_ = fmt::format("the model cannot be asked: {}", why);
}

void LlmProposer::read(Job& job, const LlmReply& reply) {
  const std::string name = fmt::format("llm_{}", job.question.number);
  const Candidate& parent = job.question.parent.candidate;
  auto proposed = read_answer(reply.text, parent, name, job.question.most);
  const auto worded = [&](const InputError& input_error) {
    return input_error.message +
           (reply.stop == LlmStop::length ? " (the answer ended at the limit of its length)" : "");
  };
  const bool usable =
      proposed && std::ranges::any_of(*proposed, [](const auto& one) { return one.candidate.ok(); });
  ModelState& model = model_states_[job.model];
  if (usable) model.useless_in_a_row = 0;
  if (!usable && !job.question.is_repeat &&
      ask_again(job, reply, worded(proposed ? proposed->front().candidate.error() : proposed.error())))
    return;
  if (!usable && ++model.useless_in_a_row >= kMaxUselessInARow)
    give_up(options_.models[job.model].name,
            fmt::format("{} exchanges in a row without a candidate", model.useless_in_a_row));
  const auto unusable = [&](const std::string& source) {
    return Candidate{
        .name = name + ".cu", .source = source.substr(0, kMaxCandidateBytes), .plan = {}, .tunables = {}};
  };
  if (!proposed) return offer(job, unusable(reply.text), worded(proposed.error()));
  for (ProposedCandidate& one : proposed.value()) {
    if (one.candidate) {
      credited_.try_emplace(one.source, job.credited);
      offer(job, std::move(one.candidate).value(), "");
    } else {
      offer(job, unusable(one.source), worded(one.candidate.error()));
    }
  }
}

/// False when there is no budget for another question.
bool LlmProposer::ask_again(Job& job, const LlmReply& reply, const std::string& input_error) {
  Question again = job.question;
  again.is_repeat = true;
  again.request.messages.push_back({"assistant", fitted(clean_text(reply.text), kAnswerTokens)});
  again.request.messages.push_back(
      {"user", options_.prompts.fill("unreadable", {{"complaint", clean_text(input_error)}})});
  again.request.max_output_tokens = options_.max_output_tokens;
  return send(job, std::move(again));
}

void LlmProposer::offer(Job& job, Candidate candidate, std::string input_error) {
  Offer offer{.candidate = std::move(candidate),
              .origin = {.proposer = options_.models[job.model].name,
                         .arm = job.question.arm,
                         .parents = {},
                         .llm_call = job.question.call},
              .input_error = std::move(input_error)};
  if (job.question.parent.variant != 0) offer.origin.parents.push_back(job.question.parent.variant);
  if (job.question.second) offer.origin.parents.push_back(*job.question.second);
  job.awaited.insert(offer.candidate.variant_hash());
  offers_.push_back(std::move(offer));
}

void LlmProposer::stop() {
  cancelled_ = true;
  for (const auto& job : jobs_)
    if (job->reply.valid()) account(*job, job->reply.get());
  jobs_.clear();
  offers_.clear();
  store_ = nullptr;
}

}  // namespace ak::agent
