// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <catch2/catch.hpp>

#include <map>

#include "core/error.h"
#include "db/read/evaluated_variant.h"
#include "db/sqlite.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

TEST_CASE("one evaluation leaves its variant, proposal, build, checks and measurements") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const StoredEvaluation stored = run.commit(128);
  const auto file = folder.file();
  CHECK(integer(file, "SELECT id FROM evaluations") == stored.evaluation);
  CHECK(integer(file, "SELECT id FROM variants") == stored.variant);
  CHECK(integer(file, "SELECT count(*) FROM proposals WHERE proposer = 'search' AND arm = 'random'") == 1);
  CHECK(text(file, "SELECT options FROM builds") == R"(["fast_math"])");
  CHECK(integer(file, "SELECT registers FROM build_kernels") == 32);
  CHECK(real(file, "SELECT occupancy_ratio FROM build_kernels") == 0.5);
  CHECK(integer(file, "SELECT count(*) FROM checks") == 2);
  CHECK(integer(file, "SELECT count(*) FROM measurements") == 2);
  CHECK(text(file, "SELECT params FROM variants") == R"({"dtype":"float32"})");
  CHECK(text(file, "SELECT tunables FROM variants") == R"({"BLOCK":128})");
  CHECK(real(file, "SELECT julianday(ended_at) * 86400 - julianday(started_at) * 86400 FROM evaluations") ==
        Approx(1.5).margin(0.01));
  CHECK(intact(file));
}

TEST_CASE("the latest audit of a content under some params says whether it passed") {
  const TemporaryFolder folder;
  const auto store = open_audit_store(folder.file());
  ProblemInstance problem = vector_add();
  CheckRecord check;
  check.workload = "small";
  ProblemAudit audit;
  audit.findings.push_back({.kind = AuditKind::automatic,
                            .name = "zeros",
                            .what = "all zeros",
                            .tensor = "c",
                            .verdict = AuditVerdict::accepted,
                            .checks = 3,
                            .evidence = check});
  const AuditRecord record{.problem = &problem, .content_hash = "abc", .version = "1", .audit = &audit};
  CHECK_FALSE(store->audit_passed("abc", problem));
  store->commit_audit(record, device(), {.major = 9});
  CHECK_FALSE(store->audit_passed("abc", problem));
  audit.findings[0].verdict = AuditVerdict::rejected;
  store->commit_audit(record, device(), {.major = 9});
  CHECK(store->audit_passed("abc", problem));
  CHECK_FALSE(store->audit_passed("abd", problem));
  const auto file = folder.file();
  CHECK(text(file, "SELECT workload || verdict FROM audit_findings WHERE as_expected = 0") ==
        "smallaccepted");
  problem.definition.description += " of another kind";
  CHECK_FALSE(store->audit_passed("abc", problem));
  CHECK(intact(file));
}

TEST_CASE("the same candidate twice is one variant and two evaluations") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const StoredEvaluation first = run.commit(128), second = run.commit(128), other = run.commit(256);
  CHECK(first.variant == second.variant);
  CHECK(first.evaluation != second.evaluation);
  CHECK(other.variant != first.variant);
  CHECK(integer(folder.file(), "SELECT count(*) FROM sources") == 1);
  CHECK(integer(folder.file(), "SELECT count(*) FROM builds") == 2);
}

TEST_CASE("a proposal says when its strategy was asked and told, who chose it, and what both took") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const AskRecord asked{.member = "forest", .asked_ms = 12.5, .ask_ns = 700};
  const RowId evaluation =
      run.commit(run.request(128), Run::result(Status::ok, 100), "portfolio", &asked).evaluation;
  store->note_told(evaluation, {.told_ms = 40, .tell_ns = 90});
  run.commit(256);
  store->end_search(run.search, "finished", "", std::nullopt);
  const auto file = folder.file();
  CHECK(text(file, "SELECT member FROM proposals WHERE iteration = 0") == "forest");
  CHECK(real(file, "SELECT asked_ms + told_ms FROM proposals WHERE iteration = 0") == 52.5);
  CHECK(integer(file, "SELECT ask_ns + tell_ns FROM proposals WHERE iteration = 0") == 790);
  CHECK(is_null(file, "SELECT coalesce(member, asked_ms, told_ms) FROM proposals WHERE iteration = 1"));
}

TEST_CASE("the view strategies says how soon each search came near the best of all") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  const AskRecord asked{.member = "", .asked_ms = 1, .ask_ns = 3000};
  Run slow(*store);
  for (const double time : {200., 108., 104., 100.5}) {
    const auto stored = slow.commit(slow.request(128), Run::result(Status::ok, time), "random", &asked);
    store->note_told(stored.evaluation, {.told_ms = 1000. * slow.iteration, .tell_ns = 1000});
  }
  Run fast(*store);
  fast.commit(128, Status::incorrect);
  fast.commit(128, Status::ok, 100);
  fast.commit(fast.request(128), Run::result(Status::ok, 90), "comparison");
  const auto file = folder.file();
  const auto of = [&](const Run& run, const std::string& column) {
    return "SELECT " + column + " FROM strategies WHERE search = " + std::to_string(run.search);
  };
  CHECK(integer(file, of(slow, "evaluations")) == 4);
  CHECK(integer(file, of(slow, "evaluations_to_5_percent")) == 3);
  CHECK(integer(file, of(slow, "evaluations_to_1_percent")) == 4);
  CHECK(real(file, of(slow, "seconds_to_5_percent")) == Approx(3));
  CHECK(real(file, of(slow, "best_over_known")) == Approx(1.005));
  CHECK(real(file, of(slow, "ask_us + tell_us")) == Approx(4));
  CHECK(integer(file, of(fast, "evaluations")) == 2);
  CHECK(integer(file, of(fast, "evaluations_to_1_percent")) == 2);
  CHECK(is_null(file, of(fast, "ask_us")));
}

TEST_CASE(
    "what is known of a source is what other searches of the same kind found last, and wrong stays wrong") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run first(*store);
  first.commit(128, Status::ok, 200);
  first.commit(128, Status::ok, 190);
  first.commit(256, Status::ok, 100);
  first.commit(first.request(256), Run::result(Status::incorrect, 0), "held_out");
  Run second(*store);
  const std::string source = first.request(128).candidate.source_hash();
  const auto known = store->known_points(second.search, source);
  REQUIRE(known.size() == 2);
  CHECK(known[0].tunables.at("BLOCK") == 128);
  CHECK(known[0].score_ns == 190);
  CHECK_FALSE(known[0].predicted_ns);
  CHECK(known[1].tunables.at("BLOCK") == 256);
  CHECK_FALSE(known[1].score_ns);
  CHECK(store->known_points(second.search, "another").empty());
  CHECK(store->known_points(first.search, source).empty());
  second.commit(128, Status::infrastructure_error);
  CHECK(store->known_points(first.search, source).empty());
  DeviceFacts newer = device();
  newer.driver_version = 14000;
  CHECK(store->known_points(Run(*store, newer).search, source).empty());
  DeviceFacts other = device();
  other.name = "Other GPU";
  CHECK(store->known_points(Run(*store, other).search, source).empty());
  DeviceFacts twin = device();
  twin.uuid = "GPU-2";
  CHECK(store->known_points(Run(*store, twin).search, source).size() == 2);
  ProblemInstance reshaped = vector_add();
  reshaped.workloads.pop_back();
  const SearchRecord record{
      .command = "", .proposer = "search", .strategy = "random", .budgets = {}, .version = "0.1.0"};
  const RowId search =
      store->begin_search(record, reshaped, device(), {.major = 9, .minor = 0, .feature = 'a'});
  CHECK(store->known_points(search, source).empty());
}

TEST_CASE("what another GPU of the model measured in a search on several is known, too") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run search(*store);
  const EvaluationRequest request = search.request(128);
  const EvaluationResult result = Run::result(Status::ok, 200);
  DeviceFacts second = device(), examiner = device();
  second.uuid = "GPU-second";
  examiner.name = "the CPU device";
  examiner.kind = DeviceKind::emulator;
  EvaluationRecord record{.search = search.search,
                          .iteration = 1,
                          .proposer = "search",
                          .arm = "random",
                          .parents = {},
                          .request = &request,
                          .result = &result,
                          .device = &examiner};
  store->commit(record);
  Run later(*store);
  const std::string source = request.candidate.source_hash();
  CHECK(store->known_points(later.search, source).empty());
  record.iteration = 2;
  record.device = &second;
  const StoredEvaluation stored = store->commit(record);
  CHECK(store->known_points(later.search, source).size() == 1);
  CHECK(text(folder.file(),
             "SELECT d.uuid FROM evaluations e JOIN devices d ON d.id = e.device_id WHERE e.id = " +
                 std::to_string(stored.evaluation)) == "GPU-second");
}

TEST_CASE("a point is known with the score that was predicted of it, and by which model") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run first(*store);
  const EvaluationRequest request = first.request(128);
  const EvaluationResult result = Run::result(Status::ok, 200);
  const PredictedScore predicted{.model = "m@1 build",
                                 .times = {{.workload = "large",
                                            .time = Nanoseconds(900),
                                            .low = Nanoseconds(800),
                                            .high = Nanoseconds(1000),
                                            .limiter = "dram"}}};
  EvaluationRecord record;
  record.search = first.search;
  record.proposer = "search";
  record.arm = "random";
  record.request = &request;
  record.result = &result;
  record.predicted = &predicted;
  static_cast<void>(store->commit(record));
  const auto known = store->known_points(Run(*store).search, request.candidate.source_hash());
  REQUIRE(known.size() == 1);
  CHECK(known[0].predicted_ns.value() == Approx(900));
  CHECK(known[0].predicted_by == "m@1 build");
}

TEST_CASE("the front holds what is best in time, error or shared memory, and nothing that another beats") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const auto commit = [&](int block, double time_ns, double error, std::int64_t shared_bytes) {
    EvaluationResult result = Run::result(Status::ok, time_ns);
    result.checks[1].max_error = error;
    result.shared_bytes = shared_bytes;
    run.commit(run.request(block), result);
  };
  commit(1, 100, 1e-3, 4096);
  commit(2, 120, 1e-5, 4096);
  commit(3, 130, 1e-3, 1024);
  commit(4, 130, 1e-3, 2048);  // 3 takes less memory
  commit(5, 121, 1e-5, 4096);  // 2 is faster
  commit(2, 140, 1e-5, 4096);  // its second time does not count
  const Table front =
      query(folder.file(), "SELECT tunables ->> 'BLOCK', score_us FROM pareto_front", 0, testing::kPatience);
  REQUIRE(front.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::get<std::int64_t>(front.rows[i][0]) == static_cast<std::int64_t>(i + 1));
  CHECK(std::get<double>(front.rows[1][1]) == Approx(0.120));
  // Of the unit square, time and error: only BLOCK = 2 is better than the worst in both.
  const Table volume =
      query(folder.file(), "SELECT points, hypervolume FROM hypervolume WHERE objective = 'max_error'", 0,
            testing::kPatience);
  REQUIRE(volume.rows.size() == 1);
  CHECK(std::get<std::int64_t>(volume.rows[0][0]) == 3);
  CHECK(std::get<double>(volume.rows[0][1]) == Approx((1 - 1e-5 / 1e-3) * (1 - 120.0 / 130.0)));
  EvaluationResult wrong = Run::result(Status::incorrect, 0);
  run.commit(run.request(1), wrong, "held_out");
  CHECK(integer(folder.file(), "SELECT count(*) FROM pareto_front WHERE tunables ->> 'BLOCK' = 1") == 0);
}

TEST_CASE("samples are little-endian 32-bit nanoseconds in run order") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run(*store).commit(128);
  const Cell samples = cell(folder.file(), "SELECT samples FROM measurements WHERE role = 'candidate'");
  CHECK(std::get<std::vector<unsigned char>>(samples) ==
        std::vector<unsigned char>{1, 0, 0, 0, 0, 1, 0, 0, 255, 255, 255, 255});
}

TEST_CASE("every status is stored by its name") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  for (const StatusInfo& info : statuses()) {
    const RowId id = run.commit(128, info.status).evaluation;
    CHECK(text(folder.file(), "SELECT status FROM evaluations WHERE id = " + std::to_string(id)) ==
          info.name);
  }
}

TEST_CASE("what cannot be a number is NULL, and bytes that are not UTF-8 do not stop a commit") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  EvaluationResult result = Run::result(Status::incorrect, 0);
  result.checks[1].max_error = std::numeric_limits<double>::infinity();
  result.checks[1].worst_got = std::numeric_limits<double>::quiet_NaN();
  result.outcome.message = "bad \xff byte";
  result.outcome.diagnostics = {{.severity = "error", .message = "\xff'; DROP TABLE variants; --"}};
  run.commit(run.request(128), result);
  CHECK(is_null(folder.file(), "SELECT max_error FROM checks WHERE passed = 0"));
  CHECK(is_null(folder.file(), "SELECT worst_got FROM checks WHERE passed = 0"));
  CHECK(integer(folder.file(), "SELECT count(*) FROM variants") == 1);
}

TEST_CASE("seeds keep all 64 bits") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run(*store).commit(128);
  CHECK(integer(folder.file(), "SELECT input_seed FROM evaluations") == -1);
}

TEST_CASE("parents are kept once") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const RowId parent = run.commit(128).variant;
  const EvaluationRequest request = run.request(256);
  const EvaluationResult result = Run::result(Status::ok, 1);
  for (int i = 0; i < 2; ++i) {
    EvaluationRecord record;
    record.search = run.search;
    record.parents = {parent, parent};
    record.request = &request;
    record.result = &result;
    store->commit(record);
  }
  CHECK(integer(folder.file(), "SELECT parent_id FROM variant_parents") == parent);
}

TEST_CASE("a commit that fails leaves nothing, and the store continues") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const EvaluationRequest request = run.request(128);
  const EvaluationResult result = Run::result(Status::ok, 1);
  EvaluationRecord record;
  record.search = run.search;
  record.parents = {12345};  // no such variant: the foreign key refuses it after the variant was inserted
  record.request = &request;
  record.result = &result;
  CHECK_THROWS_AS(store->commit(record), Error);
  CHECK(integer(folder.file(), "SELECT count(*) FROM variants") == 0);
  CHECK_NOTHROW(run.commit(128));
  CHECK(intact(folder.file()));
}

TEST_CASE("a search ends with its status, reason and champion") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  CHECK(text(folder.file(), "SELECT status FROM searches") == "running");
  const RowId best = run.commit(128).variant;
  run.commit(128, Status::timeout);
  store->end_search(run.search, "stopped", "evaluation budget", best);
  CHECK(text(folder.file(), "SELECT status || ': ' || reason FROM experiments") ==
        "stopped: evaluation budget");
  CHECK(integer(folder.file(), "SELECT variant FROM best_variants") == best);
  CHECK(real(folder.file(), "SELECT score_us FROM best_variants") == 1000);
}

TEST_CASE("a search without evaluations is an experiment with zero of them") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  const Run run(*store);
  CHECK(integer(folder.file(), "SELECT evaluations + verified FROM experiments") == 0);
}

TEST_CASE("a later search shares definition, device and workloads, and a changed formula is a new row") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run(*store).commit(128);
  Run(*store).commit(128);
  CHECK(integer(folder.file(), "SELECT count(*) FROM definitions") == 1);
  CHECK(integer(folder.file(), "SELECT count(*) FROM devices") == 1);
  CHECK(integer(folder.file(), "SELECT count(*) FROM workloads") == 2);
  ProblemInstance corrected = vector_add();
  corrected.flops = Expression::parse("2 * N").value();
  store->begin_search({}, corrected, device(), {.major = 9});
  CHECK(integer(folder.file(), "SELECT count(*) FROM workloads WHERE name = 'large'") == 2);
  CHECK(integer(folder.file(), "SELECT min(flops) FROM workloads WHERE name = 'large'") == 1'000'000);
}

TEST_CASE("results on a shape sampled after the search began are kept") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  auto problem = std::make_shared<ProblemInstance>(vector_add());
  problem->workloads[0].name = "held_out_1";
  problem->workloads[0].axes["N"] = 77;
  EvaluationRequest request = run.request(128);
  request.problem = problem;
  EvaluationResult result = Run::result(Status::ok, 1);
  result.checks[0].workload = "held_out_1";
  run.commit(request, result);
  run.commit(request, result);
  CHECK(integer(folder.file(), "SELECT flops FROM workloads WHERE name = 'held_out_1'") == 77);
}

TEST_CASE("generalisation gives the share of held-out shapes passed, and the search's views leave them out") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128);
  EvaluationRequest request = run.request(128);
  request.workloads = {"small", "large"};
  request.tag = "held_out_1: N=77";
  EvaluationResult wrong = Run::result(Status::incorrect, 0);
  wrong.score_ns.reset();
  wrong.checks.clear();
  for (const bool good : {true, false}) {
    CheckRecord& check = wrong.checks.emplace_back();
    check.workload = good ? "small" : "large";
    check.passed = good;
  }
  EvaluationResult right = wrong;
  right.outcome.status = Status::ok;
  for (const EvaluationResult* result : {&wrong, &right}) {
    static_cast<void>(store->commit({.search = run.search,
                                     .iteration = 9,
                                     .proposer = "search",
                                     .arm = "held_out",
                                     .parents = {},
                                     .request = &request,
                                     .result = result}));
  }
  CHECK(integer(folder.file(), "SELECT count(*) FROM generalisation WHERE shapes = 2") == 2);
  CHECK(real(folder.file(), "SELECT share FROM generalisation WHERE status = 'incorrect'") == 0.5);
  CHECK(real(folder.file(), "SELECT share FROM generalisation WHERE status = 'ok'") == 1);
  CHECK(text(folder.file(), "SELECT DISTINCT drawn FROM generalisation") == "held_out_1: N=77");
  CHECK(integer(folder.file(), "SELECT evaluations FROM experiments") == 1);
  CHECK(integer(folder.file(), "SELECT verified FROM experiments") == 1);
  CHECK(integer(folder.file(), "SELECT count(*) FROM progress") == 1);
}

TEST_CASE("comparisons shows both times of a pair, and no table of results counts it") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const StoredEvaluation champion = run.commit(128, Status::ok, 500'000);
  run.commit(256, Status::ok, 470'000);
  EvaluationRequest request = run.request(256);
  request.tag = std::to_string(champion.variant);
  EvaluationResult pair = Run::result(Status::ok, 450'000);
  pair.measurements[0].samples_ns = {450'000, 450'000};
  pair.measurements[1] = pair.measurements[0];
  pair.measurements[1].role = MeasurementRole::champion;
  pair.measurements[1].median_ns = 500'000;
  run.commit(request, pair, "comparison");
  CHECK(real(folder.file(), "SELECT ratio FROM comparisons") == 0.9);
  CHECK(integer(folder.file(), "SELECT champion FROM comparisons") == champion.variant);
  CHECK(integer(folder.file(), "SELECT pairs FROM comparisons") == 2);
  CHECK(integer(folder.file(), "SELECT count(*) FROM leaderboard") == 2);
  CHECK(real(folder.file(), "SELECT min(score_us) FROM leaderboard") == 470);
  CHECK(integer(folder.file(), "SELECT evaluations FROM experiments") == 2);
  CHECK(integer(folder.file(), "SELECT count(*) FROM progress") == 2);
  CHECK(real(folder.file(), "SELECT min(latency_ms) FROM benchmark_results") == 0.47);
}

TEST_CASE("the last measurement of a champion counts in place of the search's") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const StoredEvaluation best = run.commit(128, Status::ok, 500'000);
  run.commit(run.request(128), Run::result(Status::ok, 520'000), "final");
  store->end_search(run.search, "finished", "space exhausted", best.variant);
  CHECK(integer(folder.file(), "SELECT count(*) FROM leaderboard") == 1);
  CHECK(real(folder.file(), "SELECT score_us FROM leaderboard") == 520);
  CHECK(real(folder.file(), "SELECT score_us FROM best_variants") == 520);
  CHECK(real(folder.file(), "SELECT best_us FROM experiments") == 520);
}

TEST_CASE("a variant that was found wrong later is on no leaderboard") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128, Status::ok, 500'000);
  run.commit(256, Status::ok, 100'000);
  run.commit(run.request(256), Run::result(Status::incorrect, 0), "comparison");
  CHECK(real(folder.file(), "SELECT score_us FROM leaderboard") == 500);
  run.commit(run.request(128), Run::result(Status::infrastructure_error, 0), "final");  // says nothing of it
  CHECK(integer(folder.file(), "SELECT count(*) FROM leaderboard") == 1);
}

TEST_CASE("samples taken while clocks were held down, and power, are kept") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  EvaluationResult result = Run::result(Status::ok, 500'000);
  result.measurements[0].throttled = {3, 4};
  result.measurements[0].power_w = 512.5;
  run.commit(run.request(128), result);
  CHECK(text(folder.file(), "SELECT throttled FROM measurements WHERE role = 'candidate'") == "[3,4]");
  CHECK(real(folder.file(), "SELECT power_w FROM measurements WHERE role = 'candidate'") == 512.5);
  CHECK(is_null(folder.file(), "SELECT throttled FROM measurements WHERE role = 'baseline'"));
}

TEST_CASE("the energy of a call is kept, with the problem's work for a joule") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  EvaluationResult result = Run::result(Status::ok, 500'000);
  result.measurements[0].energy =
      Energy{.joule = 0.25, .power_w = 500, .call_ns = 500'000, .calls = 2'000, .unavailable_reason = ""};
  run.commit(run.request(128), result);
  const auto metric = [&](const std::string& name) {
    return real(folder.file(), "SELECT value FROM metrics WHERE name = 'energy/" + name + "'");
  };
  CHECK(metric("joule") == 0.25);
  CHECK(metric("power") == 500);
  CHECK(metric("call") == 500'000);
  CHECK(metric("bytes_per_joule") > 0);
  result.measurements[0].energy = Energy{.unavailable_reason = "no counter"};
  run.commit(run.request(256), result);
  CHECK(integer(folder.file(), "SELECT count(DISTINCT evaluation_id) FROM metrics") == 1);
}

TEST_CASE("benchmark_results gives throughput, bandwidth, errors and speed-ups of a timed variant") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128, Status::ok, 500'000);
  const auto large = [&](const std::string& column) {
    return cell(folder.file(), "SELECT " + column + " FROM benchmark_results WHERE workload = 'large'");
  };
  CHECK(std::get<std::int64_t>(large("output_correct")) == 1);
  CHECK(std::get<double>(large("latency_ms")) == Approx(0.5));
  CHECK(std::get<double>(large("throughput_tflops")) == Approx(1e6 / 500e-6 / 1e12));
  CHECK(std::get<double>(large("memory_bandwidth_gbs")) == Approx(12e6 / 500e-6 / 1e9));
  CHECK(std::get<double>(large("memory_efficiency")) ==
        Approx(24 / device().peak_bandwidth().per_nanosecond()));
  CHECK(std::get<double>(large("max_error")) == Approx(1e-7));
  CHECK(std::get<double>(large("mean_error")) == Approx(1e-8));
  CHECK(std::get<double>(large("occupancy")) == 0.5);
  CHECK(std::get<std::int64_t>(large("register_usage")) == 32);
  CHECK(std::get<std::int64_t>(large("shared_mem_usage")) == 2048);
  CHECK(std::get<double>(large("speedup_vs_naive")) == Approx(4));
  CHECK(std::get<double>(large("pct_of_reference")) == Approx(400));
  CHECK(std::holds_alternative<std::monostate>(large("speedup_vs_pytorch")));
  CHECK(std::holds_alternative<std::monostate>(large("sm_efficiency")));
  CHECK(is_null(folder.file(), "SELECT latency_ms FROM benchmark_results WHERE workload = 'small'"));
}

TEST_CASE("benchmark_results has a row without time for what was only compiled, and one for what was wrong") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128, Status::compiled_only);
  run.commit(256, Status::incorrect);
  const std::string compiled = " FROM benchmark_results WHERE status = 'compiled_only'";
  CHECK(is_null(folder.file(), "SELECT latency_ms" + compiled));
  CHECK(is_null(folder.file(), "SELECT output_correct" + compiled));
  CHECK(is_null(folder.file(), "SELECT workload" + compiled));
  CHECK(integer(folder.file(), "SELECT register_usage" + compiled) == 32);
  CHECK(
      integer(
          folder.file(),
          "SELECT output_correct FROM benchmark_results WHERE status = 'incorrect' AND workload = 'large'") ==
      0);
}

TEST_CASE("leaderboard, progress and failures tell who leads, how it went and what broke") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(1, Status::ok, 3'000);
  const RowId best = run.commit(2, Status::ok, 1'000).variant;
  run.commit(3, Status::launch_error);
  run.commit(4, Status::ok, 2'000);
  CHECK(integer(folder.file(), "SELECT variant FROM leaderboard WHERE place = 1") == best);
  CHECK(integer(folder.file(), "SELECT count(*) FROM leaderboard") == 3);
  CHECK(text(folder.file(), "SELECT group_concat(best_so_far_us) FROM progress") == "3.0,1.0,1.0,1.0");
  CHECK(text(folder.file(), "SELECT status FROM failures") == "launch_error");
}

TEST_CASE("a profile is kept with its units, and counts as no result of the search") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  run.commit(128);
  EvaluationResult result = Run::result(Status::ok, 1'000'000);
  result.measurements.clear();
  result.score_ns.reset();
  Profile& profile = result.profiles.emplace_back();
  profile.workload = "large";
  profile.launches.push_back(
      {.kernel = "k",
       .metrics = {{"time/duration", 900'000},
                   {"time/cycles", 1'000},
                   {"time/active_cycles", 750},
                   {"dram/throughput", 88}},
       .lines = {{0, {{"selected", 3}}}, {42, {{"barrier", 7}, {"long_scoreboard", 90}}}}});
  profile.units = {{"time/duration", "ns"}, {"dram/throughput", "percent"}};
  run.commit(run.request(128), result, "profile");
  CHECK(real(folder.file(),
             "SELECT value FROM metrics WHERE name = 'line/42/long_scoreboard' AND unit = 'samples'") == 90);
  CHECK(integer(folder.file(), "SELECT count(*) FROM metrics WHERE name LIKE 'line/%'") == 3);
  const auto found =
      find_evaluation(folder.file(), integer(folder.file(), "SELECT max(variant_id) FROM evaluations"));
  REQUIRE(found);
  const LaunchProfile& read = found->result.profiles.at(0).launches.at(0);
  REQUIRE(read.lines.size() == 2);
  CHECK(read.lines[1].line == 42);
  CHECK(read.lines[1].samples ==
        std::map<std::string, std::uint64_t>{{"barrier", 7}, {"long_scoreboard", 90}});
  CHECK(read.metrics.size() == 4);
  CHECK(text(folder.file(),
             "SELECT kernel || ' ' || workload || ' ' || duration_us || ' ' || dram_pct FROM profiles") ==
        "k large 900.0 88.0");
  CHECK(text(folder.file(), "SELECT unit FROM metrics WHERE name = 'time/duration'") == "ns");
  CHECK(integer(folder.file(), "SELECT count(*) FROM progress") == 1);
  CHECK(integer(folder.file(), "SELECT evaluations FROM experiments") == 1);
  CHECK(real(folder.file(), "SELECT sm_efficiency FROM benchmark_results WHERE workload = 'large'") == 0.75);
  CHECK(integer(folder.file(), "SELECT count(DISTINCT evaluation) FROM benchmark_results") == 1);
}

TEST_CASE("an emulator's costs and counts are kept, and no view calls them times") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run gpu(*store);
  gpu.commit(1, Status::ok, 5'000);
  DeviceFacts facts = device();
  facts.kind = DeviceKind::emulator;
  facts.name = "CPU emulator of sm_90a";
  Run emulator(*store, facts);
  EvaluationResult result = Run::result(Status::ok, 1'000);
  for (Measurement& m : result.measurements) m.method = kEmulatedMethod;
  result.measurements.front().counts = {{"global/sectors", 12}, {"inst/warp", 34}};
  emulator.commit(emulator.request(1), result);
  CHECK(text(folder.file(), "SELECT group_concat(score_us) FROM leaderboard") == "5.0");
  CHECK(text(folder.file(), "SELECT group_concat(emulated_cost_us) FROM leaderboard") == "1.0");
  CHECK(integer(folder.file(), "SELECT count(*) FROM leaderboard WHERE place = 1") == 2);
  CHECK(text(folder.file(), "SELECT group_concat(best_so_far_us) FROM progress") == "5.0");
  CHECK(text(folder.file(), "SELECT group_concat(best_emulated_cost_us) FROM progress") == "1.0");
  CHECK(text(folder.file(), "SELECT group_concat(best_us) FROM experiments") == "5.0");
  const std::string emulated = " FROM benchmark_results WHERE method = 'emulator'";
  CHECK(real(folder.file(), "SELECT emulated_cost_us" + emulated) == 1.0);
  for (const char* column : {"latency_ms", "throughput_tflops", "memory_bandwidth_gbs", "memory_efficiency",
                             "speedup_vs_naive", "pct_of_reference"}) {
    INFO(column);
    CHECK(is_null(folder.file(), std::string("SELECT ") + column + emulated));
  }
  CHECK(text(folder.file(), "SELECT group_concat(name || '=' || value || ' ' || unit) FROM metrics") ==
        "global/sectors=12.0 sectors,inst/warp=34.0 instructions");
}

/// Runs a query that has `rows` rows, and returns how many steps SQLite's machine made for them.
int steps_of(const std::filesystem::path& file, const std::string& sql, int rows) {
  Connection connection(file, OpenMode::read_only);
  Statement statement(connection.get(), sql);
  int found = 0;
  while (statement.step()) ++found;
  INFO(sql);
  CHECK(found == rows);
  return sqlite3_stmt_status(statement.get(), SQLITE_STMTSTATUS_VM_STEP, 0);
}

TEST_CASE("thousands of variants are summarised with work that grows as they do") {
  const std::vector<std::string> summaries{"SELECT * FROM benchmark_results WHERE workload = 'large'",
                                           "SELECT * FROM leaderboard", "SELECT * FROM progress"};
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  std::map<std::string, int> steps;
  for (int i = 1; i <= 1'000; ++i) run.commit(i, Status::ok, 1e6 + i);
  for (const std::string& sql : summaries) steps[sql] = steps_of(folder.file(), sql, 1'000);
  for (int i = 1'001; i <= 2'000; ++i) run.commit(i, Status::ok, 1e6 + i);
  for (const std::string& sql : summaries) {
    INFO(sql << ": " << steps[sql] << " steps for half of them");
    CHECK(steps_of(folder.file(), sql, 2'000) < 3 * steps[sql]);  // four times, if all were read for each
  }
}

TEST_CASE(
    "what a search could still gain is stored with what it commits next, once for each number of "
    "evaluations") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const auto file = folder.file();
  const auto note = [&](std::int64_t evaluations, double high) {
    store->note_gain(
        run.search,
        {.evaluations = evaluations, .best_ns = 5e6, .gain = {.expected = high / 2, .low = 0, .high = high}});
  };
  note(10, 0.2);
  CHECK(integer(file, "SELECT count(*) FROM verdicts") == 0);
  run.commit(64);
  note(10, 0.1);  // a search that continues says it again
  note(20, 0.004);
  store->end_search(run.search, "finished", "little left to gain", std::nullopt);
  CHECK(integer(file, "SELECT count(*) FROM verdicts") == 2);
  CHECK(real(file, "SELECT high_gain FROM verdicts WHERE evaluations = 10") == 0.1);
  CHECK(integer(file, "SELECT evaluations FROM search_verdicts") == 20);
  CHECK(real(file, "SELECT expected_gain FROM search_verdicts") == 0.002);
  store->note_verdict(run.search, {.verdict = "stuck", .headroom = 0.4, .limited_by = "the device"});
  CHECK(text(file, "SELECT verdict || ' ' || headroom FROM search_verdicts") == "stuck 0.4");
  CHECK(intact(file));
}

}  // namespace
}  // namespace ak::db::test
