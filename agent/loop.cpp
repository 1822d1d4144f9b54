// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "agent/challenges.h"
#include "agent/champion.h"
#include "agent/confirmation.h"
#include "agent/evaluate_one.h"
#include "agent/proposal_schedule.h"
#include "agent/search_log.h"
#include "agent/search_progress.h"
#include "agent/source_exchange.h"
#include "core/error.h"

namespace ak::agent {
namespace {

constexpr auto kDrainTime = std::chrono::seconds(2);  // cancelled work that ends later is given up

/// What is committed is asked for what it came to: the code, which is most of a result, is in the cache of builds.
void drop_code(BuildResult& build) {
  std::string().swap(build.ptx);
  std::string().swap(build.cubin);
}

/// One call of run_loop: the parts of a search, and the order in which they have their turn.
class Run {
 public:
  Run(const LoopOptions& options, Evaluator& evaluator, VariantStore& store, const Clock& clock);

  void search();
  void drain();
  void settle_challenges() { challenges_.settle_rest(!result_.suspended); }
  void confirm();
  [[nodiscard]] LoopResult finish();
  void abandon(std::string_view reason);

 private:
  [[nodiscard]] bool suspend();
  [[nodiscard]] bool next_event();
  void fill();
  /// What has ended, and waits for its turn.
  struct Ended {
    Completed completed;
    std::optional<PredictedScore> predicted = {};
    StoredEvaluation stored = {};  ///< of a proposal: as what it was committed
  };
  [[nodiscard]] bool leave_out(const Completed& completed);
  void gather(Completed first);
  void commit(Ended& ended);
  void take_next();
  void take_in(const Ended& ended, const Flight& flight);
  void judge();
  [[nodiscard]] std::optional<PredictedScore> predict(const Completed& completed) const;
  [[nodiscard]] std::optional<double> ranked_by(const Completed& completed,
                                                const std::optional<PredictedScore>& predicted) const;
  [[nodiscard]] std::string arm_of(const Flight& flight) const;

  Proposals proposals_;  // before the context, whose clock starts when spaces have been built
  const SearchContext context_;
  LoopResult result_;
  Champion champion_;
  SearchLog record_;
  SearchProgress progress_;
  ProposalSchedule schedule_;
  SourceExchange exchange_;
  Challenges challenges_;
  const std::size_t most_together_;  ///< evaluations that are committed at once
  std::deque<Ended> ended_;  ///< committed where they are proposals, which are in flight until their turn
};

Run::Run(const LoopOptions& options, Evaluator& evaluator, VariantStore& store, const Clock& clock)
    : proposals_(options, evaluator.capabilities().device, clock),
      context_(options, evaluator, store, clock),
      champion_(context_.depth, context_.capabilities.device.kind == DeviceKind::cuda),
      record_(context_),
      progress_(context_, result_),
      schedule_(context_, proposals_, record_, progress_),
      exchange_(context_, proposals_, record_, progress_, champion_),
      challenges_(context_, record_, progress_, champion_),
      most_together_(std::max<std::size_t>(1, evaluator.pool_places().size())) {
  result_.progress.space_points = proposals_.space_points();
  result_.search = record_.search();
  if (options.search.resumed && context_.depth == Depth::time)
    result_.progress.reused = proposals_.remember(record_.known_points());
  else if (!options.known.empty())
    result_.progress.reused = proposals_.remember(options.known);
  if (options.source) options.source->begin(result_.search, store);
}

void Run::search() {
  while (!progress_.should_stop(champion_.score_ns(), schedule_.in_flight())) {
    fill();
    if (suspend()) return;
    challenges_.start();
    if (!next_event()) return;
  }
}

/// True when only answers are awaited that another process of the session may take.
bool Run::suspend() {
  const CandidateSource* source = context_.options.source;
  if (source == nullptr || !source->is_suspended()) return false;
  result_.suspended = true;
  result_.stop_reason = "suspended: answers are awaited";
  return true;
}

/// Waits for something to happen and takes it in; false when nothing will.
bool Run::next_event() {
  if (!ended_.empty()) {
    take_next();
    return true;
  }
  CandidateSource* source = context_.options.source;
  if (schedule_.in_flight() == 0 && exchange_.idle()) {
    const bool works = context_.source_works();
    if (works && !challenges_.in_flight()) {
      source->wait(kPollInterval);
      progress_.report_wait();
      return true;
    }
    if (!works) {
      const std::string reason = source ? source->end_reason() : "";
      result_.stop_reason = reason.empty() ? context_.options.when_exhausted : reason;
      return false;
    }
  }
  auto completed = context_.evaluator.wait_any(progress_.wait_deadline());
  record_.note_pool();
  if (!completed || leave_out(*completed)) return true;
  gather(std::move(*completed));
  take_next();
  return true;
}

/// What reaches no verdict once a stop is requested was lost to that, as where all workers are told to end together with the
/// search. It is no step of the search: its point is free again, and its place in the budget.
bool Run::leave_out(const Completed& completed) {
  return context_.stop_requested() && inconclusive(completed.result) && schedule_.take(completed.ticket);
}

/// Of many devices several answer while one answer is taken in: these are committed together, and have their turns one by
/// one all the same, so that a search takes the same course however many there are. What is no proposal is committed in
/// its turn, before which nothing that ended later may be.
void Run::gather(Completed first) {
  ended_.push_back({std::move(first)});
  while (schedule_.find(ended_.back().completed.ticket) != nullptr && ended_.size() < most_together_) {
    auto next = context_.evaluator.poll();
    if (!next) break;
    if (!leave_out(*next)) ended_.push_back({std::move(*next)});
  }
  record_.together([&] {
    for (Ended& ended : ended_) commit(ended);
  });
}

void Run::fill() {
  bool again = true;
  while (again) {
    const bool worked = context_.source_works();
    schedule_.fill(champion_.score_ns());
    // A source's share is the search's when it has ended.
    // A resumed search takes an answer after all that was committed before it, and so does this one.
    again =
        (ended_.empty() && exchange_.take_offer(schedule_.in_flight())) || worked != context_.source_works();
  }
}

/// Before all else: what the strategy, the champion and the caller's files build on is then never lost.
void Run::commit(Ended& ended) {
  const Flight* flight = schedule_.find(ended.completed.ticket);
  if (flight == nullptr) return;
  ended.predicted = predict(ended.completed);
  ended.stored = record_.commit(ended.completed, {.arm = arm_of(*flight),
                                                  .iteration = flight->iteration,
                                                  .item = &flight->item,
                                                  .predicted = ended.predicted ? &*ended.predicted : nullptr,
                                                  .origin = exchange_.origin_of(*flight)});
  if (auto& build = ended.completed.result.build) drop_code(*build);
}

/// One that belongs to nothing is left over from an earlier run with this evaluator.
void Run::take_next() {
  Ended ended = std::move(ended_.front());
  ended_.pop_front();
  if (challenges_.take(ended.completed) || exchange_.take_profile(ended.completed)) return;
  if (const auto flight = schedule_.take(ended.completed.ticket)) take_in(ended, *flight);
}

void Run::take_in(const Ended& ended, const Flight& flight) {
  const auto& [completed, predicted, stored] = ended;
  const Proposal& proposal = flight.item.proposal;
  progress_.count(completed.result);
  schedule_.learn(completed, flight, stored.evaluation, ranked_by(completed, predicted));
  exchange_.tell(completed, flight, stored.variant);
  const bool new_best =
      champion_.offer(completed, flight.iteration, stored.variant, predicted) == OfferResult::leads;
  progress_.count_gain(new_best);
  judge();
  if (proposal.is_start && proposal.template_index == 0) result_.start = completed;
  progress_.report(completed, new_best, schedule_.in_flight(), champion_);
  progress_.count_failures(completed.result);
}

/// Says from time to time what there is still to gain: by what the strategies' models know, and by the floor.
void Run::judge() {
  if (context_.depth != Depth::time || progress_.spent().evaluations % kJudgedEvery != 0) return;
  const PredictedScore* predicted = champion_.predicted();
  const auto best_ns = predicted ? std::optional(predicted->score.value()) : champion_.score_ns();
  auto chances = best_ns ? proposals_.gain_chances(*best_ns) : std::nullopt;
  if (!chances) return progress_.note_gain(std::nullopt);
  if (const auto limit_ns = context_.options.limit_ns; limit_ns && !predicted)
    rule_out_gains(*chances, 1 - *limit_ns / *best_ns);
  const RemainingGain gain = summary_of(*chances);
  progress_.note_gain(gain);
  record_.note_gain(progress_.spent().evaluations, *best_ns, gain);
}

/// On the target, of what passed; nothing where costs or times rank.
std::optional<PredictedScore> Run::predict(const Completed& completed) const {
  const TargetPredictor* predictor = context_.options.target_predictor;
  if (predictor == nullptr || !passed(completed.result, context_.depth)) return std::nullopt;
  return predictor->predict(completed);
}

/// What a strategy is to make small.
std::optional<double> Run::ranked_by(const Completed& completed,
                                     const std::optional<PredictedScore>& predicted) const {
  if (context_.options.target_predictor == nullptr) return completed.result.score_ns;
  return predicted ? std::optional(predicted->score.value()) : std::nullopt;
}

std::string Run::arm_of(const Flight& flight) const {
  const Proposal& proposal = flight.item.proposal;
  if (const Origin* origin = exchange_.origin_of(flight); proposal.is_start && origin) return origin->arm;
  if (proposal.is_start) return "start";
  return proposal.origin.empty() ? context_.options.strategy : proposal.origin;
}

/// Cancels what is in flight and keeps what ended anyway.
void Run::drain() {
  const bool goes_on =
      result_.suspended || (context_.stop_requested() && context_.options.search.session_search);
  if (CandidateSource* source = context_.options.source)
    goes_on ? source->suspend() : source->stop(result_.stop_reason);
  while (!ended_.empty()) take_next();
  schedule_.cancel();
  exchange_.cancel();
  const auto deadline = context_.clock.now() + kDrainTime;
  while (schedule_.in_flight() > 0) {
    auto completed = context_.evaluator.wait_any(deadline);
    if (!completed) break;
    if (challenges_.take(*completed)) continue;
    if (inconclusive(completed->result)) {
      static_cast<void>(schedule_.take(completed->ticket));
      continue;
    }
    commit(ended_.emplace_back(std::move(*completed)));
    take_next();
  }
  schedule_.clear();
}

void Run::confirm() {
  progress_.stop_clock();  // what follows is not a search
  if (!context_.options.confirm) return;
  const auto keep = [this](const Completed& completed, const DeviceFacts* device, std::string arm) {
    record_.commit(completed, {.arm = std::move(arm), .device = device});
  };
  Confirmation(context_.options, context_.evaluator, context_.clock, context_.depth, champion_, keep)
      .run(progress_.spent().wall, result_);
  progress_.note_interrupt();
}

LoopResult Run::finish() {
  progress_.finish(champion_);
  record_.note_pool(true);
  if (champion_.best()) result_.best = *champion_.best();
  if (champion_.predicted()) result_.predicted = *champion_.predicted();
  result_.best_variant = champion_.variant();
  for (const Champion::Entry& entry : champion_.ranking())
    result_.leaders.push_back(
        {entry.completed.request.candidate, entry.completed.result.score_ns, entry.variant, entry.predicted});
  std::stable_partition(result_.leaders.begin(), result_.leaders.end(),
                        [&](const Leader& leader) { return leader.variant == result_.best_variant; });
  record_.end(result_.suspended     ? "suspended"
              : result_.interrupted ? "stopped"
                                    : "finished",
              result_.stop_reason, result_.best_variant);
  return std::move(result_);
}

void Run::abandon(std::string_view reason) {
  // The store may be what failed; the first error is the one to report.
  const auto try_to = [](const auto& last_step) {
    try {
      last_step();
    } catch (const std::exception&) {
    }
  };
  try_to([&] { record_.end("failed", reason, champion_.variant()); });
  // Another process of a session goes on with its questions.
  CandidateSource* source = context_.options.source;
  if (source != nullptr && !context_.options.search.session_search) try_to([&] { source->stop(reason); });
}

}  // namespace

LoopResult run_loop(const LoopOptions& options, Evaluator& evaluator, VariantStore& store,
                    const Clock& clock) {
  AK_ASSERT(options.problem != nullptr && !options.templates.empty(), "a run needs a problem and a template");
  Run run(options, evaluator, store, clock);
  try {
    run.search();
    run.drain();
    run.settle_challenges();
    run.confirm();
    return run.finish();
  } catch (const std::exception& error) {
    run.abandon(error.what());
    throw;
  }
}

}  // namespace ak::agent
