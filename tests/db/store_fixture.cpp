// SPDX-License-Identifier: Apache-2.0
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include "db/rows.h"
#include "db/schema.h"

namespace ak::db::test {
namespace {

constexpr std::string_view kSource = R"cu(/* alphakernel
{"tunables": {"BLOCK": {"values": [128, 256], "default": 128}},
 "launches": [{"kernel": "add", "grid": ["ceil_div(N, BLOCK)"], "block": ["BLOCK"], "args": ["a", "b", "c", {"i32": "N"}]}],
 "options": ["fast_math"]}
*/
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
)cu";

Workload workload(const char* name, std::int64_t size, std::vector<WorkloadRole> roles) {
  Workload made;
  made.name = name;
  made.uid = fmt::format("uid-{}", name);
  made.axes["N"] = size;
  made.roles = std::move(roles);
  return made;
}

TensorSpec vector(const char* name) {
  TensorSpec tensor;
  tensor.name = name;
  tensor.shape = {"N"};
  return tensor;
}

CheckRecord check(const char* name, bool passed) {
  CheckRecord record;
  record.workload = name;
  record.distribution = "normal";
  record.seed = ~0ull;
  record.tensor = "c";
  record.passed = passed;
  record.max_error = passed ? 1e-7 : 0.5;
  record.mean_error = passed ? 1e-8 : 0.25;
  record.tolerance = 1e-6;
  return record;
}

Measurement measurement(MeasurementRole role, std::string label, double median_ns) {
  Measurement made;
  made.workload = "large";
  made.role = role;
  made.label = std::move(label);
  made.median_ns = made.ci_low_ns = made.ci_high_ns = median_ns;
  made.samples_ns = {1, 256, 0xFFFFFFFF};
  return made;
}

BuildResult build() {
  BuildResult made;
  made.outcome.status = Status::ok;
  made.key = "key";
  made.ptx = "ptx";
  made.cubin = "cubin";
  made.nvrtc_version = "13.0";
  made.compile_ms = 150;
  KernelFacts kernel;
  kernel.expression = "add";
  kernel.lowered_name = "add";
  kernel.registers = 32;
  kernel.static_shared_bytes = 2048;
  made.kernels = {kernel};
  return made;
}

bool executed(Status status) { return status == Status::ok || status == Status::incorrect; }

}  // namespace

PreparedFile::PreparedFile() : connection(folder.file(), OpenMode::create) {
  prepare_database(connection, folder.file());
}
std::int64_t PreparedFile::count(const std::string& what) {
  return select_integer(connection, "SELECT count(*) FROM " + what).value();
}

ProblemInstance vector_add() {
  ProblemInstance problem{.problem = "vector_add",
                          .folder = {},
                          .params = {},
                          .definition = {},
                          .aliases = {},
                          .flops = Expression::parse("N").value(),
                          .bytes_read = Expression::parse("8 * N").value(),
                          .bytes_written = Expression::parse("4 * N").value(),
                          .tolerance = {},
                          .distributions = {},
                          .mutations = {},
                          .workloads = {},
                          .reference_cu = "",
                          .templates = {},
                          .sources_cited = {}};
  problem.params["dtype"] = std::string("float32");
  problem.definition.name = "vector_add_float32";
  problem.definition.op_type = "vector_add";
  problem.definition.axes = {{.name = "N", .value = {}, .description = ""}};
  problem.definition.inputs = {vector("a"), vector("b")};
  problem.definition.outputs = {vector("c")};
  problem.workloads = {workload("small", 1'000, {WorkloadRole::check}),
                       workload("large", 1'000'000, {WorkloadRole::check, WorkloadRole::time})};
  return problem;
}

DeviceFacts device() {
  DeviceFacts facts;
  facts.kind = DeviceKind::cuda;
  facts.name = "Test GPU";
  facts.uuid = "GPU-1";
  facts.arch = {.major = 9, .minor = 0, .feature = 'a'};
  facts.sm_count = 132;
  facts.memory_clock_mhz = 1'000;
  facts.memory_bus_bits = 8'000;
  return facts;
}

Run::Run(VariantStore& into, const DeviceFacts& on, ProblemInstance of)
    : store(into), problem(std::make_shared<const ProblemInstance>(std::move(of))) {
  const SearchRecord record{.command = "generate_kernel --algorithm vector_add",
                            .proposer = "search",
                            .strategy = "random",
                            .seed = 7,
                            .budgets = {{"evaluations", 10}},
                            .version = "0.1.0"};
  search = store.begin_search(record, *problem, on, {.major = 9, .minor = 0, .feature = 'a'});
}

EvaluationRequest Run::request(int block) const {
  EvaluationRequest made;
  made.problem = problem;
  made.candidate = parse_candidate("vector_add.cu", kSource).value();
  made.candidate.tunables["BLOCK"] = block;
  made.arch = {.major = 9, .minor = 0, .feature = 'a'};
  made.seed = ~0ull;
  return made;
}

EvaluationResult Run::result(Status status, double median_ns) {
  EvaluationResult made;
  made.outcome = {.status = status, .stage = StageId::verdict, .message = "", .diagnostics = {}};
  made.build = build();
  made.occupancy = Occupancy{.blocks_per_sm = 4, .ratio = 0.5, .limiter = "registers"};
  made.stage_times.total_ms = 1500;
  if (!executed(status)) return made;
  made.checks = {check("small", true), check("large", status == Status::ok)};
  if (status != Status::ok) return made;
  made.measurements = {measurement(MeasurementRole::candidate, "", median_ns),
                       measurement(MeasurementRole::baseline, "naive", 2'000'000)};
  made.score_ns = median_ns;
  return made;
}

StoredEvaluation Run::commit(int block, Status status, double median_ns) {
  return commit(request(block), result(status, median_ns));
}

StoredEvaluation Run::commit(const EvaluationRequest& request, const EvaluationResult& result,
                             const std::string& arm, const AskRecord* asked) {
  EvaluationRecord record;
  record.search = search;
  record.iteration = iteration++;
  record.proposer = "search";
  record.arm = arm;
  record.request = &request;
  record.result = &result;
  record.asked = asked;
  return store.commit(record);
}

Cell cell(const std::filesystem::path& file, const std::string& sql) {
  const Table table = query(file, sql, 2, testing::kPatience);
  if (table.rows.size() != 1 || table.columns.size() != 1)
    throw std::runtime_error(fmt::format("{} rows of '{}'", table.rows.size(), sql));
  return table.rows[0][0];
}
std::int64_t integer(const std::filesystem::path& file, const std::string& sql) {
  return std::get<std::int64_t>(cell(file, sql));
}
std::int64_t version_of(const std::filesystem::path& file) {
  return Connection(file, OpenMode::read_only).pragma("user_version");
}
void execute(const std::filesystem::path& file, const std::string& sql) {
  Connection(file, OpenMode::create).execute(sql);
}
double real(const std::filesystem::path& file, const std::string& sql) {
  return std::get<double>(cell(file, sql));
}
std::string text(const std::filesystem::path& file, const std::string& sql) {
  return std::get<std::string>(cell(file, sql));
}
bool is_null(const std::filesystem::path& file, const std::string& sql) {
  return std::holds_alternative<std::monostate>(cell(file, sql));
}

bool intact(const std::filesystem::path& file) {
  return text(file, "PRAGMA integrity_check") == "ok" &&
         query(file, "PRAGMA foreign_key_check", 1, testing::kPatience).rows.empty();
}

}  // namespace ak::db::test
