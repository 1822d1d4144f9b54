// SPDX-License-Identifier: Apache-2.0
// What a report says of a recorded week, and of the same week with what went wrong in it.
#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "core/text/file.h"
#include "core/text/json.h"
#include "db/sqlite.h"
#include "serve/pages/report/copied_command.h"
#include "tests/support/sandbox.h"

namespace ak::pages {
namespace {

using testing::Sandbox;

/// The recorded week, brought to the present schema, after `change`.
struct RecordedWeek : Sandbox {
  explicit RecordedWeek(const std::string& change = "") {
    static const TemporaryFolderWithWeek recorded;
    std::filesystem::copy_file(recorded.file, folder / "ak.db");
    if (!change.empty())
      db::Connection((folder / "ak.db").string(), db::OpenMode::create).execute(change.c_str());
  }

  std::string text(const std::string& format) {
    const testing::ProgramResult result = run({"report", "--week", "2026-W47", "--format", format});
    CHECK(result.err.empty());
    return result.out;
  }
  /// A table of the report.
  Json rows(const std::string& section, const std::string& table) {
    if (document.is_null()) document = parse_json(text("json"));
    for (const Json& one : document["sections"])
      if (one["name"] == section) return one["tables"].at(table)["rows"];
    return nullptr;
  }
  Json document;

 private:
  struct TemporaryFolderWithWeek {
    TemporaryFolderWithWeek() {
      const std::string packed = AK_SOURCE_DIR "/experiments/results/2026-11-22_h200_week/week.db.xz";
      REQUIRE(testing::run_program({"/bin/sh", "-c", "xz -dc \"$0\" >\"$1\"", packed, file}, {}).exit_code ==
              0);
      Sandbox box;
      REQUIRE(box.run({"db", "upgrade", file}).exit_code == 0);
    }
    testing::TemporaryFolder folder;
    std::string file = (folder / "week.db").string();
  };
};

Json row_of(const Json& rows, const std::string& column, const std::string& value) {
  for (const Json& row : rows)
    if (row[column].is_string() && row[column].get<std::string>().find(value) != std::string::npos)
      return row;
  return nullptr;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("the week's tiles say how many kernels improved, by how much, and which did not") {
  RecordedWeek week;
  const Json tiles = week.rows("summary", "tiles");
  REQUIRE(tiles.size() == 6);
  CHECK(row_of(tiles, "label", "improved")["value"] == "7 of 8");
  const Json largest = row_of(tiles, "label", "largest");
  CHECK(largest["value"] == "8.34×");
  CHECK(largest["note"] ==
        "8.31 to 8.38, transpose_fp32 against the naive reference, r8192_c8192, r16384_c4096");
  const Json behind = row_of(tiles, "label", "slower");
  CHECK(behind["note"] == "gemm_bf16_ieee_row_row_no_bias_none");
  CHECK(behind["tone"] == "bad");
  CHECK(row_of(tiles, "label", "trust")["value"] == "held");
}

TEST_CASE(
    "speed-ups are against the strongest baseline, with an interval and the limit, and 0.8 is no success") {
  RecordedWeek week;
  const Json speedups = week.rows("summary", "speedups");
  REQUIRE(speedups.size() == 8);
  for (std::size_t i = 0; i < speedups.size(); ++i) {
    const Json& row = speedups[i];
    if (i > 0) CHECK(row["speedup"] <= speedups[i - 1]["speedup"]);
    CHECK(row["low"] < row["speedup"]);
    CHECK(row["speedup"] < row["high"]);
    CHECK(row["limit_speedup"] > row["high"]);
    CHECK(row["tone"] == (row["high"] < 1 ? "bad" : "good"));
  }
  const Json gemm = row_of(week.rows("summary", "losses"), "kernel", "gemm");
  CHECK(gemm["what"] == "is slower than cublaslt 13.1.0");
  CHECK(has(gemm["detail"], "0.80×"));
}

TEST_CASE("a card of each kernel has its history, what limits it and the gain that is left") {
  RecordedWeek week;
  const Json cards = week.rows("summary", "kernels");
  REQUIRE(cards.size() == 8);
  for (const Json& card : cards) {
    const Json history = parse_json(card["history"].get<std::string>());
    REQUIRE(history.size() >= 2);
    for (std::size_t i = 1; i < history.size(); ++i) CHECK(history[i] < history[i - 1]);
    CHECK(card["limited_by"].is_string());
    CHECK(has(card["gain_left"], "at most "));
    CHECK(has(card["90 % at"], "evaluation "));
  }
  const std::string html = week.text("html");
  CHECK(has(html, "<li class=\"card bad\"><h3>gemm_<wbr>bf16"));
  CHECK(has(html, "<svg class=\"spark\""));
}

TEST_CASE("each next step has a command and what it can gain") {
  RecordedWeek week;
  const Json steps = week.rows("plan", "steps");
  REQUIRE(steps.size() > 3);
  CHECK(has(steps[0]["step"], "catch up with cublaslt 13.1.0 on gemm"));
  CHECK(has(steps[0]["expected_gain"], "1.26× is known to be possible; at most "));
  CHECK(has(steps[0]["command"], "alphakernel generate --algorithm gemm --a_layout=row"));
  for (const Json& step : steps) CHECK(has(step["command"], "alphakernel "));
  CHECK(has(week.text("html"), "<span class=\"word\">--a_layout=row</span> <span class=\"word\">--"));
}

TEST_CASE("searches are folded by problem, and their progress is summed up") {
  RecordedWeek week;
  CHECK(
      has(week.text("html"), "<summary>softmax_bf16 on NVIDIA H200, sm_90a: 100 candidates, best 32.74 µs "));
  const Json measures = week.rows("experiments", "measures");
  std::set<std::string> drawn;
  for (const Json& point : week.rows("experiments", "progress")) {
    drawn.insert(point["problem"]);
    CHECK(point["since_name"] == "since the beginning (s)");
    CHECK(point["since"] < 60);
  }
  CHECK(drawn.size() == 8);  // kernels that were checked by hand take no place
  CHECK(row_of(measures, "measure", "90 %")["value"] == "4.5");
  CHECK(row_of(measures, "measure", "unseen")["value"] == "8 of 8");
}

TEST_CASE("what was learned is larger than the noise and no tautology") {
  RecordedWeek week;
  const Json insights = week.rows("learned", "insights");
  REQUIRE(insights.size() > 5);
  for (const Json& row : insights) {
    CHECK_FALSE(has(row["finding"], "1 of 1 problems"));
    CHECK_FALSE(has(row["finding"], "hardly matters"));
    CHECK(row["as_fast"] != "1.01×");
  }
}

TEST_CASE("failures are grouped by cause") {
  RecordedWeek week;
  const Json groups = week.rows("failures", "groups");
  REQUIRE(groups.size() == 2);
  CHECK(groups[0]["cause"] == "wrong results");
  CHECK(groups[0]["candidates"] == 3);
}

TEST_CASE("the short form is a few lines of plain text, and what is slower comes first") {
  RecordedWeek week;
  const std::string brief = week.text("brief");
  CHECK(has(brief,
            "AlphaKernel, week 2026-W47: 2026-11-16 to 2026-11-22\n13 searches on 10 problems, 4.25 min, no "
            "model asked.\n"));
  CHECK(has(brief,
            "7 of 8 kernels are faster than their strongest baseline:\n"
            "• gemm_bf16_ieee_row_row_no_bias_none: 0.80× (0.79 to 0.80) against cublaslt 13.1.0, SLOWER\n• "
            "transpose_fp32: 8.34×"));
  CHECK(std::count(brief.begin(), brief.end(), '\n') < 16);
  CHECK(brief.find_first_of("\\<>`@") == std::string::npos);
}

TEST_CASE("a week of losses only shows no success") {
  RecordedWeek week(
      "UPDATE measurements SET median_ns = median_ns / 20, ci_low_ns = ci_low_ns / 20, ci_high_ns = "
      "ci_high_ns / 20 "
      "WHERE role = 'baseline'");
  const Json tiles = week.rows("summary", "tiles");
  CHECK(row_of(tiles, "label", "improved")["value"] == "0 of 8");
  CHECK(row_of(tiles, "label", "improved")["tone"] == "bad");
  CHECK(row_of(tiles, "label", "largest").is_null());
  for (const Json& card : week.rows("summary", "kernels")) CHECK(card["tone"] == "bad");
  CHECK(week.rows("summary", "losses").size() == 8);
  CHECK(has(week.text("brief"), "0 of 8 kernels"));
}

TEST_CASE("a kernel worse than the best from before is a regression") {
  // The search for rmsnorm becomes an earlier one for layernorm, whose kernel was faster.
  RecordedWeek week(
      "UPDATE searches SET (definition_id, workloads_hash) = (SELECT definition_id, workloads_hash FROM "
      "searches WHERE id = 3), "
      "started_at = '2026-11-01T00:00:00.000Z' WHERE id = 2");
  const Json loss = row_of(week.rows("summary", "losses"), "kernel", "layernorm");
  CHECK(loss["what"] == "is a regression");
  CHECK(has(loss["detail"], "search 2 had reached 66.69 µs, 1.14× as fast"));
  CHECK(row_of(week.rows("summary", "tiles"), "label", "improved")["value"] == "5 of 7");
  CHECK(row_of(week.rows("plan", "steps"), "step", "win back the best of layernorm")["expected_gain"] ==
        "1.14×, as search 2 had it");
  CHECK(row_of(week.rows("experiments", "measures"), "measure", "monotonic")["value"] == "0 of 1");
  CHECK(has(week.text("brief"), "REGRESSION: worse than search 2"));
}

TEST_CASE("searches that were stopped or interrupted block, and the plan resumes their session") {
  RecordedWeek week(
      "UPDATE searches SET status = 'stopped', reason = 'interrupted' WHERE id = 5;"
      "UPDATE searches SET status = 'interrupted', reason = 'its process is gone' WHERE id = 4;"
      "UPDATE session_searches SET state = 'stopped', reason = 'interrupted' WHERE search_id = 5;"
      "UPDATE sessions SET status = 'stopped', reason = 'Ctrl-C'");
  const Json blockers = week.rows("blockers", "searches");
  REQUIRE(blockers.size() == 2);
  CHECK(row_of(blockers, "status", "stopped")["search"] == 5);
  CHECK(row_of(blockers, "status", "interrupted")["search"] == 4);
  CHECK(week.rows("blockers", "queues")[0]["status"] == "stopped");
  CHECK(week.rows("plan", "steps")[0]["command"] == "alphakernel session resume 1");
  CHECK(has(week.text("brief"), "! 2 searches did not end well"));
}

TEST_CASE("a command that a database brings along is offered only when a shell takes it as it is") {
  CHECK(search_command("gemm", R"({"arch": "sm_90a", "bias": 0, "dtype": "bfloat16"})") ==
        "alphakernel generate --algorithm gemm --arch=sm_90a --bias=0 --dtype=bfloat16");
  for (const char* name : {"a; rm -rf ~", "$(x)", "", "--config=x", "a b", "a\nb", "`x`", "ä"})
    CHECK(search_command(name, "{}").empty());
  for (const char* flags : {R"({"a": "x; y"})", R"({"a": "$HOME"})", R"({"a": ["x"]})", R"({"a": null})",
                            R"({"-a": 1})", R"({"a b": 1})", "[]", "no JSON"})
    CHECK(search_command("gemm", flags).empty());
}

TEST_CASE("names from elsewhere neither command a shell nor call a chat") {
  RecordedWeek week(
      "UPDATE definitions SET name = name || '<!channel> @here `x` <http://192.0.2.1|y>', params = "
      "json_object('dtype', '$(touch x)');"
      "UPDATE searches SET arch = 'sm_90a; touch x'");
  for (const Json& step : week.rows("plan", "steps")) CHECK(step["command"].is_null());
  CHECK(week.text("brief").find_first_of("<>`@") == std::string::npos);
}

}  // namespace
}  // namespace ak::pages
