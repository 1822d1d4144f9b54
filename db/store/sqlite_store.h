// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/store.h"
#include "db/sqlite.h"
#include "db/store/session_locks.h"

namespace ak::db {

/// VariantStore and AuditStore in an SQLite file. One object belongs to one thread; several processes may
/// share the file. A call that throws leaves the file as it was before the call, and the object usable.
class SqliteStore final : public VariantStore, public AuditStore {
 public:
  explicit SqliteStore(const std::filesystem::path& file,
                       std::chrono::milliseconds busy_timeout = kBusyTimeout);

  RowId begin_session(const SessionRecord& session, const ProblemInstance& problem, const DeviceFacts& device,
                      const Arch& arch) override;
  [[nodiscard]] std::vector<KnownPoint> known_points(RowId session, const std::string& source_hash) override;
  StoredEvaluation commit(const EvaluationRecord& record) override;
  void note_told(RowId evaluation, const TellRecord& told) override;
  RowId begin_llm_call(const LlmCallRecord& record) override;
  void note_llm_reward(RowId call, double reward) override;
  void end_llm_call(RowId call, const LlmReply& reply, double latency_ms) override;
  void end_session(RowId session, std::string_view status, std::string_view reason,
                   std::optional<RowId> best_variant) override;
  void commit_audit(const AuditRecord& record, const DeviceFacts& device, const Arch& arch) override;
  [[nodiscard]] bool audit_passed(const std::string& content_hash, const ProblemInstance& problem) override;

 private:
  /// What the rows of a running session refer to.
  struct OpenSession {
    RowId definition = 0, device = 0;
    std::map<std::string, RowId> workloads;  ///< by name
  };

  RowId environment_row(const DeviceFacts& device, const std::string& version);
  RowId device_row(const DeviceFacts& device);
  RowId definition_row(const ProblemInstance& problem);
  RowId workload_row(RowId definition, const ProblemInstance& problem, const Workload& workload);
  RowId workload_of(const std::string& name, const EvaluationRecord& record, const OpenSession& session);
  std::string workloads_hash(const OpenSession& session);
  RowId session_row(const SessionRecord& session, const OpenSession& open, RowId environment,
                    const Arch& arch);
  std::optional<RowId> begun_session(const SessionRecord& session, const OpenSession& open, RowId environment,
                                     const Arch& arch);
  RowId source_row(const Candidate& candidate);
  RowId variant_row(RowId definition, const EvaluationRequest& request);
  RowId proposal_row(const EvaluationRecord& record, RowId variant);
  std::optional<RowId> build_row(RowId variant, const EvaluationRecord& record);
  RowId evaluation_row(const EvaluationRecord& record, const OpenSession& session, RowId variant,
                       RowId proposal, std::optional<RowId> build);
  void kernel_rows(RowId build, const EvaluationRecord& record);
  void journal_row(RowId evaluation, const EvaluationRecord& record);
  void check_rows(RowId evaluation, const EvaluationRecord& record, const OpenSession& session);
  void measurement_rows(RowId evaluation, const EvaluationRecord& record, const OpenSession& session);
  struct MetricRow {
    std::string_view kernel, name, unit;
    double value = 0;
  };
  void metric_row(RowId evaluation, RowId workload, const MetricRow& row);
  void metric_rows(RowId evaluation, const EvaluationRecord& record, const OpenSession& session);
  void prediction_rows(const StoredEvaluation& stored, const EvaluationRecord& record,
                       const OpenSession& session);
  void store_told();
  void finding_row(RowId audit, const AuditFinding& finding);
  /// Ends the sessions whose process did not: "interrupted".
  void close_dead_sessions();
  /// Id of the row that the one-parameter query finds, or nothing.
  std::optional<RowId> find(Statement& query);

  std::filesystem::path file_;
  Connection connection_;
  std::optional<SessionLocks> locks_;  ///< once a session began
  std::map<RowId, OpenSession> sessions_;
  std::vector<std::pair<RowId, TellRecord>> told_;  ///< evaluations, not stored yet
};

}  // namespace ak::db
