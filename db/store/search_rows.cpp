// SPDX-License-Identifier: Apache-2.0
#include "db/store/search_rows.h"

#include "core/device/device_facts.h"
#include "core/text/hash.h"
#include "core/text/json.h"
#include "core/text/print_stderr.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

/// Of all workloads: where it is the same, scores are of the same shapes with the same weights.
std::string workloads_hash(Connection& connection, const OpenSearch& search) {
  std::string hashes;
  for (const auto& [name, row] : search.workloads) {
    Rows workload =
        select(connection, "SELECT content_hash FROM workloads WHERE id = :workload", {{"workload", row}});
    if (workload.next()) hashes += workload.text("content_hash");
  }
  return sha256_hex(hashes);
}

std::string names_of(const std::map<std::string, RowId>& workloads) {
  std::string names;
  for (const auto& [name, row] : workloads) names += (names.empty() ? "" : "; ") + name;
  return names;
}

DeviceFacts device_of(Connection& connection, RowId row) {
  Rows device = select(connection, "SELECT facts FROM devices WHERE id = :device", {{"device", row}});
  return device.next() ? device_facts_from_json(parse_json(device.text("facts"))) : DeviceFacts{};
}

/// The same driver and version of alphakernel; host and operating system may be others.
bool same_programs(Connection& connection, RowId one, RowId other) {
  return one == other ||
         select_integer(connection,
                        "SELECT count(*) FROM environments a JOIN environments b ON a.driver_version = "
                        "b.driver_version AND a.alphakernel_version = b.alphakernel_version "
                        "WHERE a.id = :one AND b.id = :other",
                        {{"one", one}, {"other", other}}) == 1;
}

/// The search of a session that began before, on this device or another of its model.
std::optional<RowId> begun_search(Connection& connection, const SearchRecord& search, const OpenSearch& open,
                                  const std::string& hash) {
  if (!search.session_search) return std::nullopt;
  const auto begun = select_integer(connection, "SELECT search_id FROM session_searches WHERE id = :run",
                                    {{"run", *search.session_search}});
  if (!begun) return std::nullopt;
  Rows same =
      select(connection,
             "SELECT device_id, environment_id FROM searches WHERE id = :search AND "
             "definition_id = :definition AND arch = :arch AND workloads_hash = :hash",
             {{"search", *begun}, {"definition", open.definition}, {"arch", open.arch.sm()}, {"hash", hash}});
  if (!same.next() || !same_programs(connection, same.integer("environment_id"), open.environment) ||
      !same_model(device_of(connection, same.integer("device_id")), device_of(connection, open.device))) {
    fail(ExitCode::bad_input,
         "search {} cannot continue: its problem, shapes, model of device, driver or version of alphakernel "
         "is another now; start it again",
         *begun);
  }
  if (same.integer("device_id") != open.device)
    print_stderr(
        "note: search {} goes on on another device of its model: times from before are the other's, and what "
        "comes near the best one is timed in turns with it here\n",
        *begun);
  return begun;
}

/// A search that continues belongs to the set that is made now.
void put_part(Connection& connection, const SearchRecord& search, RowId id) {
  if (!search.set) return;
  if (const auto known = find(connection, "set_searches", {{"search_id", id}}))
    return update(connection, "set_searches", *known, {{"set_id", search.set->set}});
  insert(connection, "set_searches",
         {{"uid", random_uid()}, {"set_id", search.set->set}, {"search_id", id}, {"role", search.set->role}});
}

}  // namespace

OpenSearch put_search_parts(Connection& connection, const ProblemInstance& problem, const DeviceFacts& device,
                            const Arch& arch, const std::string& version) {
  OpenSearch open{.definition = put_definition(connection, problem),
                  .device = put_device(connection, device),
                  .environment = put_environment(connection, device, version),
                  .arch = arch,
                  .workloads = {}};
  for (const Workload& workload : problem.workloads)
    open.workloads[workload.name] = put_workload(connection, open.definition, problem, workload);
  if (problem.shapes_given) open.given_shapes = names_of(open.workloads);
  return open;
}

RowId begin_search_row(Connection& connection, const SearchRecord& search, const OpenSearch& open) {
  const std::string hash = workloads_hash(connection, open);
  if (const auto begun = begun_search(connection, search, open, hash)) {
    update(connection, "searches", *begun,
           {{"device_id", open.device},
            {"environment_id", open.environment},
            {"status", "running"},
            {"reason", ""},
            {"budgets", stored_json(search.budgets)},
            {"best_variant_id", nullptr},
            {"verdict", nullptr},
            {"headroom", nullptr},
            {"ended_at", nullptr}});
    put_part(connection, search, *begun);
    return *begun;
  }
  const RowId id = insert(connection, "searches",
                          {{"uid", random_uid()},
                           {"definition_id", open.definition},
                           {"device_id", open.device},
                           {"environment_id", open.environment},
                           {"arch", open.arch.sm()},
                           {"command", search.command},
                           {"proposer", search.proposer},
                           {"strategy", search.strategy},
                           {"seed", as_signed(search.seed)},
                           {"budgets", stored_json(search.budgets)},
                           {"status", "running"},
                           {"reason", ""},
                           {"started_at", utc_now()},
                           {"audited", search.audited},
                           {"resumed", search.resumed},
                           {"workloads_hash", hash},
                           {"shapes", open.given_shapes}});
  if (search.session_search)
    update(connection, "session_searches", *search.session_search, {{"search_id", id}});
  put_part(connection, search, id);
  return id;
}

void put_verdict(Connection& connection, RowId search, const GainRecord& record) {
  run(connection, "DELETE FROM verdicts WHERE search_id = :search AND evaluations = :evaluations",
      {{"search", search}, {"evaluations", record.evaluations}});
  insert(connection, "verdicts",
         {{"search_id", search},
          {"evaluations", record.evaluations},
          {"best_ns", record.best_ns},
          {"expected_gain", record.gain.expected},
          {"low_gain", record.gain.low},
          {"high_gain", record.gain.high}});
}

void end_search_row(Connection& connection, RowId search, std::string_view status, std::string_view reason,
                    std::optional<RowId> best_variant) {
  update(
      connection, "searches", search,
      {{"status", status}, {"reason", reason}, {"best_variant_id", best_variant}, {"ended_at", utc_now()}});
}

void close_suspended_search(Connection& connection, RowId search, std::string_view reason) {
  run(connection,
      "UPDATE searches SET status = 'stopped', reason = :reason WHERE id = :search AND status = 'suspended'",
      {{"search", search}, {"reason", reason}});
  run(connection,
      "UPDATE llm_calls SET status = :status, message = :reason, ended_at = :now WHERE search_id = :search "
      "AND status = 'sent'",
      {{"search", search},
       {"status", info(LlmFault::withdrawn).name},
       {"reason", reason},
       {"now", utc_now()}});
}

void close_dead_searches(Connection& connection, const std::function<bool(RowId)>& alive) {
  for (const RowId id : select_integers(connection, "SELECT id FROM searches WHERE status = 'running'")) {
    if (alive(id)) continue;
    run(connection,
        "UPDATE searches SET status = 'interrupted', "
        "reason = 'its process ended without a word: it was killed, or the machine stopped', ended_at = "
        "coalesce((SELECT max(ended_at) FROM evaluations WHERE search_id = searches.id), started_at) "
        "WHERE id = :search",
        {{"search", id}});
    print_stderr("note: search {} was interrupted (its process was killed); all that it committed is kept\n",
                 id);
  }
}

}  // namespace ak::db
