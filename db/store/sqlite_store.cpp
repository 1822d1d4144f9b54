// SPDX-License-Identifier: Apache-2.0
#include "db/store/sqlite_store.h"

#include "db/database.h"
#include "db/database_folder.h"
#include "db/pool/pool_rows.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/store/audit_rows.h"
#include "db/store/evaluation_rows.h"
#include "db/store/known_points.h"
#include "db/store/llm_call_rows.h"
#include "db/store/stored_values.h"
#include "db/store/variant_rows.h"

namespace ak::db {

SqliteStore::SqliteStore(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout)
    : file_(file), connection_(file, OpenMode::create, busy_timeout) {
  prepare_database(connection_, file);
}

RowId SqliteStore::begin_search(const SearchRecord& search, const ProblemInstance& problem,
                                const DeviceFacts& device, const Arch& arch) {
  if (!locks_) locks_.emplace(file_);
  Transaction transaction(connection_);
  close_dead_searches(connection_, [&](RowId id) { return searches_.contains(id) || locks_->is_held(id); });
  OpenSearch open = put_search_parts(connection_, problem, device, arch, search.version);
  const RowId id = begin_search_row(connection_, search, open);
  locks_->hold(id);  // before anyone sees the row
  transaction.commit();
  searches_[id] = std::move(open);
  return id;
}

std::vector<KnownPoint> SqliteStore::known_points(RowId search, const std::string& source_hash) {
  return select_known_points(connection_, search, source_hash);
}

StoredEvaluation SqliteStore::commit(const EvaluationRecord& record) {
  if (together_) return put(record);
  Transaction transaction(connection_);
  const StoredEvaluation stored = put(record);
  commit_with_told(transaction);
  return stored;
}

void SqliteStore::together(const std::function<void()>& commits) {
  AK_ASSERT(!together_, "one transaction at a time");
  Transaction transaction(connection_);
  together_ = true;
  try {
    commits();
  } catch (...) {
    together_ = false;
    throw;
  }
  together_ = false;
  commit_with_told(transaction);
}

StoredEvaluation SqliteStore::put(const EvaluationRecord& record) {
  AK_ASSERT(record.request && record.result, "an evaluation record refers to its request and result");
  const auto search = searches_.find(record.search);
  AK_ASSERT(search != searches_.end(), "evaluations are committed to a search begun by the same store");
  const EvaluationRequest& request = *record.request;
  const Json params = params_json(request.problem ? request.problem->params : Params());
  EvaluationRows rows{connection_, record, search->second};
  rows.variant = put_variant(connection_, rows.search.definition, request.candidate, params);
  const RowId proposal = put_proposal(connection_, record, rows.variant);
  put_hypothesis(connection_, record, proposal);
  put_evaluation(rows, proposal, put_build(connection_, record, rows.variant));
  put_checks(rows);
  put_measurements(rows);
  put_metrics(rows);
  put_predictions(rows);
  put_journal(rows);
  return {.variant = rows.variant, .evaluation = rows.evaluation};
}

void SqliteStore::note_told(RowId evaluation, const TellRecord& told) {
  told_.emplace_back(evaluation, told);
}

void SqliteStore::commit_with_told(Transaction& transaction) {
  for (const auto& [evaluation, told] : told_) put_told(connection_, evaluation, told);
  for (const auto& [search, gain] : gains_) put_verdict(connection_, search, gain);
  transaction.commit();
  told_.clear();
  gains_.clear();
}

void SqliteStore::note_gain(RowId search, const GainRecord& record) { gains_.emplace_back(search, record); }

void SqliteStore::note_verdict(RowId search, const SearchVerdict& verdict) {
  Transaction transaction(connection_);
  update(connection_, "searches", search, {{"verdict", verdict.verdict}, {"headroom", verdict.headroom}});
  transaction.commit();
}

RowId SqliteStore::begin_llm_call(const LlmCallRecord& record) {
  Transaction transaction(connection_);
  const RowId id = put_llm_call(connection_, record);
  transaction.commit();
  return id;
}

QuestionName SqliteStore::name_of_llm_call(RowId call) { return db::name_of_llm_call(connection_, call); }

void SqliteStore::note_llm_reward(RowId call, double reward) {
  Transaction transaction(connection_);
  reward_llm_call(connection_, call, reward);
  transaction.commit();
}

void SqliteStore::end_llm_call(RowId call, const LlmReply& reply, double latency_ms) {
  Transaction transaction(connection_);
  db::end_llm_call(connection_, call, reply, latency_ms);
  transaction.commit();
}

void SqliteStore::note_pool(RowId search, const PoolReport& report) {
  Transaction transaction(connection_);
  put_pool(connection_, search, report);
  transaction.commit();
}

void SqliteStore::end_search(RowId search, std::string_view status, std::string_view reason,
                             std::optional<RowId> best_variant) {
  Transaction transaction(connection_);
  end_search_row(connection_, search, status, reason, best_variant);
  commit_with_told(transaction);
  searches_.erase(search);
  locks_->release(search);
}

void SqliteStore::commit_audit(const AuditRecord& record, const DeviceFacts& device, const Arch& arch) {
  AK_ASSERT(record.problem && record.audit, "an audit's record refers to its problem and findings");
  Transaction transaction(connection_);
  put_audit(connection_, record, device, arch);
  transaction.commit();
}

bool SqliteStore::audit_passed(const std::string& content_hash, const ProblemInstance& problem) {
  return db::audit_passed(connection_, content_hash, problem);
}

std::unique_ptr<VariantStore> open_store(const std::filesystem::path& file) {
  return std::make_unique<SqliteStore>(file);
}
std::unique_ptr<AuditStore> open_audit_store(const std::filesystem::path& file) {
  return std::make_unique<SqliteStore>(file);
}

std::filesystem::path default_database() {
  if (const char* file = std::getenv("ALPHAKERNEL_DB"); file && *file) return file;
  if (std::filesystem::path file = user_database(); !file.empty()) return file;
  fail(ExitCode::database, "no place for the database: give --db FILE or set ALPHAKERNEL_DB");
}

}  // namespace ak::db
