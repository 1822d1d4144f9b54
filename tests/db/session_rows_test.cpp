// SPDX-License-Identifier: Apache-2.0
#include "db/store/session_rows.h"

#include <catch2/catch.hpp>

#include "db/rows.h"
#include "db/store/campaign_rows.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

constexpr Arch kArch{.major = 9, .minor = 0, .feature = 'a'};

OpenSession open_session(Connection& connection, const DeviceFacts& on = device()) {
  return put_session_parts(connection, vector_add(), on, kArch, "0.1.0");
}

SessionRecord record(std::optional<RowId> run = {}) {
  return {.command = "generate",
          .proposer = "search",
          .strategy = "random",
          .seed = ~0ull,
          .budgets = {},
          .version = "0.1.0",
          .campaign_run = run};
}

TEST_CASE("what a session refers to is there once, however many begin") {
  PreparedFile file;
  const OpenSession first = open_session(file.connection), second = open_session(file.connection);
  CHECK(first.definition == second.definition);
  CHECK(first.device == second.device);
  CHECK(first.environment == second.environment);
  CHECK(first.workloads == second.workloads);
  CHECK(first.workloads.size() == 2);
  const RowId one = begin_session_row(file.connection, record(), first);
  CHECK(begin_session_row(file.connection, record(), second) != one);
  CHECK(file.count("sessions WHERE status = 'running' AND seed = -1 AND arch = 'sm_90a'") == 2);
  CHECK(file.count("workloads") == 2);
}

TEST_CASE("a search of a campaign goes on in the row that it began, on the same device only") {
  PreparedFile file;
  Campaign queue;
  queue.runs.emplace_back().name = "a";
  const RowId campaign = put_campaign(file.connection, queue);
  const RowId run = select_campaign(file.connection, campaign)->runs.at(0).id;
  const OpenSession open = open_session(file.connection);
  const RowId session = begin_session_row(file.connection, record(run), open);
  CHECK(select_campaign(file.connection, campaign)->runs.at(0).session == session);
  end_session_row(file.connection, session, "stopped", "asked to", std::nullopt);
  CHECK(begin_session_row(file.connection, record(run), open) == session);
  CHECK(file.count("sessions WHERE status = 'running' AND reason = '' AND ended_at IS NULL") == 1);
  DeviceFacts other = device();
  other.uuid = "GPU-2";
  CHECK_THROWS_WITH(begin_session_row(file.connection, record(run), open_session(file.connection, other)),
                    Catch::Contains("cannot continue"));
}

TEST_CASE("of the running sessions those that are not alive are interrupted") {
  PreparedFile file;
  const OpenSession open = open_session(file.connection);
  const RowId alive = begin_session_row(file.connection, record(), open),
              dead = begin_session_row(file.connection, record(), open),
              ended = begin_session_row(file.connection, record(), open);
  end_session_row(file.connection, ended, "finished", "space exhausted", std::nullopt);
  close_dead_sessions(file.connection, [&](RowId id) { return id == alive; });
  const auto status = [&](RowId id) {
    return select_texts(file.connection, "SELECT status FROM sessions WHERE id = :id", {{"id", id}}).at(0);
  };
  CHECK(status(alive) == "running");
  CHECK(status(dead) == "interrupted");
  CHECK(status(ended) == "finished");
  CHECK(file.count("sessions WHERE status = 'interrupted' AND ended_at = started_at") == 1);
}

}  // namespace
}  // namespace ak::db::test
