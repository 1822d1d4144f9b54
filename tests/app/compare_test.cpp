// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "app/compare/subject_comparison.h"
#include "core/error.h"
#include "tests/db/store_fixture.h"

namespace ak::app {
namespace {

using db::test::TemporaryFolder;

constexpr int kShapes = 10;
const Arch kArch{.major = 9, .minor = 0, .feature = 'a'};

ProblemInstance ten_shapes() {
  ProblemInstance problem = db::test::vector_add();
  problem.workloads.clear();
  for (int i = 0; i < kShapes; ++i) {
    Workload workload;
    workload.name = fmt::format("n{}", i);
    workload.uid = fmt::format("uid-{}", i);
    workload.axes["N"] = 1000 * (i + 1);
    workload.roles = {WorkloadRole::check, WorkloadRole::time};
    problem.workloads.push_back(workload);
  }
  return problem;
}

DeviceFacts named(const std::string& name, DeviceKind kind = DeviceKind::cuda) {
  DeviceFacts facts = db::test::device();
  facts.name = name;
  facts.kind = kind;
  facts.uuid = name;
  return facts;
}

/// A search in the database that commits what it is given.
class Search {
 public:
  Search(VariantStore& store, const DeviceFacts& device, std::uint64_t seed = 1, std::string model = "",
         std::string prompts = "1")
      : store_(store),
        problem_(std::make_shared<const ProblemInstance>(ten_shapes())),
        method_(device.kind == DeviceKind::emulator ? std::string(kEmulatedMethod) : "event") {
    const SearchRecord record{.command = "generate_kernel",
                              .proposer = model.empty() ? "search" : "hybrid",
                              .strategy = "random",
                              .seed = seed,
                              .budgets = {{"evaluations", 10}},
                              .version = "0.1.0"};
    search = store_.begin_search(record, *problem_, device, kArch);
    if (!model.empty()) ask(model, prompts);
  }

  /// Every shape takes `us` microseconds, and some more the larger it is.
  void commit(int block, double us, Status status = Status::ok) {
    EvaluationRequest request;
    request.problem = problem_;
    request.candidate = db::test::Run(store_).request(block).candidate;
    request.arch = kArch;
    EvaluationResult result;
    result.outcome = {.status = status, .stage = StageId::verdict, .message = "", .diagnostics = {}};
    for (int i = 0; status == Status::ok && i < kShapes; ++i) {
      Measurement made;
      made.workload = fmt::format("n{}", i);
      made.method = method_;
      made.median_ns = made.ci_low_ns = made.ci_high_ns = 1000 * us * (1 + 0.01 * i * (block % 3));
      made.samples_ns = {static_cast<std::uint32_t>(made.median_ns)};
      result.measurements.push_back(made);
    }
    if (status == Status::ok) result.score_ns = 1000 * us;
    EvaluationRecord record;
    record.search = search;
    record.iteration = iteration_++;
    record.proposer = call_ ? "model" : "search";
    record.arm = iteration_ == 1 ? "start" : "improve";
    record.request = &request;
    record.result = &result;
    if (iteration_ > 1) record.llm_call = call_;
    best_ = store_.commit(record).variant;
  }

  void end() { store_.end_search(search, "finished", "", best_); }

  RowId search = 0;

 private:
  void ask(const std::string& model, const std::string& prompts) {
    LlmCallRecord record{.search = search,
                         .model = model,
                         .arm = "improve",
                         .credited_arm = "improve",
                         .prompt_version = prompts,
                         .bottleneck = "",
                         .request = Json::object()};
    call_ = store_.begin_llm_call(record);
    LlmReply reply;
    reply.usage.input_tokens = 1000;
    reply.usage.output_tokens = 500;
    if (model != "x:unpriced") reply.cost_usd = 0.25;
    store_.end_llm_call(*call_, reply, 10);
    store_.note_llm_reward(*call_, 0.75);
  }

  VariantStore& store_;
  std::shared_ptr<const ProblemInstance> problem_;
  std::string method_;
  int iteration_ = 0;
  std::optional<RowId> call_;
  std::optional<RowId> best_;
};

RowId search(VariantStore& store, const DeviceFacts& device, const std::vector<double>& times_us,
             std::uint64_t seed = 1, const std::string& model = "", const std::string& prompts = "1") {
  Search made(store, device, seed, model, prompts);
  int block = static_cast<int>(seed) * 1000;
  for (const double us : times_us) made.commit(++block, us, us > 0 ? Status::ok : Status::incorrect);
  made.end();
  return made.search;
}

SubjectComparison compared(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  return compare_subjects(folder.file(), find_subject(folder.file(), a), find_subject(folder.file(), b));
}

std::string input_error(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  try {
    static_cast<void>(compared(folder, a, b));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "nothing";
}

const ComparedMetric& metric(const SubjectComparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.metrics, name, &ComparedMetric::name);
  REQUIRE(found != comparison.metrics.end());
  return *found;
}

TEST_CASE("a search whose kernel is faster on every shape is faster beyond chance") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  const RowId a = search(*store, named("NVIDIA H200"), {100, 0, 90});
  const RowId b = search(*store, named("NVIDIA H200"), {100, 60, 40, 30}, 2);
  const auto comparison = compared(folder, fmt::format("search:{}", a), fmt::format("search:{}", b));
  REQUIRE(comparison.test);
  CHECK(comparison.test->pairs == kShapes);
  CHECK(comparison.test->wins == kShapes);
  CHECK(comparison.test->beyond_chance());
  CHECK_THAT(comparison.verdict, Catch::Contains("% faster") && Catch::Contains("more than chance"));
  CHECK(metric(comparison, "evaluations").first == 3);
  CHECK(metric(comparison, "verified").first == 2);
  CHECK(metric(comparison, "failed: incorrect").first == 1);
  CHECK(metric(comparison, "failed: incorrect").second == 0);
  CHECK(metric(comparison, "best after 3 evaluations").first == Approx(90));
  CHECK(metric(comparison, "best after 3 evaluations").second == Approx(40));
  CHECK_FALSE(comparison.estimated);
}

TEST_CASE("a search on the CPU device and one on a GPU have no pair and no score in common") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  const RowId a = search(*store, named("NVIDIA H200"), {100});
  const RowId b = search(*store, named("CPU", DeviceKind::emulator), {50}, 2);
  const RowId c = search(*store, named("CPU", DeviceKind::emulator), {60}, 3);
  const auto mixed = compared(folder, fmt::format("search:{}", a), fmt::format("search:{}", b));
  CHECK_FALSE(mixed.test);
  CHECK(mixed.pairs.empty());
  CHECK_THAT(mixed.notes.front(), Catch::Contains("do not compare"));
  for (const ComparedMetric& one : mixed.metrics) CHECK(one.unit != "us");
  const auto costs = compared(folder, fmt::format("search:{}", b), fmt::format("search:{}", c));
  CHECK(costs.estimated);
  CHECK(costs.test);
  CHECK_THAT(subject_comparison_text(costs), Catch::Contains("no GPU times"));
  CHECK(subject_comparison_json(costs)["measure"] == "estimated_cost");
  CHECK_FALSE(compared(folder, "device:h200", "device:CPU").test);
}

TEST_CASE("devices are compared by the variants that both timed, and named by part of their names") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  search(*store, named("NVIDIA H200"), {100, 90, 80});
  search(*store, named("NVIDIA A100-SXM4-80GB"), {220, 200});
  const auto comparison = compared(folder, "device:h200", "device:a100_sxm4");
  REQUIRE(comparison.test);
  CHECK(comparison.test->pairs == 2 * kShapes);
  CHECK(comparison.test->losses == 2 * kShapes);
  CHECK(comparison.test->ratio == Approx(2.2).epsilon(0.02));
  CHECK_THAT(comparison.verdict, Catch::Contains("% slower"));
  CHECK(metric(comparison, "variants").first == 3);
}

TEST_CASE("what is not priced costs nothing that is known, not nothing") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  const RowId a = search(*store, named("NVIDIA H200"), {100, 90}, 1, "x:unpriced");
  const RowId b = search(*store, named("NVIDIA H200"), {100, 80}, 2, "x:fast");
  const auto models = compared(folder, "model:x:unpriced", "model:x:fast");
  for (const char* name : {"cost", "cost of a verified candidate", "cost of a percent gained"}) {
    INFO(name);
    CHECK_FALSE(metric(models, name).first);
    CHECK(*metric(models, name).second > 0);
  }
  const auto searches = compared(folder, fmt::format("search:{}", a), fmt::format("search:{}", b));
  CHECK(metric(searches, "model tokens").first == 1500);
  CHECK_FALSE(metric(searches, "model cost").first);
  CHECK(metric(searches, "model cost").second == Approx(0.25));
  CHECK_THAT(subject_comparison_text(models), !Catch::Contains(" 0.0000 USD"));
}

TEST_CASE("models are compared by searches of one problem after as many evaluations") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    const auto s = static_cast<double>(seed);
    search(*store, named("NVIDIA H200"), {100, 90 + s, 10}, seed, "x:slow");
    search(*store, named("NVIDIA H200"), {100, 50 + s}, seed, "x:fast", "2");
  }
  search(*store, named("NVIDIA H200"), {100}, 99, "x:slow");
  const auto comparison = compared(folder, "model:slow", "model:x:fast");
  REQUIRE(comparison.test);
  CHECK(comparison.test->pairs == 9);
  CHECK(comparison.test->wins == 9);  // the third evaluation of the slow one does not count
  CHECK(comparison.test->beyond_chance());
  CHECK(metric(comparison, "searches").first == 10);
  CHECK(metric(comparison, "tokens in").second == 9000);
  CHECK(metric(comparison, "verified").second == Approx(100));
  CHECK(metric(comparison, "exchanges that took the lead").second == Approx(100));
  CHECK(metric(comparison, "cost of a verified candidate").second == Approx(0.25));
  CHECK(*metric(comparison, "cost of a percent gained").second > 0);
  CHECK_THAT(comparison.notes.back(), Catch::Contains("1 searches have no counterpart"));
  CHECK(compared(folder, "prompt:1", "prompt:2").test->pairs == 9);
}

TEST_CASE("what names nothing, several or two kinds is said") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  search(*store, named("NVIDIA H200"), {100});
  search(*store, named("NVIDIA H100"), {100}, 2);
  CHECK_THAT(input_error(folder, "search:77", "search:1"), Catch::Contains("no search 77"));
  CHECK_THAT(input_error(folder, "search:x", "search:1"), Catch::Contains("expected search:NUMBER"));
  CHECK_THAT(input_error(folder, "device:nvidia", "device:h100"), Catch::Contains("several"));
  CHECK_THAT(input_error(folder, "device:b200", "device:h100"), Catch::Contains("NVIDIA H100, NVIDIA H200"));
  CHECK_THAT(input_error(folder, "device:", "device:h100"), Catch::Contains("none"));
  CHECK_THAT(input_error(folder, "model:gpt", "model:x"), Catch::Contains("has no model"));
  CHECK_THAT(input_error(folder, "search:1", "device:h100"), Catch::Contains("two of one kind"));
  CHECK_THAT(input_error(folder, "device:h200", "device:H200"), Catch::Contains("name two"));
  CHECK_FALSE(subject_kind("searches:1"));
  CHECK_FALSE(subject_kind("12"));
  CHECK(subject_kind("session:1") == SubjectKind::search);  // the former name
  CHECK(find_subject(folder.file(), "session:1").name == "1");
  CHECK(subject_kind("prompt:") == SubjectKind::prompt);
}

TEST_CASE("a comparison is text, Markdown and JSON that say the same") {
  const TemporaryFolder folder;
  const auto store = db::open_store(folder.file());
  const RowId a = search(*store, named("NVIDIA | H200"), {100});
  const RowId b = search(*store, named("NVIDIA | H200"), {100, 50}, 2);
  const auto comparison = compared(folder, fmt::format("search:{}", a), fmt::format("search:{}", b));
  CHECK_THAT(subject_comparison_text(comparison), Catch::Contains(comparison.verdict));
  CHECK_THAT(subject_comparison_markdown(comparison), Catch::Contains("| evaluations | 1 | 2 |"));
  const Json json = subject_comparison_json(comparison);
  CHECK(json["test"]["pairs"] == kShapes);
  CHECK(json["verdict"] == comparison.verdict);
  CHECK(json["pairs"].size() == kShapes);
}

}  // namespace
}  // namespace ak::app
