// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/llm.h"
#include "core/store.h"
#include "db/store/session_store.h"

namespace ak::app {

/// Lets a search continue where another process of its session ended. The search runs from its beginning again,
/// and whatever that process committed is handed to it instead of being done: an evaluation of the same
/// request, in the order in which they ended; the answers of a model in the order of its questions. What is
/// handed out is not committed again. So a search that is the same in every run of its seed comes to the same
/// rows as one that was never interrupted; of any other nothing is evaluated twice or asked again.
///
/// Must outlive what its functions return. Used by one thread, in addition to the clients.
class RunJournal {
 public:
  /// Of a search that has committed nothing yet.
  RunJournal() = default;
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;
  RunJournal(std::vector<db::JournalEntry> entries, std::vector<db::JournalCall> calls);

  /// Nothing but what was known has been done yet, and there is more. From any thread.
  [[nodiscard]] bool replaying() const { return waiting_ > 0 && !goes_on_; }

  [[nodiscard]] std::unique_ptr<Evaluator> around(std::unique_ptr<Evaluator> evaluator);
  [[nodiscard]] std::unique_ptr<VariantStore> around(VariantStore& store);
  /// @param model its name: what an earlier process asked of it is known of this model alone
  /// @param question_usd what a question may have cost whose process was killed
  [[nodiscard]] std::shared_ptr<LlmClient> around(std::shared_ptr<LlmClient> client, const std::string& model,
                                                  double question_usd = 0);
  /// What questions without an answer have cost that are asked again, once all models are known.
  [[nodiscard]] double spent_usd() const;

 private:
  friend class JournalEvaluator;
  friend class JournalStore;
  friend class JournalClient;

  [[nodiscard]] std::optional<db::JournalEntry> take(const std::string& key, bool evaluated);
  [[nodiscard]] int free_iteration(int wanted);

  std::map<std::string, std::deque<db::JournalEntry>> entries_;  ///< by key, in order
  std::atomic<std::size_t> waiting_ = 0;                         ///< of these, with a result
  std::atomic<bool> goes_on_ = false;                            ///< an evaluation was waited for
  std::atomic<std::int64_t> committed_ = 0;  ///< evaluations, those that were handed out included
  std::set<int> iterations_;                 ///< that are committed
  [[nodiscard]] bool is_same_model(const std::string& before, const std::string& now) const;

  std::deque<db::JournalCall> calls_;
  std::set<std::string> models_;  ///< that the search asks now
  std::mutex mutex_;              ///< of what follows: questions are asked from their own threads
  /// What is known of the answer to a question: it, unless it never came; how many evaluations were committed before it
  /// came; and what a coding agent had evaluated before.
  struct KnownAnswer {
    std::optional<LlmReply> reply = {};
    std::int64_t after = 0;
    std::vector<db::JournalTrial> trials = {};
  };
  std::map<std::string, std::deque<KnownAnswer>> answers_;      ///< by request, of questions that are begun
  std::map<std::string, std::deque<StoredEvaluation>> handed_;  ///< by key: not committed again
  std::multiset<std::string> live_;                             ///< keys: evaluated now, not committed yet
};

/// What decides the answer to a request: candidate, shapes, inputs, and what is asked.
[[nodiscard]] std::string request_key(const EvaluationRequest& request);

/// All of a result but machine code and PTX.
[[nodiscard]] Json result_to_json(const EvaluationResult& result);
[[nodiscard]] EvaluationResult result_from_json(const Json& json);

}  // namespace ak::app
