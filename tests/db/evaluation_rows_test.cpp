// SPDX-License-Identifier: Apache-2.0
#include "db/store/evaluation_rows.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "db/read/evaluation_parts.h"
#include "db/rows.h"
#include "db/store/journal_rows.h"
#include "db/store/stored_values.h"
#include "db/store/variant_rows.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

/// An evaluation with its own row; its parts are added by the tests.
struct Evaluated {
  Evaluated() {
    record.search = begin_search_row(
        file.connection,
        {.command = "", .proposer = "search", .strategy = "random", .budgets = {}, .version = ""}, search);
    record.request = &request;
    record.result = &result;
    rows.variant = put_variant(file.connection, search.definition, request.candidate, Json::object());
    put_evaluation(rows, put_proposal(file.connection, record, rows.variant), std::nullopt);
  }

  PreparedFile file;
  OpenSearch search = put_search_parts(file.connection, vector_add(), device(),
                                       {.major = 9, .minor = 0, .feature = 'a'}, "1");
  std::unique_ptr<VariantStore> elsewhere = open_store(file.folder.path() / "requests.db");
  Run run{*elsewhere};
  EvaluationRequest request = run.request(128);
  EvaluationResult result = Run::result(Status::ok, 1000);
  EvaluationRecord record;
  EvaluationRows rows{file.connection, record, search};
};

TEST_CASE("measurements are read as they were stored") {
  Evaluated e;
  Measurement& m = e.result.measurements[0];
  m.method = "batch";
  m.cold = false;
  m.truncated = true;
  m.launches_per_sample = 7;
  m.throttled = {1, 2};
  m.sm_clock_mhz = 1980;
  m.temperature_c = 71;
  m.throttle_reasons = "power";
  m.ci_low_ns = 990;
  m.ci_high_ns = 1010;
  put_measurements(e.rows);
  const auto read = select_measurements(e.file.connection, e.rows.evaluation);
  REQUIRE(read.size() == e.result.measurements.size());
  CHECK(read[0].workload == m.workload);
  CHECK(read[0].role == m.role);
  CHECK(read[0].method == m.method);
  CHECK(read[0].cold == m.cold);
  CHECK(read[0].truncated == m.truncated);
  CHECK(read[0].launches_per_sample == m.launches_per_sample);
  CHECK(read[0].samples_ns == m.samples_ns);
  CHECK(read[0].throttled == m.throttled);
  CHECK(read[0].sm_clock_mhz == m.sm_clock_mhz);
  CHECK(read[0].memory_clock_mhz == 0);
  CHECK(read[0].temperature_c == m.temperature_c);
  CHECK(read[0].throttle_reasons == m.throttle_reasons);
  CHECK(read[0].median_ns == m.median_ns);
  CHECK(read[0].ci_low_ns == m.ci_low_ns);
  CHECK(read[0].ci_high_ns == m.ci_high_ns);
  CHECK(read[1].role == MeasurementRole::baseline);
  CHECK(read[1].label == "naive");
  CHECK(e.file.count("measurements WHERE memory_clock_mhz IS NULL AND power_w IS NULL") == 2);
}

TEST_CASE("checks are read as they were stored, with the shapes that they are of") {
  Evaluated e;
  CheckRecord& check = e.result.checks[1];
  check.passed = false;
  check.nonfinite_mismatches = 3;
  check.worst_index = 0;
  put_checks(e.rows);
  const auto read = select_checks(e.file.connection, e.rows.evaluation);
  REQUIRE(read.size() == 2);
  CHECK(read[0].workload == "small");
  CHECK(read[0].passed);
  CHECK_FALSE(read[1].passed);
  CHECK(read[1].distribution == check.distribution);
  CHECK(read[1].tensor == check.tensor);
  CHECK(read[1].max_error == check.max_error);
  CHECK(read[1].mean_error == check.mean_error);
  CHECK(read[1].tolerance == check.tolerance);
  CHECK(read[1].nonfinite_mismatches == 3);
  CHECK(e.file.count("checks WHERE worst_index = 0 AND input_seed = -1") == 1);
  CHECK(e.file.count("checks WHERE worst_index IS NULL") == 1);
  const auto shapes = select_workloads(e.file.connection, e.rows.evaluation);
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].name == "small");
  CHECK(shapes[0].roles == std::vector{WorkloadRole::check});
  CHECK(shapes[1].axes.at("N") == 1'000'000);
  CHECK(shapes[1].roles == std::vector{WorkloadRole::check, WorkloadRole::time});
}

TEST_CASE("checks that came out the same are stored once, and the figures of a group are exact") {
  Evaluated e;
  std::vector<CheckRecord> checks;
  for (int i = 0; i < 95; ++i) {
    CheckRecord& check = checks.emplace_back(e.result.checks[0]);
    check.distribution = fmt::format("d{}", i);
    check.max_error = 1e-7 / 3 * i;
    check.mean_error = 1e-9 / 7 * i;
  }
  e.result.checks = checks;
  put_checks(e.rows);
  put_checks(e.rows);
  CHECK(e.file.count("check_groups") == 1);
  CHECK(e.file.count("checks") == 95);
  CHECK(e.file.count("checks WHERE passed = 1 AND worst_index IS NULL AND tolerance = 1e-6") == 95);
  CHECK(e.file.count("check_figures WHERE checks = 95 AND failed = 0 AND max_error = 1e-7 / 3 * 94") == 1);
  CHECK(e.file.count("checks WHERE distribution = 'd7' AND abs(max_error / (7e-7 / 3) - 1) < 1e-3") == 1);
  e.result.checks[3].passed = false;
  e.result.checks[3].worst_got = 0.1 + 0.2;
  put_checks(e.rows);
  CHECK(e.file.count("check_groups") == 2);
  CHECK(e.file.count("checks WHERE passed = 0 AND distribution = 'd3' AND worst_got = 0.1 + 0.2") == 1);
}

TEST_CASE("exact counts and profiles are read as they were stored") {
  Evaluated e;
  Measurement& m = e.result.measurements[0];
  m.method = kEmulatedMethod;
  m.counts = {{"dram_bytes", 64}, {"barriers", 2}};
  Profile profile;
  profile.workload = "large";
  profile.units["dram"] = "%";
  profile.launches.push_back({.kernel = "second", .metrics = {{"dram", 80}}, .lines = {}});
  profile.launches.push_back({.kernel = "add", .metrics = {{"dram", 40}}, .lines = {{12, {{"barrier", 5}}}}});
  profile.launches[1].lines.push_back({.line = 3, .samples = {{"wait", 9}, {"barrier", 1}}});
  e.result.profiles = {profile};
  put_metrics(e.rows);
  std::vector<Measurement> measured = {m, e.result.measurements[1]};
  measured[0].counts.clear();
  add_counts(e.file.connection, e.rows.evaluation, measured);
  CHECK(measured[0].counts == m.counts);
  CHECK(measured[1].counts.empty());
  const auto read = select_profiles(e.file.connection, e.rows.variant, device().name);
  REQUIRE(read.size() == 1);
  CHECK(read[0].workload == "large");
  CHECK(read[0].units == profile.units);
  REQUIRE(read[0].launches.size() == 2);
  CHECK(read[0].launches[0].kernel == "second");
  CHECK(read[0].launches[0].metrics == profile.launches[0].metrics);
  CHECK(read[0].launches[1].metrics == profile.launches[1].metrics);
  REQUIRE(read[0].launches[1].lines.size() == 2);
  CHECK(read[0].launches[1].lines[0].line == 3);
  CHECK(read[0].launches[1].lines[0].samples == profile.launches[1].lines[1].samples);
  CHECK(read[0].launches[1].lines[1].samples == profile.launches[1].lines[0].samples);
  CHECK(select_profiles(e.file.connection, e.rows.variant, "Other GPU").empty());
}

TEST_CASE("predicted times belong to the evaluation, its variant and its shapes") {
  Evaluated e;
  put_predictions(e.rows);
  CHECK(e.file.count("predictions") == 0);
  const PredictedScore predicted{.model = "sm_90a plan",
                                 .times = {{.workload = "large",
                                            .time = Nanoseconds(900),
                                            .low = Nanoseconds(800),
                                            .high = Nanoseconds(1000),
                                            .limiter = "dram"}}};
  e.record.predicted = &predicted;
  put_predictions(e.rows);
  Rows row =
      select(e.file.connection,
             "SELECT p.*, w.name AS workload FROM predictions p JOIN workloads w ON w.id = p.workload_id");
  REQUIRE(row.next());
  CHECK(row.text("workload") == "large");
  CHECK(row.text("model") == "sm_90a plan");
  CHECK(row.text("limiter") == "dram");
  CHECK(row.real("predicted_ns") == 900);
  CHECK(row.real("low_ns") == 800);
  CHECK(row.real("high_ns") == 1000);
  CHECK(row.integer("evaluation_id") == e.rows.evaluation);
  CHECK(row.integer("variant_id") == e.rows.variant);
}

TEST_CASE("a shape that was sampled after the search began becomes a row once") {
  Evaluated e;
  auto problem = std::make_shared<ProblemInstance>(vector_add());
  problem->workloads[0].name = "held_out_1";
  e.request.problem = problem;
  const RowId sampled = e.rows.workload("held_out_1");
  CHECK(e.rows.workload("held_out_1") == sampled);
  CHECK(e.rows.workload("large") == e.search.workloads.at("large"));
  CHECK(e.file.count("workloads") == 3);
}

TEST_CASE("a journal is kept where there is one, in order, and dropped with its search") {
  Evaluated e;
  put_journal(e.rows);
  CHECK(journal_entries(e.file.connection, e.record.search).empty());
  JournalRecord kept{.key = "first", .result = R"({"status":"ok"})"};
  e.record.journal = &kept;
  put_journal(e.rows);
  put_evaluation(e.rows, put_proposal(e.file.connection, e.record, e.rows.variant), std::nullopt);
  kept = {.key = "second", .result = std::nullopt};
  put_journal(e.rows);
  const auto entries = journal_entries(e.file.connection, e.record.search);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].key == "first");
  CHECK(entries[0].status == "ok");
  CHECK(entries[0].result->at("status") == "ok");
  CHECK(entries[1].key == "second");
  CHECK_FALSE(entries[1].result);
  CHECK(entries[1].evaluation == e.rows.evaluation);
  CHECK(entries[1].variant == e.rows.variant);
  CHECK(journal_entries(e.file.connection, e.record.search + 1).empty());
}

TEST_CASE("samples are the same after they were bytes") {
  const std::vector<std::uint32_t> samples{0, 1, 256, 0x01020304, 0xFFFFFFFF};
  CHECK(samples_of(little_endian(samples)) == samples);
  CHECK(little_endian({0x01020304}) == std::vector<unsigned char>{4, 3, 2, 1});
  CHECK(samples_of({1, 2, 3}).empty());
}

}  // namespace
}  // namespace ak::db::test
