// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/audit.h"
#include "core/evaluation.h"
#include "core/hypothesis.h"
#include "core/llm.h"
#include "core/prediction.h"
#include "core/remaining_gain.h"
#include "core/search_verdict.h"

namespace ak {

using RowId = std::int64_t;

/// A search that is part of making a kernel set.
struct SetPart {
  RowId set = 0;
  std::string_view role;  ///< "shape", "members" or "set"
};

struct SearchRecord {
  std::string command;   ///< the command line, keys redacted
  std::string proposer;  ///< "search", "llm", "hybrid", "user"
  std::string strategy;  ///< "random", "exhaustive", ...
  std::uint64_t seed = 0;
  Json budgets;
  std::string version;   ///< of AlphaKernel
  bool audited = true;   ///< the problem had passed its audit; false: used with --unaudited
  bool resumed = false;  ///< the strategy begins with what earlier searches found for the same sources
  /// Row of `session_searches` that the search belongs to: where it has a search already, that one continues.
  std::optional<RowId> session_search = {};
  std::optional<SetPart> set = {};
};

/// How a search came to a proposal.
struct AskRecord {
  std::string_view member;  ///< of a strategy of several: which of them chose it; else empty
  double asked_ms = 0;      ///< since the search began
  std::int64_t ask_ns = 0;  ///< time the strategy took
};

/// When a strategy heard the result of its proposal.
struct TellRecord {
  double told_ms = 0;        ///< since the search began
  std::int64_t tell_ns = 0;  ///< time the strategy took
};

/// What a search knew of its end.
struct GainRecord {
  std::int64_t evaluations = 0;  ///< that had ended
  double best_ns = 0;            ///< what ranked best: a score, or a predicted one
  RemainingGain gain;
};

/// What is known of a point of a source.
struct KnownPoint {
  TunableValues tunables;
  std::optional<double> score_ns;           ///< absent: it failed
  std::optional<double> predicted_ns = {};  ///< the score that was predicted of it; absent: none was
  std::string predicted_by = {};            ///< PredictedScore::model of that prediction
};

/// What a search that may continue in another process keeps of an evaluation.
struct JournalRecord {
  std::string key;                    ///< of the request: the same where the answer would be the same
  std::optional<std::string> result;  ///< JSON; nothing where nothing was evaluated
};

/// Everything one evaluation leaves behind, committed in one transaction.
struct EvaluationRecord {
  RowId search = 0;
  int iteration = 0;
  std::string proposer, arm;                   ///< who proposed it: strategy name or model and prompt arm
  std::vector<RowId> parents;                  ///< variant ids
  const EvaluationRequest* request = nullptr;  ///< not owned; valid for the call
  const EvaluationResult* result = nullptr;
  const PredictedScore* predicted = nullptr;  ///< not owned; null: nothing was predicted
  const DeviceFacts* device = nullptr;        ///< where it ran, if not on the search's device; not owned
  const AskRecord* asked = nullptr;           ///< not owned; null: no search asked for it
  std::optional<RowId> llm_call = {};         ///< the answer that proposed it
  const Hypothesis* hypothesis =
      nullptr;  ///< not owned; what that answer expects of it; null: nothing is said
  const JournalRecord* journal = nullptr;  ///< not owned; null: the search has no journal
};

/// A request to a language model that is about to be sent.
struct LlmCallRecord {
  RowId search = 0;
  std::string model;           ///< "anthropic:claude-opus-5-5"
  std::string arm;             ///< which prompt
  std::string credited_arm;    ///< the arm that the whole exchange began with, and is credited to
  std::string prompt_version;  ///< of the prompts' texts
  std::string bottleneck;      ///< what limits the candidate that it is about, by name; empty where not known
  Json request;                ///< keys redacted
};

struct StoredEvaluation {
  RowId variant = 0, evaluation = 0;
};

/// Where the loop keeps what it learns. Implemented by db; tests keep vectors. Throws Error(database).
class VariantStore {
 public:
  virtual ~VariantStore() = default;
  virtual RowId begin_search(const SearchRecord& search, const ProblemInstance& problem,
                             const DeviceFacts& device, const Arch& arch) = 0;
  /// What other searches found at the points of this source: with the same definition, shapes, target, kind
  /// of device, driver and version of this program. A point found wrong later has failed.
  [[nodiscard]] virtual std::vector<KnownPoint> known_points(RowId search,
                                                             const std::string& source_hash) = 0;
  virtual StoredEvaluation commit(const EvaluationRecord& record) = 0;
  /// What `commits` commits is durable when it has returned, all at once or, where it throws, nothing of it; each alone
  /// costs another write to the disk.
  virtual void together(const std::function<void()>& commits) { commits(); }
  /// The strategy received a committed evaluation. Stored with the next commit or the search's end.
  virtual void note_told(RowId evaluation, const TellRecord& told) = 0;
  /// Before a request is sent: what it may have cost is then never forgotten.
  virtual RowId begin_llm_call(const LlmCallRecord& record) = 0;
  /// Of a request that was begun.
  [[nodiscard]] virtual QuestionName name_of_llm_call(RowId call) = 0;
  /// Before the answer is read.
  virtual void end_llm_call(RowId call, const LlmReply& reply, double latency_ms) = 0;
  /// The result of an exchange, in [0, 1], once its candidates were judged. @param call its first
  virtual void note_llm_reward(RowId call, double reward) = 0;
  /// The devices that share a search's work, again and again; calibrations are kept, places as they are said last.
  virtual void note_pool(RowId, const PoolReport&) {}
  /// What a search could still gain when so many evaluations had ended. Stored with the next commit or the search's end.
  virtual void note_gain(RowId, const GainRecord&) {}
  /// How good the result is of a search that has ended.
  virtual void note_verdict(RowId, const SearchVerdict&) {}
  /// `status`: "finished", "stopped", "suspended", "failed"; `reason` in words: which budget or why.
  virtual void end_search(RowId search, std::string_view status, std::string_view reason,
                          std::optional<RowId> best_variant) = 0;
};

/// An audit of a problem on one device.
struct AuditRecord {
  const ProblemInstance* problem = nullptr;  ///< not owned; valid for the call, as is `audit`
  std::string content_hash;                  ///< of the problem's files and the audit's rules
  std::string version;                       ///< of AlphaKernel
  const ProblemAudit* audit = nullptr;
};

/// Which problems are known to notice mistakes. Implemented by db. Throws Error(database).
class AuditStore {
 public:
  virtual ~AuditStore() = default;
  virtual void commit_audit(const AuditRecord& record, const DeviceFacts& device, const Arch& arch) = 0;
  /// The latest audit of this content under the problem's params passed; false where there is none.
  [[nodiscard]] virtual bool audit_passed(const std::string& content_hash,
                                          const ProblemInstance& problem) = 0;
};

}  // namespace ak
