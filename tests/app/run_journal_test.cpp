// SPDX-License-Identifier: Apache-2.0
// A search on a pool that goes on where another process of its session ended.
#include "app/search/run_journal.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>

#include "core/error.h"
#include "core/text/json.h"
#include "tests/agent/virtual_world.h"

namespace ak::app {
namespace {

using agent::test::VectorStore;
using agent::test::VirtualClock;
using agent::test::VirtualDevice;

/// Keeps the journal, too; what is not committed as a whole is not committed.
class JournalKeeper final : public VectorStore {
 public:
  StoredEvaluation commit(const EvaluationRecord& record) override {
    const StoredEvaluation stored = VectorStore::commit(record);
    const JournalRecord& kept = *record.journal;
    db::JournalEntry& entry = entries.emplace_back();
    entry.variant = stored.variant;
    entry.evaluation = stored.evaluation;
    entry.iteration = record.iteration;
    entry.status = to_string(record.result->outcome.status);
    entry.key = kept.key;
    if (kept.result) entry.result = parse_json(*kept.result);
    return stored;
  }
  void together(const std::function<void()>& commits) override {
    const std::size_t before = rows.size();
    try {
      VectorStore::together(commits);
    } catch (const Error&) {
      rows.resize(before);
      entries.resize(before);
      throw;
    }
  }
  std::vector<db::JournalEntry> entries;
};

/// A search on eight devices, of whose evaluations several end at once.
struct PooledSearch {
  explicit PooledSearch(const std::string& strategy) {
    options.problem = agent::test::make_problem();
    options.templates = {agent::test::grid_template("grid", 10, 10)};
    options.strategy = strategy;
    options.search.proposer = "search";
    options.budgets.max_evaluations = 60;
    options.confirm = false;
  }
  /// Runs it in a process that knows this. The number of evaluations that were begun on a device.
  int run(std::vector<db::JournalEntry> known) {
    RunJournal journal(std::move(known), {});
    options.replaying = [&] { return journal.replaying(); };
    VirtualClock clock;
    auto device = std::make_unique<VirtualDevice>(clock, agent::test::on_surface);
    const VirtualDevice& watched = *device;
    device->capabilities_.executes = true;
    device->capabilities_.useful_in_flight = 8;
    device->places.assign(8, {.place = "cpu", .own = true, .doing = "waits"});
    device->duration = [](const EvaluationRequest& request) {
      const TunableValues& point = request.candidate.tunables;
      return std::chrono::milliseconds(1 + (37 * point.at("X") + 11 * point.at("Y")) % 3);
    };
    const auto evaluator = journal.around(std::move(device));
    const auto kept = journal.around(store);
    try {
      static_cast<void>(agent::run_loop(options, *evaluator, *kept, clock));
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Catch::Contains("disk full"));
    }
    return watched.submitted;
  }
  [[nodiscard]] std::set<TunableValues> points() const {
    std::set<TunableValues> points;
    for (const VectorStore::Row& row : store.rows) points.insert(row.point);
    return points;
  }
  agent::LoopOptions options;
  JournalKeeper store;
};

TEST_CASE("a search on a pool that is resumed repeats nothing, and asks for all that was committed") {
  for (const char* strategy : {"annealing", "genetic", "local-search", "portfolio"}) {
    CAPTURE(strategy);
    PooledSearch search(strategy);
    search.store.throws_at_row = 41;
    CHECK(search.run({}) > 41);
    CHECK(search.store.most_together > 1);
    const int before = static_cast<int>(search.store.rows.size());
    CHECK(before > 30);
    search.store.throws_at_row.reset();
    CHECK(search.run(search.store.entries) == 60 - before);
    CHECK(search.store.rows.size() == 60);
    CHECK(search.points().size() == 60);
  }
}

class SilentClient final : public LlmClient {
 public:
  LlmReply ask(const LlmRequest&, const std::atomic<bool>*) override { return {}; }
};

/// The call that the first question to `asked` is, in a search that asks `models` and whose earlier process asked
/// `before` as call 101.
RowId call_of(const std::string& before, const std::vector<std::string>& models, const std::string& asked) {
  RunJournal journal({}, {{.id = 101, .model = before, .request = "{}", .reply = {}}});
  for (const std::string& model : models)
    static_cast<void>(journal.around(std::make_shared<SilentClient>(), model));
  VectorStore store;
  return journal.around(store)->begin_llm_call({.search = 1,
                                                .model = asked,
                                                .arm = "",
                                                .credited_arm = "",
                                                .prompt_version = "",
                                                .bottleneck = "",
                                                .request = {}});
}

TEST_CASE(
    "a question for which kernels were tried is that question, whatever is asked now, and has its costs") {
  std::vector<db::JournalCall> calls{{.id = 101, .model = "agent:a", .request = "other", .reply = {}},
                                     {.id = 102, .model = "agent:a", .request = "other", .reply = {}}};
  calls[1].trials.push_back({.source = "kernel", .tunables = {}});
  calls[1].spent_usd = 3;
  RunJournal journal({}, std::move(calls));
  static_cast<void>(journal.around(std::make_shared<SilentClient>(), "agent:a", 4));
  CHECK(journal.spent_usd() == 7);  // nobody knows what the first has cost
  VectorStore store;
  const auto kept = journal.around(store);
  const RowId call = kept->begin_llm_call({.search = 1,
                                           .model = "agent:a",
                                           .arm = "",
                                           .credited_arm = "",
                                           .prompt_version = "",
                                           .bottleneck = "",
                                           .request = {}});
  CHECK(call == 102);
  kept->end_llm_call(call, {.text = "", .cost_usd = 1}, 1);
  CHECK(store.replies.at(0).cost_usd == 4);
}

TEST_CASE("a question that waits in a mailbox is that mailbox's, also of two with the same last name") {
  const std::string a = "mailbox:/s/a/box", b = "mailbox:/s/b/box";
  CHECK(call_of(a, {a, b}, a) == 101);
  CHECK(call_of(a, {a, b}, b) == 1);
  CHECK(call_of(b, {a, b}, b) == 101);
  CHECK(call_of("mailbox:/old/box", {"mailbox:/new/box"}, "mailbox:/new/box") == 101);  // of a configuration
  CHECK(call_of("mailbox:/old/box", {a, b}, a) == 1);  // which one it was is not known
  CHECK(call_of("mailbox:/old/box", {"mailbox:/new/other"}, "mailbox:/new/other") == 1);
}

}  // namespace
}  // namespace ak::app
