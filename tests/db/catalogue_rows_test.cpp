// SPDX-License-Identifier: Apache-2.0
#include "db/store/catalogue_rows.h"

#include <catch2/catch.hpp>

#include "db/read/exchange_rows.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

TEST_CASE("the same content is the same row, and any difference is another") {
  PreparedFile file;
  Connection& connection = file.connection;
  DeviceFacts facts = device(), other = device();
  other.uuid = "GPU-2";
  CHECK(put_device(connection, facts) == put_device(connection, facts));
  CHECK(put_device(connection, facts) != put_device(connection, other));
  CHECK(put_environment(connection, facts, "1") == put_environment(connection, facts, "1"));
  CHECK(put_environment(connection, facts, "1") != put_environment(connection, facts, "2"));
  other.driver_version = facts.driver_version + 1;
  CHECK(put_environment(connection, facts, "1") != put_environment(connection, other, "1"));
  ProblemInstance problem = vector_add(), changed = vector_add();
  changed.definition.description += "x";
  const RowId definition = put_definition(connection, problem);
  CHECK(definition == put_definition(connection, problem));
  CHECK(definition != put_definition(connection, changed));
  const Workload& shape = problem.workloads[0];
  const RowId workload = put_workload(connection, definition, problem, shape);
  CHECK(workload == put_workload(connection, definition, problem, shape));
  Workload heavier = shape;
  heavier.weight = 2;
  CHECK(workload != put_workload(connection, definition, problem, heavier));
  changed.flops = Expression::parse("2 * N").value();
  CHECK(workload != put_workload(connection, definition, changed, shape));
}

TEST_CASE("a shape that is written as other programs exchange it is the row of a search's shape") {
  PreparedFile file;
  const ProblemInstance problem = vector_add();
  const RowId definition = put_definition(file.connection, problem);
  std::vector<RowId> rows;
  for (const Workload& workload : problem.workloads)
    rows.push_back(put_workload(file.connection, definition, problem, workload));
  const auto exchanged = exchanged_workloads(file.folder.file(), definition);
  REQUIRE(exchanged.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(put_workload(file.connection, definition, exchanged[i]) == rows[i]);
  CHECK(exchanged[1].flops == 1'000'000);
  CHECK(exchanged[1].bytes_read == 8'000'000);
  CHECK_FALSE(exchanged[0].timed);
}

TEST_CASE("figures that are not known are NULL") {
  PreparedFile file;
  DeviceFacts facts = device();
  facts.memory_clock_mhz = 0;
  put_device(file.connection, facts);
  CHECK(file.count("devices WHERE peak_bandwidth_gbps IS NULL") == 1);
  ProblemInstance problem = vector_add();
  problem.flops = Expression::parse("N // 0").value();
  const RowId definition = put_definition(file.connection, problem);
  put_workload(file.connection, definition, problem, problem.workloads[0]);
  CHECK(file.count("workloads WHERE flops IS NULL AND bytes_read = 8000") == 1);
}

}  // namespace
}  // namespace ak::db::test
