// SPDX-License-Identifier: Apache-2.0
#include "app/search/run_journal.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "agent/llm/api/recording.h"
#include "agent/llm/mailbox/mailbox_client.h"

namespace ak::app {

using std::chrono::steady_clock;

namespace {

// A replay that does nothing for so long waits for the answer that waits for it; chosen: its steps take milliseconds.
constexpr auto kStandstill = std::chrono::seconds(2);
constexpr auto kLook = std::chrono::milliseconds(2);

// Tickets of trials from here on are the journal's: a client counts its own from 1.
constexpr std::uint64_t kKnownTickets = 1ull << 63;

/// As the database has it.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

class JournalEvaluator final : public Evaluator {
 public:
  JournalEvaluator(RunJournal& journal, std::unique_ptr<Evaluator> evaluator)
      : journal_(journal), evaluator_(std::move(evaluator)) {}

  Ticket submit(EvaluationRequest request) override {
    const Ticket ticket = ++last_;
    if (auto entry = journal_.take(request_key(request), true)) {
      known_.emplace(entry->evaluation, Known{ticket, std::move(request), std::move(*entry)});
    } else {
      live_.emplace(evaluator_->submit(std::move(request)), ticket);
    }
    return ticket;
  }

  std::optional<Completed> wait_any(steady_clock::time_point deadline) override {
    if (!known_.empty()) return hand_out(known_.extract(known_.begin()).mapped());
    journal_.goes_on_ = true;
    return handed_live(evaluator_->wait_any(deadline));
  }

  // What is known is handed out one by one: what follows from one of them may have ended before the next.
  std::optional<Completed> poll() override {
    return known_.empty() && !journal_.replaying() ? handed_live(evaluator_->poll()) : std::nullopt;
  }

  void cancel(Ticket ticket) override {
    const auto found = std::ranges::find(live_, ticket, [](const auto& entry) { return entry.second; });
    if (found != live_.end()) evaluator_->cancel(found->first);
  }

  void recall(const Completed& completed) override { evaluator_->recall(completed); }
  [[nodiscard]] EvaluatorCapabilities capabilities() const override { return evaluator_->capabilities(); }
  [[nodiscard]] std::vector<PoolPlace> pool_places() const override { return evaluator_->pool_places(); }
  [[nodiscard]] std::vector<CalibrationRecord> take_calibrations() override {
    return evaluator_->take_calibrations();
  }

 private:
  struct Known {
    Ticket ticket;
    EvaluationRequest request;
    db::JournalEntry entry;
  };

  Completed hand_out(Known known) {
    Completed completed{known.ticket, std::move(known.request), result_from_json(*known.entry.result)};
    evaluator_->recall(completed);
    journal_.handed_[known.entry.key].push_back({known.entry.variant, known.entry.evaluation});
    return completed;
  }

  std::optional<Completed> handed_live(std::optional<Completed> completed) {
    if (!completed) return std::nullopt;
    const auto node = live_.extract(completed->ticket);
    if (!node.empty()) completed->ticket = node.mapped();
    journal_.live_.insert(request_key(completed->request));
    return completed;
  }

  RunJournal& journal_;
  std::unique_ptr<Evaluator> evaluator_;
  Ticket last_ = 0;
  std::map<Ticket, Ticket> live_;  ///< the evaluator's own -> ours
  std::map<RowId, Known> known_;   ///< by evaluation: in the order in which they ended
};

class JournalStore final : public VariantStore {
 public:
  JournalStore(RunJournal& journal, VariantStore& store) : journal_(journal), store_(store) {}

  RowId begin_search(const SearchRecord& search, const ProblemInstance& problem, const DeviceFacts& device,
                     const Arch& arch) override {
    return store_.begin_search(search, problem, device, arch);
  }
  std::vector<KnownPoint> known_points(RowId search, const std::string& source_hash) override {
    return store_.known_points(search, source_hash);
  }

  StoredEvaluation commit(const EvaluationRecord& record) override {
    const std::string key = request_key(*record.request);
    ++journal_.committed_;
    if (auto& handed = journal_.handed_[key]; !handed.empty()) {
      const StoredEvaluation stored = handed.front();
      handed.pop_front();
      replayed_.insert(stored.evaluation);
      return stored;
    }
    JournalRecord kept{.key = key, .result = {}};
    if (const auto live = journal_.live_.find(key); live != journal_.live_.end()) {
      journal_.live_.erase(live);
      kept.result = text_of(result_to_json(*record.result));
    } else if (const auto entry = journal_.take(key, false)) {
      replayed_.insert(entry->evaluation);
      return {entry->variant, entry->evaluation};
    }
    EvaluationRecord written = record;
    written.iteration = journal_.free_iteration(record.iteration);
    written.journal = &kept;
    return store_.commit(written);
  }

  void together(const std::function<void()>& commits) override { store_.together(commits); }

  void note_pool(RowId search, const PoolReport& report) override { store_.note_pool(search, report); }
  void note_gain(RowId search, const GainRecord& record) override { store_.note_gain(search, record); }

  void note_verdict(RowId search, const SearchVerdict& verdict) override {
    store_.note_verdict(search, verdict);
  }

  void note_told(RowId evaluation, const TellRecord& told) override {
    if (!replayed_.contains(evaluation)) store_.note_told(evaluation, told);
  }

  // A question that was sent and never answered is asked again under its old number, if it is the same; and whatever it
  // is if it waits in a mailbox, where it may have an answer by now, or if kernels were tried for it.
  RowId begin_llm_call(const LlmCallRecord& record) override {
    const std::string request = text_of(record.request);
    auto& calls = journal_.calls_;
    const auto known = std::ranges::find_if(calls, [&](const db::JournalCall& call) {
      return journal_.is_same_model(call.model, record.model) &&
             (call.reply || call.request == request || is_kept(call) || !call.trials.empty());
    });
    if (known == calls.end()) return store_.begin_llm_call(record);
    const RowId id = known->id;
    if (known->reply) answered_.insert(id);
    if (!known->reply && known->spent_usd) spent_[id] = *known->spent_usd;
    if (known->reply || !known->trials.empty()) {
      const std::lock_guard lock(journal_.mutex_);
      // What comes from an API comes in minutes, and so it may come at once. What comes in hours comes when it came.
      journal_.answers_[request].push_back({.reply = std::move(known->reply),
                                            .after = is_kept(*known) ? known->after : 0,
                                            .trials = std::move(known->trials)});
    }
    calls.erase(known);
    return id;
  }
  QuestionName name_of_llm_call(RowId call) override { return store_.name_of_llm_call(call); }
  void note_llm_reward(RowId call, double reward) override { store_.note_llm_reward(call, reward); }
  void end_llm_call(RowId call, const LlmReply& reply, double latency_ms) override {
    if (answered_.contains(call)) return;
    LlmReply whole = reply;
    if (const auto before = spent_.find(call); before != spent_.end() && before->second > 0)
      whole.cost_usd = reply.cost_usd.value_or(0) + before->second;
    store_.end_llm_call(call, whole, latency_ms);
  }

  void end_search(RowId search, std::string_view status, std::string_view reason,
                  std::optional<RowId> best_variant) override {
    store_.end_search(search, status, reason, best_variant);
  }

 private:
  [[nodiscard]] static bool is_kept(const db::JournalCall& call) {
    return !agent::mailbox_folder(call.model).empty();
  }

  RunJournal& journal_;
  VariantStore& store_;
  std::set<RowId> replayed_;       ///< evaluations
  std::set<RowId> answered_;       ///< calls
  std::map<RowId, double> spent_;  ///< of calls that are asked again: before
};

class JournalClient final : public LlmClient {
 public:
  JournalClient(RunJournal& journal, std::shared_ptr<LlmClient> client)
      : journal_(journal), client_(std::move(client)) {}

  // A question is begun in the store before it is asked here.
  LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override {
    const std::string text = text_of(agent::to_json(request));
    wait_until_due(text, cancelled);
    auto known = answer_to(text);
    if (known) try_again(known->trials, cancelled);
    if (!known || !known->reply) return client_->ask(request, cancelled);
    client_->pass_over(*known->reply);
    return std::move(*known->reply);
  }
  [[nodiscard]] bool owes_answer(const LlmRequest& request) const override {
    if (!journal_.replaying()) return false;
    const auto after = due_after(text_of(agent::to_json(request)));
    return after && journal_.committed_ >= *after;
  }
  void pass_over(const LlmReply& known) override { client_->pass_over(known); }
  [[nodiscard]] bool keeps_questions() const override { return client_->keeps_questions(); }
  [[nodiscard]] bool is_waiting() const override { return client_->is_waiting(); }
  [[nodiscard]] bool takes_facts() const override { return client_->takes_facts(); }
  [[nodiscard]] std::optional<LlmTrial> take_trial() override {
    const std::lock_guard lock(mutex_);
    if (known_trials_.empty()) return client_->take_trial();
    LlmTrial trial = std::move(known_trials_.front());
    known_trials_.pop_front();
    return trial;
  }
  void answer_trial(std::uint64_t ticket, Json result) override {
    if (ticket < kKnownTickets) return client_->answer_trial(ticket, std::move(result));
    const std::lock_guard lock(mutex_);
    ++answered_trials_;
  }
  void withdraw(const QuestionName& name, std::string_view why) override { client_->withdraw(name, why); }

 private:
  /// After how many evaluations a known answer comes; nothing where none is known.
  std::optional<std::int64_t> due_after(const std::string& request) const {
    const std::lock_guard lock(journal_.mutex_);
    const auto known = journal_.answers_.find(request);
    if (known == journal_.answers_.end() || known->second.empty()) return std::nullopt;
    // What an agent tried goes before its answer, and takes the search's own steps.
    if (!known->second.front().trials.empty()) return std::nullopt;
    return known->second.front().after;
  }

  /// Hands the search what an agent had evaluated before it answered, or before its search was killed, and waits until
  /// it has the results; not for what is evaluated now.
  void try_again(const std::vector<db::JournalTrial>& trials, const std::atomic<bool>* cancelled) {
    {
      const std::lock_guard lock(mutex_);
      answered_trials_ = 0;
      for (const db::JournalTrial& trial : trials)
        known_trials_.push_back(
            {.ticket = kKnownTickets + ++last_trial_, .text = trial.source, .tunables = trial.tunables});
    }
    std::size_t answered = 0;
    auto since = steady_clock::now();
    while (answered < trials.size() && !(cancelled && cancelled->load()) &&
           steady_clock::now() - since < kStandstill) {
      std::this_thread::sleep_for(kLook);
      const std::lock_guard lock(mutex_);
      if (answered != answered_trials_) since = steady_clock::now();
      answered = answered_trials_;
    }
    const std::lock_guard lock(mutex_);
    known_trials_.clear();
  }

  /// Or until nothing more is replayed, or nothing happens: then the search has taken another course.
  void wait_until_due(const std::string& request, const std::atomic<bool>* cancelled) const {
    const auto after = due_after(request);
    std::int64_t committed = journal_.committed_;
    auto since = steady_clock::now();
    while (after && committed < *after && journal_.replaying() && !(cancelled && cancelled->load()) &&
           steady_clock::now() - since < kStandstill) {
      std::this_thread::sleep_for(kLook);
      if (committed != journal_.committed_) since = steady_clock::now();
      committed = journal_.committed_;
    }
  }

  std::optional<RunJournal::KnownAnswer> answer_to(const std::string& request) {
    const std::lock_guard lock(journal_.mutex_);
    auto& known = journal_.answers_[request];
    if (known.empty()) return std::nullopt;
    RunJournal::KnownAnswer answer = std::move(known.front());
    known.pop_front();
    return answer;
  }

  RunJournal& journal_;
  std::shared_ptr<LlmClient> client_;
  std::mutex mutex_;  ///< of what follows: trials are taken by the search's thread
  std::deque<LlmTrial> known_trials_;
  std::uint64_t last_trial_ = 0;
  std::size_t answered_trials_ = 0;
};

RunJournal::RunJournal(std::vector<db::JournalEntry> entries, std::vector<db::JournalCall> calls)
    : calls_(std::make_move_iterator(calls.begin()), std::make_move_iterator(calls.end())) {
  for (const db::JournalEntry& entry : entries) iterations_.insert(entry.iteration);
  // Where the device was lost, the last evaluations reached no verdict: those are done again.
  while (!entries.empty() && parse_status(entries.back().status) == Status::infrastructure_error)
    entries.pop_back();
  for (db::JournalEntry& entry : entries) {
    waiting_ += entry.result.has_value();
    entries_[entry.key].push_back(std::move(entry));
  }
}

/// The next entry of this key that was evaluated, or was not.
std::optional<db::JournalEntry> RunJournal::take(const std::string& key, bool evaluated) {
  const auto known = entries_.find(key);
  if (known == entries_.end()) return std::nullopt;
  const auto found = std::ranges::find_if(
      known->second, [&](const db::JournalEntry& entry) { return entry.result.has_value() == evaluated; });
  if (found == known->second.end()) return std::nullopt;
  db::JournalEntry entry = std::move(*found);
  known->second.erase(found);
  waiting_ -= evaluated;
  return entry;
}

/// A mailbox of the configuration stays the same when it is copied to another place, as far as its last name says which
/// one it is. One that is an argument of its session was renamed with it.
bool RunJournal::is_same_model(const std::string& before, const std::string& now) const {
  const auto last_name = [](const std::string& model) { return agent::mailbox_folder(model).filename(); };
  if (before == now || models_.contains(before) || last_name(before).empty()) return before == now;
  return last_name(before) == last_name(now) &&
         std::ranges::count(models_, last_name(before), last_name) == 1;
}

int RunJournal::free_iteration(int wanted) {
  const int free = iterations_.contains(wanted) ? *iterations_.rbegin() + 1 : wanted;
  iterations_.insert(free);
  return free;
}

double RunJournal::spent_usd() const {
  double usd = 0;
  for (const db::JournalCall& call : calls_)
    if (!call.reply) usd += call.spent_usd.value_or(0);
  return usd;
}

std::unique_ptr<Evaluator> RunJournal::around(std::unique_ptr<Evaluator> evaluator) {
  return std::make_unique<JournalEvaluator>(*this, std::move(evaluator));
}

std::unique_ptr<VariantStore> RunJournal::around(VariantStore& store) {
  return std::make_unique<JournalStore>(*this, store);
}

std::shared_ptr<LlmClient> RunJournal::around(std::shared_ptr<LlmClient> client, const std::string& model,
                                              double question_usd) {
  models_.insert(model);
  for (db::JournalCall& call : calls_)
    if (!call.reply && call.model == model && !call.spent_usd) call.spent_usd = question_usd;
  return std::make_shared<JournalClient>(*this, std::move(client));
}

}  // namespace ak::app
