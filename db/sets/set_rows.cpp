// SPDX-License-Identifier: Apache-2.0
#include "db/sets/set_rows.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/store/catalogue_rows.h"
#include "db/utc.h"

namespace ak::db {
namespace {

void put_members(Connection& connection, RowId set, const std::vector<SetMemberRecord>& members) {
  std::int64_t number = 0;
  for (const SetMemberRecord& member : members)
    insert(connection, "set_members",
           {{"set_id", set},
            {"number", ++number},
            {"variant_id", member.variant},
            {"condition", member.condition},
            {"fallback", member.fallback}});
}

void put_shapes(Connection& connection, RowId set, const ProblemInstance& problem,
                const std::vector<SetShapeRecord>& shapes) {
  const RowId definition = put_definition(connection, problem);
  for (const SetShapeRecord& shape : shapes)
    insert(connection, "set_shapes",
           {{"set_id", set},
            {"workload_id", put_workload(connection, definition, problem, shape.workload)},
            {"held_out", shape.held_out},
            {"member", static_cast<std::int64_t>(shape.member)},
            {"member_ns", shape.member_ns},
            {"best_ns", shape.best_ns},
            {"best_variant_id", shape.best_variant}},
           "ON CONFLICT DO NOTHING");
}

void put_figures(Connection& connection, RowId set, const SetRecord& record) {
  update(connection, "kernel_sets", set,
         {{"variant_id", record.variant},
          {"mean_ratio", record.mean_ratio},
          {"worst_ratio", record.worst_ratio},
          {"within_limits", record.within_limits},
          {"prepared_copies", static_cast<std::int64_t>(record.prepared_copies)}});
  if (!record.regret) return;
  update(connection, "kernel_sets", set,
         {{"held_out_shapes", static_cast<std::int64_t>(record.regret->shapes)},
          {"regret", record.regret->mean_ratio},
          {"regret_low", record.regret->interval.low},
          {"regret_high", record.regret->interval.high},
          {"worst_regret", record.regret->worst_ratio}});
}

}  // namespace

RowId begin_set(const std::filesystem::path& file, const ProblemInstance& problem) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  Transaction transaction(connection);
  const RowId set = insert(connection, "kernel_sets",
                           {{"uid", random_uid()},
                            {"definition_id", put_definition(connection, problem)},
                            {"began_at", utc_now()}});
  transaction.commit();
  return set;
}

void store_set(const std::filesystem::path& file, RowId set, const ProblemInstance& problem,
               const SetRecord& record) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  Transaction transaction(connection);
  put_figures(connection, set, record);
  put_members(connection, set, record.members);
  put_shapes(connection, set, problem, record.shapes);
  transaction.commit();
}

}  // namespace ak::db
