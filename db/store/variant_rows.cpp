// SPDX-License-Identifier: Apache-2.0
#include "db/store/variant_rows.h"

#include <algorithm>

#include "core/text/hash.h"
#include "db/content_uid.h"
#include "db/rows.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

RowId put_source(Connection& connection, const Candidate& candidate) {
  const std::string hash = candidate.source_hash();
  if (const auto row = find(connection, "sources", {{"content_hash", hash}})) return *row;
  return insert(connection, "sources",
                {{"uid", random_uid()},
                 {"content_hash", hash},
                 {"text", candidate.source},
                 {"headers", candidate.headers}});
}

RowId put_plan(Connection& connection, const std::string& plan) {
  const auto uid = content_uid(plan);
  if (const auto row = find(connection, "plans", {{"uid", uid}})) return *row;
  return insert(connection, "plans", {{"uid", uid}, {"plan", plan}});
}

/// Occupancy is known of the first launch only: of a kernel when no other is launched.
std::optional<double> kernel_occupancy(const EvaluationRecord& record, const KernelFacts& kernel) {
  if (!record.result->occupancy) return std::nullopt;
  const auto& launches = record.request->candidate.plan.launches;
  const auto same = [&](const LaunchPlanEntry& launch) { return launch.kernel == kernel.expression; };
  return std::ranges::all_of(launches, same) ? std::optional(record.result->occupancy->ratio) : std::nullopt;
}

void put_kernel(Connection& connection, const EvaluationRecord& record, RowId build,
                const KernelFacts& kernel) {
  insert(connection, "build_kernels",
         {{"build_id", build},
          {"kernel", kernel.expression},
          {"lowered_name", kernel.lowered_name},
          {"registers", kernel.registers},
          {"static_shared_bytes", kernel.static_shared_bytes},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"stack_bytes", kernel.stack_bytes},
          {"occupancy_ratio", kernel_occupancy(record, kernel)}},
         "ON CONFLICT DO NOTHING");
}

std::optional<std::int64_t> size_of(std::size_t bytes, bool built) {
  return built ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

}  // namespace

RowId put_variant(Connection& connection, RowId definition, const Candidate& candidate, const Json& params) {
  const std::string hash = candidate.variant_hash();
  if (const auto row = find(connection, "variants", {{"definition_id", definition}, {"variant_hash", hash}}))
    return *row;
  return insert(connection, "variants",
                {{"uid", random_uid()},
                 {"definition_id", definition},
                 {"source_id", put_source(connection, candidate)},
                 {"variant_hash", hash},
                 {"name", candidate.name},
                 {"params", stored_json(params)},
                 {"tunables", stored_json(Json(candidate.tunables))},
                 {"plan_id", put_plan(connection, stored_json(to_json(candidate.plan)))}});
}

RowId put_proposal(Connection& connection, const EvaluationRecord& record, RowId variant) {
  const AskRecord* asked = record.asked;
  const RowId id = insert(connection, "proposals",
                          {{"uid", random_uid()},
                           {"search_id", record.search},
                           {"variant_id", variant},
                           {"iteration", record.iteration},
                           {"proposer", record.proposer},
                           {"arm", record.arm},
                           {"member", asked ? not_empty(asked->member) : std::nullopt},
                           {"asked_ms", asked ? std::optional(asked->asked_ms) : std::nullopt},
                           {"ask_ns", asked ? std::optional(asked->ask_ns) : std::nullopt},
                           {"llm_call_id", record.llm_call}});
  for (const RowId parent : record.parents)
    insert(connection, "variant_parents", {{"variant_id", variant}, {"parent_id", parent}},
           "ON CONFLICT DO NOTHING");
  return id;
}

void put_told(Connection& connection, RowId evaluation, const TellRecord& told) {
  run(connection,
      "UPDATE proposals SET told_ms = :told_ms, tell_ns = :tell_ns "
      "WHERE id = (SELECT proposal_id FROM evaluations WHERE id = :evaluation)",
      {{"told_ms", told.told_ms}, {"tell_ns", told.tell_ns}, {"evaluation", evaluation}});
}

std::optional<RowId> put_build(Connection& connection, const EvaluationRecord& record, RowId variant) {
  const auto& build = record.result->build;
  if (!build || build->key.empty()) return std::nullopt;
  if (const auto row = find(connection, "builds", {{"variant_id", variant}, {"build_key", build->key}}))
    return row;
  const bool built = !build->cubin.empty();
  const RowId id = insert(connection, "builds",
                          {{"uid", random_uid()},
                           {"variant_id", variant},
                           {"arch", record.request->arch.sm()},
                           {"build_key", build->key},
                           {"options", stored_json(Json(record.request->candidate.plan.options))},
                           {"nvrtc_version", build->nvrtc_version},
                           {"status", to_string(build->outcome.status)},
                           {"cubin_hash", built ? std::optional(sha256_hex(build->cubin)) : std::nullopt},
                           {"cubin_bytes", size_of(build->cubin.size(), built)},
                           {"ptx_bytes", size_of(build->ptx.size() + build->dropped_ptx_bytes, built)},
                           {"compile_ms", build->compile_ms},
                           {"cache_hit", build->cache_hit},
                           {"log", build->log}});
  for (const KernelFacts& kernel : build->kernels) put_kernel(connection, record, id, kernel);
  return id;
}

}  // namespace ak::db
