// SPDX-License-Identifier: Apache-2.0
#include "db/store/session_rows.h"

#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

/// Of all workloads: where it is the same, scores are of the same shapes with the same weights.
std::string workloads_hash(Connection& connection, const OpenSession& session) {
  std::string hashes;
  for (const auto& [name, row] : session.workloads) {
    Rows workload =
        select(connection, "SELECT content_hash FROM workloads WHERE id = :workload", {{"workload", row}});
    if (workload.next()) hashes += workload.text("content_hash");
  }
  return sha256_hex(hashes);
}

/// The session of a campaign's search that began before.
std::optional<RowId> begun_session(Connection& connection, const SessionRecord& session,
                                   const OpenSession& open, const std::string& hash) {
  if (!session.campaign_run) return std::nullopt;
  const auto begun = select_integer(connection, "SELECT session_id FROM campaign_runs WHERE id = :run",
                                    {{"run", *session.campaign_run}});
  if (!begun) return std::nullopt;
  const auto same = find(connection, "sessions",
                         {{"id", *begun},
                          {"definition_id", open.definition},
                          {"device_id", open.device},
                          {"environment_id", open.environment},
                          {"arch", open.arch.sm()},
                          {"workloads_hash", hash}});
  if (!same) {
    fail(
        ExitCode::bad_input,
        "search {} cannot continue: its problem, shapes, device, driver or version of alphakernel is another "
        "now; start it again",
        *begun);
  }
  return begun;
}

}  // namespace

OpenSession put_session_parts(Connection& connection, const ProblemInstance& problem,
                              const DeviceFacts& device, const Arch& arch, const std::string& version) {
  OpenSession open{.definition = put_definition(connection, problem),
                   .device = put_device(connection, device),
                   .environment = put_environment(connection, device, version),
                   .arch = arch,
                   .workloads = {}};
  for (const Workload& workload : problem.workloads)
    open.workloads[workload.name] = put_workload(connection, open.definition, problem, workload);
  return open;
}

RowId begin_session_row(Connection& connection, const SessionRecord& session, const OpenSession& open) {
  const std::string hash = workloads_hash(connection, open);
  if (const auto begun = begun_session(connection, session, open, hash)) {
    update(connection, "sessions", *begun,
           {{"status", "running"}, {"reason", ""}, {"best_variant_id", nullptr}, {"ended_at", nullptr}});
    return *begun;
  }
  const RowId id = insert(connection, "sessions",
                          {{"uid", random_uid()},
                           {"definition_id", open.definition},
                           {"device_id", open.device},
                           {"environment_id", open.environment},
                           {"arch", open.arch.sm()},
                           {"command", session.command},
                           {"proposer", session.proposer},
                           {"strategy", session.strategy},
                           {"seed", as_signed(session.seed)},
                           {"budgets", stored_json(session.budgets)},
                           {"status", "running"},
                           {"reason", ""},
                           {"started_at", utc_now()},
                           {"audited", session.audited},
                           {"resumed", session.resumed},
                           {"workloads_hash", hash}});
  if (session.campaign_run) update(connection, "campaign_runs", *session.campaign_run, {{"session_id", id}});
  return id;
}

void end_session_row(Connection& connection, RowId session, std::string_view status, std::string_view reason,
                     std::optional<RowId> best_variant) {
  update(
      connection, "sessions", session,
      {{"status", status}, {"reason", reason}, {"best_variant_id", best_variant}, {"ended_at", utc_now()}});
}

void close_dead_sessions(Connection& connection, const std::function<bool(RowId)>& alive) {
  for (const RowId id : select_integers(connection, "SELECT id FROM sessions WHERE status = 'running'")) {
    if (alive(id)) continue;
    run(connection,
        "UPDATE sessions SET status = 'interrupted', "
        "reason = 'its process ended without a word: it was killed, or the machine stopped', ended_at = "
        "coalesce((SELECT max(ended_at) FROM evaluations WHERE session_id = sessions.id), started_at) "
        "WHERE id = :session",
        {{"session", id}});
    print_stderr("note: session {} was interrupted (its process was killed); all that it committed is kept\n",
                 id);
  }
}

}  // namespace ak::db
