// SPDX-License-Identifier: Apache-2.0
#include "db/store/llm_call_rows.h"

#include <catch2/catch.hpp>

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

}  // namespace
}  // namespace ak::db::test
