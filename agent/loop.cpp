// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>

#include "agent/budgets.h"
#include "agent/champion.h"
#include "agent/confirmation.h"
#include "agent/evaluate_one.h"
#include "agent/paired_comparison.h"
#include "agent/proposals.h"
#include "agent/pruning.h"
#include "agent/seeds.h"
#include "core/error.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

constexpr auto kDrainTime = std::chrono::seconds(2);  // cancelled work that ends later is given up
constexpr int kMaxFailuresInARow =
    5;  // so many candidates do not meet a passing fault of the machine; chosen

constexpr double kSearchShare = 0.5;  // of the evaluations, while a source still writes candidates; chosen
constexpr double kPromising = 2;      // slower than so many times the best: its tunables are not searched

constexpr auto kComparisonTime = std::chrono::seconds(30);  // for a handful of pairs at the end; chosen

/// The evaluation says nothing about the candidate.
bool inconclusive(const EvaluationResult& result) {
  return result.outcome.status == Status::infrastructure_error ||
         result.outcome.status == Status::interrupted;
}

/// State of one call of run_loop.
class Run {
 public:
  Run(const LoopOptions& options, Evaluator& evaluator, VariantStore& store, const Clock& clock);

  void search();
  void drain();
  void settle_challenges();
  void confirm();
  [[nodiscard]] LoopResult finish();
  void abandon(std::string_view reason);

 private:
  void remember();
  struct Flight {
    PredictedProposal item;
    int iteration = 0;
  };

  [[nodiscard]] bool should_stop();
  [[nodiscard]] bool stop_requested() const {
    return options_.stop_requested != nullptr && options_.stop_requested->load();
  }
  void note_interrupt();
  [[nodiscard]] bool source_works() const { return options_.source && options_.source->working(); }
  void fill();
  void submit_next();
  [[nodiscard]] std::int64_t search_limit() const;
  void submit(PredictedProposal item);
  [[nodiscard]] bool take_offers();
  [[nodiscard]] std::optional<Offer> next_offer();
  void refuse(Offer offer);
  void consult_source(const Completed& completed, const Flight& flight, RowId variant);
  [[nodiscard]] bool take_profile(Completed& completed);
  void tell_source(const Completed& completed, const Flight& flight, RowId variant);
  [[nodiscard]] const Origin* origin_of(const Flight& flight) const;
  void adopt(const Flight& flight, RowId variant);
  void prune(PredictedProposal item, std::string why);
  [[nodiscard]] EvaluationRequest request_for(const Proposal& proposal) const;
  [[nodiscard]] EvaluationRequest request_for(Candidate candidate) const;
  [[nodiscard]] steady_clock::time_point wait_deadline() const;
  [[nodiscard]] std::optional<Flight> take_flight(Ticket ticket);
  void absorb(Completed& completed, const Flight& flight);
  [[nodiscard]] std::string arm_of(const Proposal& proposal) const;
  StoredEvaluation commit(const Completed& completed, int iteration, std::string arm,
                          const DeviceFacts* device = nullptr, const PredictedProposal* item = nullptr,
                          const Origin* origin = nullptr);
  void learn(const Completed& completed, const Flight& flight, RowId evaluation);
  void tell(const Proposal& proposal, std::optional<double> time_ns, RowId evaluation);
  [[nodiscard]] double session_ms(steady_clock::time_point time) const;
  void start_comparison();
  [[nodiscard]] bool take_comparison(Completed& completed);
  [[nodiscard]] bool settle(const EvaluationResult& result, const std::optional<PairedVerdict>& verdict);
  void count_failures(const Completed& completed);
  void report(const Completed& completed, bool new_best);
  void stop_clock() { spent_.wall = clock_.now() - start_; }

  const LoopOptions& options_;
  Evaluator& evaluator_;
  VariantStore& store_;
  const Clock& clock_;
  const EvaluatorCapabilities capabilities_;
  const Depth depth_;
  const std::uint64_t input_seed_;
  Proposals proposals_;
  Pruning pruning_;
  Champion champion_;
  Spent spent_;
  LoopResult result_;
  std::unordered_map<Ticket, Flight> in_flight_;
  /// What the source will be told when its profile is there.
  struct AwaitingProfile {
    Completed completed;
    Flight flight;
    RowId variant = 0;
  };
  std::unordered_map<Ticket, AwaitingProfile> profiles_;  ///< in flight
  std::optional<Ticket> comparison_;                      ///< of a challenger with the champion, in flight
  std::unordered_map<std::size_t, Origin> origins_;       ///< of templates that others wrote, by index
  std::int64_t searched_ = 0;                             ///< evaluations that a strategy proposed
  int iterations_ = 0;
  int failures_in_a_row_ = 0;
  steady_clock::time_point start_;
};

Run::Run(const LoopOptions& options, Evaluator& evaluator, VariantStore& store, const Clock& clock)
    : options_(options),
      evaluator_(evaluator),
      store_(store),
      clock_(clock),
      capabilities_(evaluator.capabilities()),
      depth_(capabilities_.executes ? options.depth : Depth::build),
      input_seed_(derive_seed(options.seed, 0)),
      proposals_(options, capabilities_.device, clock),
      pruning_(options, proposals_),
      champion_(depth_, capabilities_.device.kind == DeviceKind::cuda),
      origins_(options.origins.begin(), options.origins.end()),
      start_(clock.now() - options.spent_before) {
  result_.progress.space_points = proposals_.space_points();
  result_.session =
      store_.begin_session(options_.session, *options_.problem, capabilities_.device, options_.arch);
  if (options_.session.resumed && depth_ == Depth::time) remember();
  if (options_.source) options_.source->begin(result_.session, store_);
}

void Run::remember() {
  std::vector<std::vector<KnownPoint>> known;
  for (const Candidate& candidate : options_.templates)
    known.push_back(store_.known_points(result_.session, candidate.source_hash()));
  result_.progress.reused = proposals_.remember(std::move(known));
}

void Run::search() {
  while (!should_stop()) {
    fill();
    start_comparison();
    const bool idle = in_flight_.empty() && !comparison_ && profiles_.empty();
    if (idle && source_works()) {
      options_.source->wait(kPollInterval);
      continue;
    }
    if (in_flight_.empty() && profiles_.empty() && !source_works()) {
      const std::string reason = options_.source ? options_.source->end_reason() : "";
      result_.stop_reason = reason.empty() ? "space exhausted" : reason;
      return;
    }
    auto completed = evaluator_.wait_any(wait_deadline());
    if (!completed || take_comparison(*completed) || take_profile(*completed)) continue;
    const auto flight = take_flight(completed->ticket);
    if (!flight) continue;  // left over from an earlier run with this evaluator
    absorb(*completed, *flight);
    count_failures(*completed);
  }
}

bool Run::should_stop() {
  stop_clock();
  spent_.best_ns = champion_.score_ns();
  if (options_.source) {
    spent_.tokens = options_.source->tokens();
    spent_.cost_usd = options_.source->cost_usd();
  }
  note_interrupt();
  Spent counted = spent_;
  if (options_.replaying && options_.replaying()) counted.wall = {};
  const auto reached = budget_reached(options_.budgets, counted);
  if (reached && !result_.interrupted) result_.stop_reason = *reached;
  return reached || result_.interrupted;
}

void Run::note_interrupt() {
  if (!stop_requested()) return;
  result_.interrupted = true;
  result_.stop_reason = "interrupted";
}

void Run::fill() {
  bool again = true;
  while (again) {
    const bool worked = source_works();
    proposals_.allow_search(!worked || options_.source->resting() || searched_ < search_limit());
    submit_next();
    again = take_offers() || worked != source_works();  // its share is the search's when it has ended
  }
}

/// A source that still writes is left a share of a limited number of evaluations.
std::int64_t Run::search_limit() const {
  const auto most = options_.budgets.max_evaluations.value_or(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(kSearchShare * static_cast<double>(most));
}

/// Where every run of a seed is to be the same, an answer comes when it is asked for, however long it takes.
std::optional<Offer> Run::next_offer() {
  auto offer = options_.source->poll(!in_flight_.empty());
  while (options_.max_in_flight == 1 && !offer && options_.source->thinking() && !stop_requested()) {
    options_.source->wait(kPollInterval);
    offer = options_.source->poll(!in_flight_.empty());
  }
  return offer;
}

/// True when one was accepted, which is then the next start.
bool Run::take_offers() {
  if (!source_works()) return false;
  auto offer = next_offer();
  if (!offer) return false;
  if (offer->input_error.empty()) {
    const auto broken = proposals_.add(offer->candidate);
    if (broken.empty()) {
      origins_[proposals_.size() - 1] = std::move(offer->origin);
      return true;
    }
    offer->input_error =
        fmt::format("here its own point breaks its constraint {}", fmt::join(broken, " and "));
  }
  refuse(std::move(*offer));
  return false;
}

/// Kept with its reason, but no evaluation: it counts towards no budget but that of its answer.
void Run::refuse(Offer offer) {
  Completed never;
  never.request = request_for(std::move(offer.candidate));
  never.result.outcome.status = Status::invalid_candidate;
  never.result.outcome.stage = StageId::pre_check;
  never.result.outcome.message = std::move(offer.input_error);
  const StoredEvaluation stored =
      commit(never, iterations_++, offer.origin.arm, nullptr, nullptr, &offer.origin);
  ++result_.progress.refused;
  options_.source->tell(never, stored.variant);
}

void Run::submit_next() {
  const int useful = std::clamp(evaluator_.capabilities().useful_in_flight, 1, options_.max_in_flight);
  const std::int64_t slots = std::min<std::int64_t>(useful, room_in_flight(options_.budgets, spent_));
  while (std::ssize(in_flight_) < slots) {
    auto next = pruning_.next(champion_.score_ns());
    if (!next) return;
    if (next->why_pruned.empty())
      submit(std::move(next->item));
    else
      prune(std::move(next->item), std::move(next->why_pruned));
  }
}

EvaluationRequest Run::request_for(const Proposal& proposal) const {
  Candidate candidate = proposals_.candidate(proposal.template_index);
  candidate.tunables = proposal.point;
  return request_for(std::move(candidate));
}

EvaluationRequest Run::request_for(Candidate candidate) const {
  EvaluationRequest request;
  request.problem = options_.problem;
  request.candidate = std::move(candidate);
  request.arch = options_.arch;
  request.depth = depth_;
  request.seed = input_seed_;
  request.champion_score_ns = champion_.score_ns();
  return request;
}

void Run::submit(PredictedProposal item) {
  const Ticket ticket = evaluator_.submit(request_for(item.proposal));
  if (!item.proposal.is_start && !item.proposal.is_retry) ++searched_;
  in_flight_.emplace(ticket, Flight{std::move(item), iterations_++});
}

/// Kept with its reason and the prediction, but no evaluation: it counts towards no budget.
void Run::prune(PredictedProposal item, std::string why) {
  Completed never;
  never.request = request_for(item.proposal);
  never.result.outcome.status = Status::pruned;
  never.result.outcome.stage = StageId::predict;
  never.result.outcome.message = std::move(why);
  const StoredEvaluation stored = commit(never, iterations_++, options_.strategy, nullptr, &item);
  tell(item.proposal, std::nullopt, stored.evaluation);
  ++result_.progress.pruned;
}

steady_clock::time_point Run::wait_deadline() const {
  const auto poll = clock_.now() + kPollInterval;
  return options_.budgets.max_wall ? std::min(poll, start_ + *options_.budgets.max_wall) : poll;
}

std::optional<Run::Flight> Run::take_flight(Ticket ticket) {
  auto node = in_flight_.extract(ticket);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

/// Commits first: what the strategy, the champion and the caller's files build on is then never lost.
void Run::absorb(Completed& completed, const Flight& flight) {
  const Origin* origin = origin_of(flight);
  const bool is_start = flight.item.proposal.is_start;
  const StoredEvaluation stored =
      commit(completed, flight.iteration, is_start && origin ? origin->arm : arm_of(flight.item.proposal),
             nullptr, &flight.item, origin);
  account(spent_, completed.result);
  stop_clock();
  learn(completed, flight, stored.evaluation);
  if (options_.source)
    consult_source(completed, flight, stored.variant);
  else if (is_start && origin)
    adopt(flight, stored.variant);
  const bool new_best = champion_.offer(completed, flight.iteration, stored.variant) == OfferResult::leads;
  spent_.since_gain = new_best ? 0 : spent_.since_gain + 1;
  if (flight.item.proposal.is_start && flight.item.proposal.template_index == 0) result_.start = completed;
  report(completed, new_best);
}

std::string Run::arm_of(const Proposal& proposal) const {
  if (proposal.is_start) return "start";
  return proposal.origin.empty() ? options_.strategy : proposal.origin;
}

StoredEvaluation Run::commit(const Completed& completed, int iteration, std::string arm,
                             const DeviceFacts* device, const PredictedProposal* item, const Origin* origin) {
  AskRecord asked;
  if (item)
    asked = {.member = item->proposal.member,
             .asked_ms = session_ms(item->proposal.asked),
             .ask_ns = item->proposal.ask_time.count()};
  return store_.commit({.session = result_.session,
                        .iteration = iteration,
                        .proposer = origin            ? origin->proposer
                                    : options_.source ? "search"
                                                      : options_.session.proposer,
                        .arm = std::move(arm),
                        .parents = origin ? origin->parents : std::vector<RowId>{},
                        .request = &completed.request,
                        .result = &completed.result,
                        .predicted = item && item->predicted ? &*item->predicted : nullptr,
                        .device = device,
                        .asked = item ? &asked : nullptr,
                        .llm_call = origin ? origin->llm_call : std::nullopt});
}

/// Of what the source wrote; of a point that a strategy chose in it, the variant that the source wrote.
const Origin* Run::origin_of(const Flight& flight) const {
  const auto found = origins_.find(flight.item.proposal.template_index);
  return found == origins_.end() ? nullptr : &found->second;
}

/// A model should know what limits a kernel that it may be asked to improve.
void Run::consult_source(const Completed& completed, const Flight& flight, RowId variant) {
  const EvaluationResult& result = completed.result;
  const auto best_ns = champion_.score_ns();
  const bool parent =
      flight.item.proposal.is_start || (result.score_ns && best_ns && *result.score_ns < *best_ns);
  if (!options_.profile || capabilities_.device.kind != DeviceKind::cuda || depth_ != Depth::time ||
      !parent || !passed(result, depth_) || !source_works()) {
    tell_source(completed, flight, variant);
    return;
  }
  EvaluationRequest request = completed.request;
  request.profile = options_.profile;
  request.priority = 1;
  profiles_.emplace(evaluator_.submit(std::move(request)), AwaitingProfile{completed, flight, variant});
}

bool Run::take_profile(Completed& completed) {
  auto node = profiles_.extract(completed.ticket);
  if (node.empty()) return false;
  AwaitingProfile& awaiting = node.mapped();
  if (!inconclusive(completed.result)) commit(completed, iterations_++, "profile");
  awaiting.completed.result.profiles = std::move(completed.result.profiles);
  tell_source(awaiting.completed, awaiting.flight, awaiting.variant);
  return true;
}

void Run::tell_source(const Completed& completed, const Flight& flight, RowId variant) {
  const Proposal& proposal = flight.item.proposal;
  if (inconclusive(completed.result) && !proposal.is_retry) return;  // it is tried again
  options_.source->tell(completed, variant);
  if (!proposal.is_start || origin_of(flight) == nullptr) return;
  adopt(flight, variant);
  const auto score = completed.result.score_ns;
  const double best_ns = champion_.score_ns().value_or(std::numeric_limits<double>::infinity());
  if (options_.search_tunables && passed(completed.result, depth_) && score && *score <= kPromising * best_ns)
    proposals_.search(proposal.template_index, score);
}

/// Points that a strategy chooses in it are made from its own point.
void Run::adopt(const Flight& flight, RowId variant) {
  origins_[flight.item.proposal.template_index] = {.proposer = "search", .arm = "", .parents = {variant}};
}

double Run::session_ms(steady_clock::time_point time) const {
  return std::chrono::duration<double, std::milli>(time - start_).count();
}

void Run::tell(const Proposal& proposal, std::optional<double> time_ns, RowId evaluation) {
  const auto begin = clock_.now();
  proposals_.tell(proposal, time_ns);
  const auto end = clock_.now();
  store_.note_told(evaluation,
                   {.told_ms = session_ms(end), .tell_ns = std::chrono::nanoseconds(end - begin).count()});
}

void Run::learn(const Completed& completed, const Flight& flight, RowId evaluation) {
  if (inconclusive(completed.result) && !flight.item.proposal.is_retry) {
    proposals_.retry(flight.item.proposal);
    return;
  }
  const bool useful = passed(completed.result, depth_);
  tell(flight.item.proposal, useful ? completed.result.score_ns : std::nullopt, evaluation);
  if (useful && flight.item.predicted && completed.result.score_ns)
    pruning_.learn(*flight.item.predicted, *completed.result.score_ns);
}

void Run::report(const Completed& completed, bool new_best) {
  Progress& progress = result_.progress;
  const bool good = passed(completed.result, depth_);
  ++progress.evaluated;
  ++(good ? progress.verified : progress.failed);
  progress.duplicates += completed.result.outcome.status == Status::duplicate;
  progress.in_flight = static_cast<int>(in_flight_.size());
  progress.best_ns = champion_.score_ns();
  progress.tokens = spent_.tokens;
  progress.cost_usd = spent_.cost_usd;
  progress.elapsed_s = std::chrono::duration<double>(spent_.wall).count();
  if (good && depth_ != Depth::build && !progress.first_verified_s)
    progress.first_verified_s = progress.elapsed_s;
  progress.last = &completed;
  if (options_.on_progress) options_.on_progress(progress);
  progress.last = nullptr;
  if (new_best && options_.on_new_best) options_.on_new_best(completed);
}

void Run::count_failures(const Completed& completed) {
  failures_in_a_row_ = inconclusive(completed.result) ? failures_in_a_row_ + 1 : 0;
  if (failures_in_a_row_ < kMaxFailuresInARow) return;
  fail(ExitCode::environment, "{} evaluations in a row ended without a verdict; the last one: {}",
       failures_in_a_row_, completed.result.outcome.message);
}

/// Beside the search, and not counted as part of it.
void Run::start_comparison() {
  if (comparison_) return;
  const Completed* challenger = champion_.next_challenger();
  if (challenger == nullptr) return;
  EvaluationRequest request = challenger->request;
  request.rival = std::make_shared<const Candidate>(champion_.best()->request.candidate);
  request.tag = fmt::format("{}", *champion_.variant());  // what the view `comparisons` shows
  request.priority = 1;
  comparison_ = evaluator_.submit(std::move(request));
}

bool Run::take_comparison(Completed& completed) {
  if (completed.ticket != comparison_) return false;
  comparison_.reset();
  EvaluationResult& result = completed.result;
  const auto verdict = judge_pairs(completed);
  if (verdict) result.outcome.message = verdict->text();
  if (result.rival_failed) {  // whose outcome it is, but not whose build
    completed.request.candidate = *completed.request.rival;
    result.build.reset();
  }
  if (!inconclusive(result)) commit(completed, iterations_++, "comparison");
  if (settle(result, verdict) && champion_.best()) {
    spent_.since_gain = 0;
    if (options_.on_new_best) options_.on_new_best(*champion_.best());
  }
  return true;
}

/// What a comparison means for the lead: true when another has it now.
bool Run::settle(const EvaluationResult& result, const std::optional<PairedVerdict>& verdict) {
  if (!info(result.outcome.status).candidate_fault) return champion_.settle(verdict);
  if (!result.rival_failed) {
    champion_.disqualify_challenger();
    return false;
  }
  static_cast<void>(champion_.settle(std::nullopt));
  champion_.disqualify();
  return true;
}

/// What the search left undecided.
void Run::settle_challenges() {
  const auto deadline = clock_.now() + kComparisonTime;
  for (start_comparison(); comparison_; start_comparison()) {
    note_interrupt();
    auto completed = evaluator_.wait_any(std::min(deadline, clock_.now() + kPollInterval));
    if (completed) static_cast<void>(take_comparison(*completed));
    if (!comparison_ || (clock_.now() < deadline && !result_.interrupted)) continue;
    evaluator_.cancel(*comparison_);
    comparison_.reset();
    return;
  }
}

/// Cancels what is in flight and keeps what ended anyway.
void Run::drain() {
  if (options_.source) options_.source->stop();
  for (const auto& [ticket, flight] : in_flight_) evaluator_.cancel(ticket);
  for (const auto& [ticket, awaiting] : profiles_) evaluator_.cancel(ticket);
  profiles_.clear();
  const auto deadline = clock_.now() + kDrainTime;
  while (!in_flight_.empty()) {
    auto completed = evaluator_.wait_any(deadline);
    if (!completed) break;
    if (take_comparison(*completed)) continue;
    const auto flight = take_flight(completed->ticket);
    if (flight && !inconclusive(completed->result)) absorb(*completed, *flight);
  }
  in_flight_.clear();
}

void Run::confirm() {
  stop_clock();  // what follows is no search
  const auto keep = [this](const Completed& completed, const DeviceFacts* device, std::string arm) {
    commit(completed, iterations_++, std::move(arm), device);
  };
  Confirmation(options_, evaluator_, clock_, depth_, champion_, keep).run(spent_.wall, result_);
  note_interrupt();
}

LoopResult Run::finish() {
  result_.progress.in_flight = 0;
  if (options_.source) {
    result_.progress.tokens = options_.source->tokens();
    result_.progress.cost_usd = options_.source->cost_usd();
  }
  result_.progress.elapsed_s = std::chrono::duration<double>(spent_.wall).count();
  result_.progress.best_ns = champion_.score_ns();
  if (champion_.best()) result_.best = *champion_.best();
  result_.best_variant = champion_.variant();
  for (const Champion::Entry& entry : champion_.ranking())
    result_.leaders.push_back(
        {entry.completed.request.candidate, entry.completed.result.score_ns, entry.variant});
  std::ranges::stable_partition(result_.leaders,
                                [&](const Leader& leader) { return leader.variant == result_.best_variant; });
  store_.end_session(result_.session, result_.interrupted ? "stopped" : "finished", result_.stop_reason,
                     result_.best_variant);
  return std::move(result_);
}

void Run::abandon(std::string_view reason) {
  try {
    store_.end_session(result_.session, "failed", reason, champion_.variant());
  } catch (const std::exception&) {
    // The store may be what failed; the first error is the one to report.
  }
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
