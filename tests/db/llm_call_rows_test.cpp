// SPDX-License-Identifier: Apache-2.0
#include "db/store/llm_call_rows.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "db/store/journal_rows.h"
#include "db/store/search_rows.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

struct Asking {
  RowId ask(const std::string& question, const std::string& bottleneck = "") {
    return put_llm_call(file.connection, {.search = search,
                                          .model = "provider:model",
                                          .arm = "improve",
                                          .credited_arm = "explore",
                                          .prompt_version = "v1",
                                          .bottleneck = bottleneck,
                                          .request = {{"question", question}}});
  }

  PreparedFile file;
  RowId search = begin_search_row(
      file.connection, {.command = "", .proposer = "llm", .strategy = "", .budgets = {}, .version = "1"},
      put_search_parts(file.connection, vector_add(), device(), {.major = 9}, "1"));
};

TEST_CASE("a call is sent before it has an answer, and the answer is read as it came") {
  Asking asking;
  const RowId call = asking.ask("faster?"), unanswered = asking.ask("why?", "dram_bound");
  end_llm_call(asking.file.connection, call,
               {.text = "yes",
                .stop = LlmStop::end,
                .usage = {.input_tokens = 10, .cached_tokens = 4, .output_tokens = 5, .reported = true},
                .cost_usd = 0.25,
                .request_id = "r1",
                .raw = "bytes",
                .note = "a note",
                .attempts = 2},
               1500);
  const auto calls = journal_calls(asking.file.connection, asking.search);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].id == call);
  CHECK(calls[0].model == "provider:model");
  CHECK(calls[0].request == R"({"question":"faster?"})");
  REQUIRE(calls[0].reply);
  CHECK(calls[0].reply->text == "yes");
  CHECK(calls[0].reply->stop == LlmStop::end);
  CHECK(calls[0].reply->usage.input_tokens == 10);
  CHECK(calls[0].reply->usage.cached_tokens == 4);
  CHECK(calls[0].reply->usage.output_tokens == 5);
  CHECK(calls[0].reply->usage.reported);
  CHECK(calls[0].reply->cost_usd == 0.25);
  CHECK(calls[0].reply->request_id == "r1");
  CHECK(calls[0].reply->attempts == 2);
  CHECK(calls[0].reply->ok());
  CHECK(calls[1].id == unanswered);
  CHECK_FALSE(calls[1].reply);
  CHECK(asking.file.count("llm_calls WHERE raw = 'bytes' AND message = 'a note' AND latency_ms = 1500 AND "
                          "credited_arm = 'explore' AND bottleneck IS NULL AND status = 'ok'") == 1);
  CHECK(asking.file.count(
            "llm_calls WHERE status = 'sent' AND bottleneck = 'dram_bound' AND answer IS NULL") == 1);
}

TEST_CASE("a call that failed says how, and one that was cancelled is not in the journal") {
  Asking asking;
  const RowId failed = asking.ask("a"), cancelled = asking.ask("b");
  const auto fail_with = [&](RowId call, LlmFault fault) {
    end_llm_call(asking.file.connection, call, {.text = "", .failure = LlmFailure{fault, "no luck"}}, 1);
  };
  fail_with(failed, LlmFault::overloaded);
  fail_with(cancelled, LlmFault::cancelled);
  const auto calls = journal_calls(asking.file.connection, asking.search);
  REQUIRE(calls.size() == 1);
  REQUIRE(calls[0].reply->failure);
  CHECK(calls[0].reply->failure->fault == LlmFault::overloaded);
  CHECK(calls[0].reply->failure->message == "no luck");
  CHECK(asking.file.count("llm_calls WHERE stop IS NULL AND cost_usd IS NULL") == 2);
}

TEST_CASE("a reward belongs to its call alone") {
  Asking asking;
  const RowId call = asking.ask("a");
  asking.ask("b");
  reward_llm_call(asking.file.connection, call, 0.75);
  CHECK(asking.file.count("llm_calls WHERE reward = 0.75 AND id = " + std::to_string(call)) == 1);
  CHECK(asking.file.count("llm_calls WHERE reward IS NULL") == 1);
}

/// An evaluation of what a model expects `expected` of, over a parent that took 1,000,000 ns.
RowId commit_expecting(Run& run, int block, double expected, Status status, double median_ns,
                       std::optional<double> parent_ns = 1'000'000) {
  const Hypothesis hypothesis{.change = "change " + std::to_string(block),
                              .reason = "why",
                              .speedup = expected,
                              .parent_ns = parent_ns};
  const EvaluationRequest request = run.request(block);
  const EvaluationResult result = Run::result(status, median_ns);
  return run.store
      .commit({.search = run.search,
               .iteration = run.iteration++,
               .proposer = "provider:model",
               .arm = "improve",
               .parents = {1},
               .request = &request,
               .result = &result,
               .hypothesis = &hypothesis})
      .evaluation;
}

TEST_CASE("a hypothesis is stored next to what was measured, by the verdict that prompts show") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(1);
  int block = 1;
  for (const double expected : {0.5, 0.98, 1.0, 1.01, 1.3, 4.0}) {
    for (const double measured : {0.4, 0.9, 0.97, 0.99, 1.0, 1.019, 1.03, 1.2, 3.0}) {
      CAPTURE(expected, measured);
      const RowId evaluation = commit_expecting(run, ++block, expected, Status::ok, 1'000'000 / measured);
      const std::string row = " FROM hypothesis_results WHERE evaluation = " + std::to_string(evaluation);
      CHECK(real(folder.file(), "SELECT measured_speedup" + row) == Approx(measured));
      CHECK(text(folder.file(), "SELECT verdict" + row) ==
            verdict_on(expected, true, real(folder.file(), "SELECT measured_speedup" + row)));
    }
  }
  const RowId failed = commit_expecting(run, ++block, 2, Status::incorrect, 1);
  const RowId alone = commit_expecting(run, ++block, 2, Status::ok, 500'000, std::nullopt);
  const auto verdict = [&](RowId evaluation) {
    return text(folder.file(),
                "SELECT verdict || ' ' || (measured_speedup IS NULL) || ' of ' || parent FROM "
                "hypothesis_results WHERE evaluation = " +
                    std::to_string(evaluation));
  };
  CHECK(verdict(failed) == std::string(verdict_on(2, false, {})) + " 1 of 1");
  CHECK(verdict(alone) == std::string(verdict_on(2, true, {})) + " 1 of 1");
  CHECK(integer(folder.file(), "SELECT count(*) FROM hypotheses") == block - 1);
}

TEST_CASE("a model that promises too much is known by its expectations") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(1);
  static_cast<void>(commit_expecting(run, 2, 4, Status::ok, 1'000'000));  // 4 times, and 1 was it
  static_cast<void>(commit_expecting(run, 3, 1, Status::ok, 250'000));    // 1, and it was 4
  static_cast<void>(commit_expecting(run, 4, 2, Status::ok, 2'000'000));  // 2, and a half
  static_cast<void>(commit_expecting(run, 5, 2, Status::incorrect, 1));
  const auto expectation = [&](const std::string& column) {
    return real(folder.file(),
                "SELECT 1.0 * " + column + " FROM model_expectations WHERE model = 'provider:model'");
  };
  CHECK(expectation("hypotheses") == 4);
  CHECK(expectation("compared") == 3);
  CHECK(expectation("failed") == 1);
  CHECK(expectation("held") == 1);
  CHECK(expectation("refuted") == 2);
  CHECK(expectation("mean_expected") == Approx(2));             // of 4, 1 and 2
  CHECK(expectation("mean_measured") == Approx(std::cbrt(2)));  // of 1, 4 and 1/2
  CHECK(expectation("measured_over_expected") == Approx(std::cbrt(0.25)));
  CHECK(expectation("typical_factor") == Approx(4));
}

}  // namespace
}  // namespace ak::db::test
