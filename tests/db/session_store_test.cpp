// SPDX-License-Identifier: Apache-2.0
#include "db/store/session_store.h"

#include <catch2/catch.hpp>

#include "db/read/named_queries.h"
#include "db/store/sqlite_store.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

Session two_searches() {
  Session session;
  session.name = "night";
  session.command = "session start";
  session.folder = "/data";
  session.budgets = {{"minutes", 5}};
  SessionSearch& first = session.runs.emplace_back();
  first.name = "a";
  first.priority = 2;
  first.share = 0.5;
  first.arguments = {"--algorithm", "x"};
  SessionSearch& second = session.runs.emplace_back();
  second.name = "b";
  second.model = "provider:model";
  return session;
}

TEST_CASE("a session is read as it was made, with its searches in order") {
  const TemporaryFolder folder;
  SessionStore store(folder.file());
  const RowId id = store.create(two_searches());
  CHECK(store.all() == std::vector{id});
  const Session read = store.read(id);
  CHECK(read.name == "night");
  CHECK(read.folder == "/data");
  CHECK(read.budgets == Json({{"minutes", 5}}));
  CHECK(read.status == "queued");
  CHECK_FALSE(read.exit_code);
  REQUIRE(read.runs.size() == 2);
  CHECK(read.runs[0].name == "a");
  CHECK(read.runs[0].priority == 2);
  CHECK(read.runs[0].share == 0.5);
  CHECK(read.runs[0].arguments == std::vector<std::string>{"--algorithm", "x"});
  CHECK(read.runs[0].model.empty());
  CHECK(read.runs[1].model == "provider:model");
  CHECK_FALSE(read.runs[0].first_points);
  CHECK_FALSE(read.runs[0].search);
  CHECK(read.runs[0].budgets.is_null());
  CHECK_THROWS_WITH(store.read(id + 1), Catch::Contains("there is no session"));
}

TEST_CASE("the figures of a search, what it was given and how it ended are those of its row alone") {
  const TemporaryFolder folder;
  SessionStore store(folder.file());
  const RowId id = store.create(two_searches());
  SessionSearch run = store.read(id).runs[1];
  run.first_points = Json::array({1});
  run.budgets = {{"evaluations", 3}};
  run.stats.limit_ns = 7;
  store.begin_run(run);
  SessionSearchStats stats;
  stats.evaluations = 9;
  stats.verified = 8;
  stats.in_flight = 1;
  stats.tokens = 5;
  stats.cost_usd = 0.5;
  stats.best_ns = 100;
  stats.baseline_ns = 200;
  stats.baseline = "naive";
  stats.spent_ms = 60;
  store.note_stats(id, run.id, stats);
  SessionSearch read = store.read(id).runs[1];
  CHECK(read.state == "running");
  CHECK(read.first_points == Json::array({1}));
  CHECK(read.budgets == run.budgets);
  CHECK(read.stats.limit_ns == 7);
  CHECK(read.stats.evaluations == 9);
  CHECK(read.stats.verified == 8);
  CHECK(read.stats.in_flight == 1);
  CHECK(read.stats.tokens == 5);
  CHECK(read.stats.cost_usd == 0.5);
  CHECK(read.stats.best_ns == 100);
  CHECK(read.stats.baseline_ns == 200);
  CHECK(read.stats.baseline == "naive");
  CHECK(read.stats.spent_ms == 60);
  read.state = "failed";
  read.reason = "no device";
  read.exit_code = 5;
  store.end_run(read, false);
  read = store.read(id).runs[1];
  CHECK(read.state == "failed");
  CHECK(read.reason == "no device");
  CHECK(read.exit_code == 5);
  CHECK(read.stats.in_flight == 0);
  CHECK(store.read(id).runs[0].state == "queued");
  CHECK(store.read(id).runs[0].stats.evaluations == 0);
}

TEST_CASE("what a search is given in rounds is kept in their order, and queues it") {
  const TemporaryFolder folder;
  SessionStore store(folder.file());
  const RowId id = store.create(two_searches());
  SessionSearch run = store.read(id).runs[1];
  CHECK(run.rounds.empty());
  run.state = "paused";
  store.end_run(run, false);
  store.add_round(run,
                  {.number = 3, .evaluations = 40, .minutes = {}, .closes = true, .best_ns = 5, .why = "b"});
  store.add_round(run, {.number = 1, .evaluations = {}, .minutes = 2.5, .best_ns = {}, .why = "a"});
  run = store.read(id).runs[1];
  CHECK(run.state == "queued");
  REQUIRE(run.rounds.size() == 2);
  CHECK(run.rounds[0].minutes == 2.5);
  CHECK_FALSE(run.rounds[0].evaluations);
  CHECK_FALSE(run.rounds[0].closes);
  CHECK_FALSE(run.rounds[0].best_ns);
  CHECK(run.rounds[1].evaluations == 40);
  CHECK(run.rounds[1].closes);
  CHECK(run.rounds[1].best_ns == 5);
  CHECK(run.rounds[1].why == "b");
  CHECK(store.read(id).runs[0].rounds.empty());
}

TEST_CASE("a search of a session that asked a model without a price has costs that are not known") {
  const TemporaryFolder folder;
  SessionStore store(folder.file());
  const RowId id = store.create(two_searches());
  const RowId run = store.read(id).runs[1].id;
  const auto searches = open_store(folder.file());
  const Run search(*searches);
  const auto ask = [&](std::optional<double> cost_usd) {
    const RowId call = searches->begin_llm_call({.search = search.search,
                                                 .model = "provider:model",
                                                 .arm = "improve",
                                                 .credited_arm = "improve",
                                                 .prompt_version = "1",
                                                 .bottleneck = "",
                                                 .request = Json::object()});
    LlmReply reply;
    reply.usage.input_tokens = 10;
    reply.cost_usd = cost_usd;
    searches->end_llm_call(call, reply, 1);
  };
  const auto shown = [&](const char* name, const char* of = "cost_usd") {
    const auto queries = named_queries({});
    const NamedQuery& named = *std::ranges::find(queries, name, &NamedQuery::name);
    const Table table = query(folder.file(), named.sql, 0, testing::kPatience, query_values(named, {}));
    const auto column = std::ranges::find(table.columns, of) - table.columns.begin();
    REQUIRE(table.rows.size() == 1);
    return table.rows[0][static_cast<std::size_t>(column)];
  };
  Connection(folder.file(), OpenMode::create)
      .execute("UPDATE session_searches SET tokens = 10, cost_usd = 0.5, search_id = " +
               std::to_string(search.search) + " WHERE id = " + std::to_string(run));
  ask(0.5);
  CHECK(store.read(id).runs[1].stats.price_known);
  for (const char* name : {"sessions", "spend", "arms"}) CHECK(shown(name) == Cell(0.5));
  ask(std::nullopt);  // a part of the sums has no price
  for (const char* name : {"sessions", "spend", "arms"})
    CHECK(std::holds_alternative<std::monostate>(shown(name)));
  for (const char* name : {"spend", "arms"}) {
    CHECK(shown(name, "priced_usd") == Cell(0.5));
    CHECK(shown(name, "unpriced_calls") == Cell(std::int64_t{1}));
  }
  CHECK_FALSE(store.read(id).runs[1].stats.price_known);
  Connection(folder.file(), OpenMode::create).execute("UPDATE llm_calls SET cost_usd = NULL");
  CHECK_FALSE(store.read(id).runs[1].stats.price_known);
  for (const char* name : {"sessions", "spend", "arms"})
    CHECK(std::holds_alternative<std::monostate>(shown(name)));
}

TEST_CASE("a session that ended goes on as if no one had asked it to stop") {
  const TemporaryFolder folder;
  SessionStore store(folder.file());
  const RowId id = store.create(two_searches());
  store.begin(id);
  CHECK(store.read(id).status == "running");
  CHECK_FALSE(store.stop_requested(id));
  store.request_stop(id);
  CHECK(store.stop_requested(id));
  store.end(id, "stopped", "asked to", 130);
  const Session ended = store.read(id);
  CHECK(ended.status == "stopped");
  CHECK(ended.reason == "asked to");
  CHECK(ended.exit_code == 130);
  CHECK_FALSE(ended.ended_at.empty());
  store.queue(id);
  const Session queued = store.read(id);
  CHECK(queued.status == "queued");
  CHECK(queued.ended_at.empty());
  CHECK_FALSE(queued.exit_code);
  CHECK_FALSE(store.stop_requested(id));
}

/// A session whose second search has begun, with an answered question and one that is open.
struct Waiting {
  Waiting() : store(folder.file()), id(store.create(two_searches())), searches(open_store(folder.file())) {
    execute(folder.file(), "UPDATE session_searches SET state = 'suspended', search_id = " +
                               std::to_string(search.search) + " WHERE name = 'b'");
    searches->end_llm_call(ask("mailbox:/old/box"), {}, 1);
    static_cast<void>(ask("mailbox:/old/box"));
    searches->end_search(search.search, "suspended", "answers are awaited", {});
  }
  RowId ask(const std::string& model) {
    return searches->begin_llm_call({.search = search.search,
                                     .model = model,
                                     .arm = "improve",
                                     .credited_arm = "improve",
                                     .prompt_version = "1",
                                     .bottleneck = "",
                                     .request = Json::object()});
  }

  TemporaryFolder folder;
  SessionStore store;
  RowId id;
  std::unique_ptr<VariantStore> searches;
  Run search{*searches};
};

TEST_CASE("a search that nobody goes on with waits for no answer, and its questions are withdrawn") {
  Waiting waiting;
  SessionSearch run = waiting.store.read(waiting.id).runs[1];
  run.state = "suspended";
  waiting.store.end_run(run, false);
  CHECK(text(waiting.folder.file(), "SELECT status FROM searches") == "suspended");
  run.state = "skipped";
  run.reason = "given up";
  waiting.store.end_run(run, true);
  CHECK(text(waiting.folder.file(), "SELECT status || ': ' || reason FROM searches") == "stopped: given up");
  CHECK(text(waiting.folder.file(), "SELECT group_concat(status || ' ' || message, ',') FROM llm_calls") ==
        "ok ,withdrawn given up");
}

TEST_CASE("what a search keeps of a mailbox has the name of the place to which it was moved") {
  Waiting waiting;
  Session session = waiting.store.read(waiting.id);
  session.folder = "/new";
  waiting.store.move(session,
                     {{.search = waiting.search.search + 1, .before = "mailbox:/old/box", .now = "no"},
                      {.search = waiting.search.search, .before = "mailbox:/old", .now = "no"}});
  CHECK(waiting.store.calls(waiting.search.search).at(1).model == "mailbox:/old/box");
  waiting.store.move(
      session, {{.search = waiting.search.search, .before = "mailbox:/old/box", .now = "mailbox:/new/box"}});
  CHECK(waiting.store.read(waiting.id).folder == "/new");
  for (const JournalCall& call : waiting.store.calls(waiting.search.search))
    CHECK(call.model == "mailbox:/new/box");
}

TEST_CASE("a question to a coding agent that was cancelled is asked again with what is known of it") {
  Waiting waiting;
  for (const char* model : {"provider:model", "agent:a"}) {
    LlmReply stopped;
    stopped.failure = LlmFailure{LlmFault::cancelled, "the run was stopped"};
    stopped.cost_usd = 2;
    waiting.searches->end_llm_call(waiting.ask(model), stopped, 1);
  }
  const auto calls = waiting.store.calls(waiting.search.search);
  REQUIRE(calls.size() == 3);
  CHECK(calls[2].model == "agent:a");
  CHECK_FALSE(calls[2].reply);
  CHECK(calls[2].spent_usd == 2);
}

TEST_CASE("a mailbox may be moved to where another one was") {
  Waiting waiting;
  static_cast<void>(waiting.ask("mailbox:/old/a/box"));
  const Session session = waiting.store.read(waiting.id);
  const RowId search = waiting.search.search;
  waiting.store.move(session,
                     {{.search = search, .before = "mailbox:/old/box", .now = "mailbox:/old/a/box"},
                      {.search = search, .before = "mailbox:/old/a/box", .now = "mailbox:/old/a/a/box"}});
  CHECK(text(waiting.folder.file(),
             "SELECT group_concat(model, ' ') FROM (SELECT model FROM llm_calls ORDER "
             "BY id)") == "mailbox:/old/a/box mailbox:/old/a/box mailbox:/old/a/a/box");
}

}  // namespace
}  // namespace ak::db::test
