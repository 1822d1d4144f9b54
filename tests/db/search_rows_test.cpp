// SPDX-License-Identifier: Apache-2.0
#include "db/store/search_rows.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "db/rows.h"
#include "db/store/queue_rows.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

constexpr Arch kArch{.major = 9, .minor = 0, .feature = 'a'};

OpenSearch open_search(Connection& connection, const DeviceFacts& on = device()) {
  return put_search_parts(connection, vector_add(), on, kArch, "0.1.0");
}

SearchRecord record(std::optional<RowId> run = {}) {
  return {.command = "generate",
          .proposer = "search",
          .strategy = "random",
          .seed = ~0ull,
          .budgets = {},
          .version = "0.1.0",
          .session_search = run};
}

TEST_CASE("what a search refers to is there once, however many begin") {
  PreparedFile file;
  const OpenSearch first = open_search(file.connection), second = open_search(file.connection);
  CHECK(first.definition == second.definition);
  CHECK(first.device == second.device);
  CHECK(first.environment == second.environment);
  CHECK(first.workloads == second.workloads);
  CHECK(first.workloads.size() == 2);
  const RowId one = begin_search_row(file.connection, record(), first);
  CHECK(begin_search_row(file.connection, record(), second) != one);
  CHECK(file.count("searches WHERE status = 'running' AND seed = -1 AND arch = 'sm_90a'") == 2);
  CHECK(file.count("workloads") == 2);
}

TEST_CASE("a search of a session goes on in the row that it began, on a device of the same model only") {
  PreparedFile file;
  Session queue;
  queue.runs.emplace_back().name = "a";
  const RowId session = put_session(file.connection, queue);
  const RowId run = select_session(file.connection, session)->runs.at(0).id;
  const OpenSearch open = open_search(file.connection);
  const RowId search = begin_search_row(file.connection, record(run), open);
  CHECK(select_session(file.connection, session)->runs.at(0).search == search);
  end_search_row(file.connection, search, "stopped", "asked to", std::nullopt);
  CHECK(begin_search_row(file.connection, record(run), open) == search);
  CHECK(file.count("searches WHERE status = 'running' AND reason = '' AND ended_at IS NULL") == 1);
  DeviceFacts other = device();
  other.uuid = "GPU-2";
  const OpenSearch elsewhere = open_search(file.connection, other);
  CHECK(elsewhere.device != open.device);
  CHECK(begin_search_row(file.connection, record(run), elsewhere) == search);
  CHECK(file.count(fmt::format("searches WHERE device_id = {}", elsewhere.device)) == 1);
  other.memory_bytes += 1;
  other.uuid = "GPU-3";
  CHECK_THROWS_WITH(begin_search_row(file.connection, record(run), open_search(file.connection, other)),
                    Catch::Contains("cannot continue"));
}

TEST_CASE("of the running searches those that are not alive are interrupted") {
  PreparedFile file;
  const OpenSearch open = open_search(file.connection);
  const RowId alive = begin_search_row(file.connection, record(), open),
              dead = begin_search_row(file.connection, record(), open),
              ended = begin_search_row(file.connection, record(), open);
  end_search_row(file.connection, ended, "finished", "space exhausted", std::nullopt);
  close_dead_searches(file.connection, [&](RowId id) { return id == alive; });
  const auto status = [&](RowId id) {
    return select_texts(file.connection, "SELECT status FROM searches WHERE id = :id", {{"id", id}}).at(0);
  };
  CHECK(status(alive) == "running");
  CHECK(status(dead) == "interrupted");
  CHECK(status(ended) == "finished");
  CHECK(file.count("searches WHERE status = 'interrupted' AND ended_at = started_at") == 1);
}

}  // namespace
}  // namespace ak::db::test
