// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/store.h"
#include "db/process_locks.h"
#include "db/sqlite.h"
#include "db/store/search_rows.h"

namespace ak::db {

/// VariantStore and AuditStore in an SQLite file: one transaction a call, around the rows of the other files
/// here. One object belongs to one thread; several processes may share the file. A call that throws leaves the
/// file as it was before the call, and the object usable.
class SqliteStore final : public VariantStore, public AuditStore {
 public:
  explicit SqliteStore(const std::filesystem::path& file,
                       std::chrono::milliseconds busy_timeout = kBusyTimeout);

  RowId begin_search(const SearchRecord& search, const ProblemInstance& problem, const DeviceFacts& device,
                     const Arch& arch) override;
  [[nodiscard]] std::vector<KnownPoint> known_points(RowId search, const std::string& source_hash) override;
  StoredEvaluation commit(const EvaluationRecord& record) override;
  void together(const std::function<void()>& commits) override;
  void note_told(RowId evaluation, const TellRecord& told) override;
  RowId begin_llm_call(const LlmCallRecord& record) override;
  [[nodiscard]] QuestionName name_of_llm_call(RowId call) override;
  void note_llm_reward(RowId call, double reward) override;
  void end_llm_call(RowId call, const LlmReply& reply, double latency_ms) override;
  void note_pool(RowId search, const PoolReport& report) override;
  void note_gain(RowId search, const GainRecord& record) override;
  void note_verdict(RowId search, const SearchVerdict& verdict) override;
  void end_search(RowId search, std::string_view status, std::string_view reason,
                  std::optional<RowId> best_variant) override;
  void commit_audit(const AuditRecord& record, const DeviceFacts& device, const Arch& arch) override;
  [[nodiscard]] bool audit_passed(const std::string& content_hash, const ProblemInstance& problem) override;

 private:
  StoredEvaluation put(const EvaluationRecord& record);
  /// Commits, with what note_told() and note_gain() were given: a transaction of its own would cost another write to the disk.
  void commit_with_told(Transaction& transaction);

  std::filesystem::path file_;
  Connection connection_;
  std::optional<ProcessLocks> locks_;  ///< once a search began
  bool together_ = false;              ///< within together(), whose transaction it is
  std::map<RowId, OpenSearch> searches_;
  std::vector<std::pair<RowId, TellRecord>> told_;   ///< evaluations, not stored yet
  std::vector<std::pair<RowId, GainRecord>> gains_;  ///< of searches, not stored yet
};

}  // namespace ak::db
