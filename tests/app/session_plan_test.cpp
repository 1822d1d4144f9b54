// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "app/search/cpu_fallback.h"
#include "app/search/run_journal.h"
#include "app/session/session_plan.h"
#include "app/session/session_status.h"

using namespace ak;
using namespace ak::app;

namespace {

db::SessionSearch search(const std::string& name, double share, const std::string& model = "") {
  db::SessionSearch run;
  run.name = name;
  run.share = share;
  run.model = model;
  return run;
}

double minutes(const agent::Budgets& budgets) {
  return std::chrono::duration<double, std::ratio<60>>(*budgets.max_wall).count();
}

TEST_CASE("an option is taken out of arguments in every way of writing it, and its last value counts") {
  Arguments arguments{"--seed", "1", "--db=a.db", "-o", "x", "-oy", "--seeds=3", "--seed=2"};
  CHECK(has_flag(arguments, "--seed"));
  CHECK(take_option(arguments, "--seed") == "2");
  CHECK(take_option(arguments, "-o") == "y");
  CHECK(take_option(arguments, "--array").empty());
  CHECK(arguments == Arguments{"--db=a.db", "--seeds=3"});
  CHECK_FALSE(has_flag(arguments, "--seed"));
}

TEST_CASE("time is shared by weight, and what a search leaves goes to those behind it") {
  db::Session night;
  night.runs = {search("a", 2), search("b", 1), search("c", 1)};
  const SessionBudgets budgets{.max_minutes = 80, .max_cost_usd = {}, .max_tokens = {}};
  CHECK(minutes(budgets_of(night, night.runs[0], budgets, {})) == Approx(40));
  night.runs[0].state = "finished";
  night.runs[0].stats.spent_ms = 10 * 60'000;
  CHECK(minutes(budgets_of(night, night.runs[1], budgets, {})) == Approx(35));
  agent::Budgets own;
  own.max_wall = std::chrono::minutes(5);
  CHECK(minutes(budgets_of(night, night.runs[1], budgets, own)) == Approx(5));
  night.runs[1].state = "skipped";
  CHECK(minutes(budgets_of(night, night.runs[2], budgets, {})) == Approx(70));
}

TEST_CASE("a session says what it cost, and of what is not priced that its price is unknown") {
  db::Session night;
  night.budgets = Json::object();
  for (const char* name : {"priced", "free", "unpriced"}) night.runs.push_back(search(name, 1, "x:model"));
  for (db::SessionSearch& run : night.runs) run.stats.tokens = 100;
  night.runs[0].stats.cost_usd = 0.5;
  night.runs[2].stats.price_known = false;
  const Json status = status_json(night, false);
  CHECK(status["searches"][0]["cost_usd"] == 0.5);
  CHECK(status["searches"][1]["cost_usd"] == 0.0);
  CHECK(status["searches"][2]["cost_usd"].is_null());
  CHECK(status["cost_usd"].is_null());
  const std::string text = status_text(night, false);
  CHECK_THAT(text, Catch::Contains("300 tokens, 0.5 US dollars and tokens of unknown price"));
  CHECK_THAT(text, Catch::Contains("100 tokens, 0 US dollars\n"));
  CHECK_THAT(text, Catch::Contains("100 tokens, price unknown\n"));
}

TEST_CASE("tokens and money are shared by those that ask a model") {
  db::Session night;
  night.runs = {search("a", 1), search("b", 1, "x:y"), search("c", 3, "x:y")};
  const SessionBudgets budgets{.max_minutes = {}, .max_cost_usd = 8, .max_tokens = 1000};
  const agent::Budgets none = budgets_of(night, night.runs[0], budgets, {});
  CHECK_FALSE(none.max_tokens);
  CHECK_FALSE(none.max_cost_usd);
  CHECK(budgets_of(night, night.runs[1], budgets, {}).max_tokens == 250);
  CHECK(*budgets_of(night, night.runs[2], budgets, {}).max_cost_usd == Approx(6));
  night.runs[1].stats.tokens = 1500;
  CHECK(budgets_of(night, night.runs[2], budgets, {}).max_tokens == 0);
}

TEST_CASE("mailboxes in the folder of a session move with it, each by its own name") {
  db::Session before;
  before.folder = "/old";
  before.runs = {search("a", 1), search("b", 1)};
  before.runs[0].search = 7;
  before.runs[0].arguments = {"--algorithm=x",      "--model=mailbox:/old/a/box", "--model",
                              "mailbox:/old/b/box", "--model=mailbox:/older/box", "--output=/old/k.cu"};
  before.runs[1].arguments = {"--model=mailbox:/old/a/box"};  // it has not begun
  const db::Session now = moved(before, "/new");
  CHECK(now.runs[0].arguments[3] == "mailbox:/new/b/box");
  const auto renamed = moved_mailboxes(before, now);
  REQUIRE(renamed.size() == 2);
  CHECK(renamed[0].search == 7);
  CHECK(renamed[0].before == "mailbox:/old/a/box");
  CHECK(renamed[0].now == "mailbox:/new/a/box");
  CHECK(renamed[1].now == "mailbox:/new/b/box");
}

TEST_CASE("a result in the journal is the result that was kept") {
  EvaluationResult result;
  result.outcome = {
      .status = Status::incorrect, .stage = StageId::check, .message = "off", .diagnostics = {}};
  result.outcome.gate = Gate::tolerance;
  result.outcome.diagnostics.push_back({.severity = "error", .message = "m", .line = 3, .column = 4});
  BuildResult& build = result.build.emplace();
  build.outcome.status = Status::ok;
  build.key = "k";
  build.cubin = "not kept";
  KernelFacts& kernel = build.kernels.emplace_back();
  kernel.expression = "f<1>";
  kernel.lowered_name = "_Z1f";
  kernel.registers = 17;
  result.occupancy = Occupancy{.blocks_per_sm = 3, .ratio = 0.1, .limiter = "registers"};
  result.shared_bytes = 4096;
  result.score_ns = 1.0 / 3;
  result.program = "p";
  result.stage_times.total_ms = 2.5;
  Measurement& m = result.measurements.emplace_back();
  m.workload = "w";
  m.samples_ns = {1, 2, 3};
  m.median_ns = 0.1 + 0.2;
  m.counts = {{"global/sectors", 7}};
  m.line_counts[5] = {{"global/sectors", 7}};
  result.checks.push_back({.workload = "w", .distribution = "normal", .tensor = "c", .max_error = 1e-300});
  const Json json = result_to_json(result);
  const EvaluationResult again = result_from_json(parse_json(json.dump()));
  CHECK(result_to_json(again) == json);
  CHECK(again.score_ns == result.score_ns);
  CHECK(again.measurements[0].median_ns == m.median_ns);
  CHECK(again.measurements[0].line_counts == m.line_counts);
  CHECK(again.outcome.gate == Gate::tolerance);
  CHECK(again.build->kernels[0].registers == 17);
  CHECK(again.build->cubin.empty());
}

TEST_CASE("the CPU device in the place of GPUs has what is left of a search's budgets, and not all again") {
  SearchRun run;
  CHECK(take_spent(run));  // without limits
  run.budgets.max_evaluations = 10;
  run.budgets.max_tokens = 1'000;
  run.budgets.max_cost_usd = 2;
  run.budgets.max_wall = std::chrono::milliseconds(5'000);
  run.spent_before = std::chrono::milliseconds(1'500);
  run.spent.evaluated = 4;
  run.spent.tokens = 300;
  run.spent.cost_usd = 0.5;
  run.spent.elapsed_s = 1.5;
  CHECK(take_spent(run));
  CHECK(run.budgets.max_evaluations == 6);
  CHECK(run.budgets.max_tokens == 700);
  CHECK(run.budgets.max_cost_usd == 1.5);
  CHECK(run.budgets.max_wall == std::chrono::milliseconds(3'500));
  CHECK(run.spent_before == std::chrono::milliseconds(0));  // the limit has it
  run.spent.evaluated = 6;
  CHECK_FALSE(take_spent(run));
}

}  // namespace
