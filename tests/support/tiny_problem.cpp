// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tiny_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace ak::test {
namespace {

constexpr std::string_view kReference = R"cu(/* alphakernel
{{"launches": [{{"kernel": "reference", "grid": ["min(ceil_div({4}, 256), 4096)"], "block": [256], "args": ["a", "b", "c", {{"i64": "{4}"}}{5}]}}]}}
*/
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using scalar_t = {0};
#ifdef AK_EXACT
using wide_t = {1};
using out_t = {1};
#else
using wide_t = {2};
using out_t = {0};
#endif
struct Reader {{
  const scalar_t* data;
  __device__ wide_t operator[](long long i) const {{ return static_cast<wide_t>(static_cast<{2}>(data[i])); }}
}};
extern "C" __global__ void reference(const scalar_t* a_data, const scalar_t* b_data, out_t* c, long long n{6}) {{
  const Reader a{{a_data}}, b{{b_data}};
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) c[i] = static_cast<out_t>({3});
}}
)cu";

std::string reference_source(const TinyProblem& tiny) {
  const DTypeInfo& dtype = info(tiny.dtype);
  const char* narrow = dtype.floating ? (tiny.dtype == DType::float64 ? "double" : "float") : "long long";
  return fmt::format(fmt::runtime(kReference), dtype.cuda_type, dtype.floating ? "double" : "long long",
                     narrow, tiny.expression, tiny.columns == 1 ? "N" : "N * C",
                     tiny.scalars.empty() ? "" : R"(, "s")", tiny.scalars.empty() ? "" : ", float s");
}

Workload make_workload(std::int64_t size, bool timed) {
  Workload workload;
  workload.name = fmt::format("{}{}", timed ? "t" : "n", size);
  workload.uid = workload.name;
  workload.axes["N"] = size;
  workload.tier = timed ? WorkloadTier::gpu : WorkloadTier::emulator;
  workload.roles =
      timed ? std::vector{WorkloadRole::check, WorkloadRole::time} : std::vector{WorkloadRole::check};
  return workload;
}

TranslationUnit make_unit(std::string name, std::string source, std::vector<std::string> kernels,
                          const Arch& arch) {
  TranslationUnit unit;
  unit.file_name = std::move(name);
  unit.source = std::move(source);
  unit.options = {"--std=c++17", "--device-as-default-execution-space", "--generate-line-info",
                  "--ptxas-options=-v"};
  unit.kernels = std::move(kernels);
  unit.arch = arch;
  return unit;
}

std::vector<std::string> kernels_of(const LaunchPlan& plan) {
  std::vector<std::string> kernels;
  for (const auto* launches : {&plan.prepare, &plan.launches}) {
    for (const LaunchPlanEntry& launch : *launches)
      if (std::ranges::find(kernels, launch.kernel) == kernels.end()) kernels.push_back(launch.kernel);
  }
  return kernels;
}

Result<TranslationUnit> reference_unit(const ProblemInstance& problem, const Arch& arch,
                                       const std::string& macro) {
  auto unit = make_unit("reference.cu", problem.reference_cu, {"reference"}, arch);
  unit.options.push_back("-D" + macro);
  return unit;
}

}  // namespace

std::shared_ptr<const ProblemInstance> make_problem(const TinyProblem& tiny) {
  const Expression elements = Expression::parse("N").value();
  const auto bytes = [&](int an_element) {
    return Expression::parse(fmt::format("{} * N", an_element)).value();
  };
  const int element_bytes = info(tiny.dtype).bytes;
  auto problem = std::make_shared<ProblemInstance>(
      ProblemInstance{.problem = "tiny",
                      .folder = "/nowhere/tiny",
                      .params = {},
                      .definition = {},
                      .aliases = {},
                      .flops = elements,
                      .bytes_read = bytes(tiny.bytes_read_an_element.value_or(2 * element_bytes)),
                      .bytes_written = bytes(element_bytes),
                      .tolerance = {},
                      .distributions = tiny.distributions,
                      .mutations = {},
                      .workloads = {},
                      .reference_cu = reference_source(tiny),
                      .templates = {},
                      .sources_cited = {}});
  Definition& definition = problem->definition;
  definition.name = fmt::format("tiny_{}", info(tiny.dtype).name);
  definition.axes = {{.name = "N", .value = {}, .description = {}}};
  std::vector<std::string> shape{"N"};
  if (tiny.columns != 1) {
    definition.axes.push_back({.name = "C", .value = tiny.columns, .description = {}});
    shape.emplace_back("C");
  }
  for (const char* name : {"a", "b"})
    definition.inputs.push_back({.name = name, .shape = shape, .dtype = tiny.dtype, .description = {}});
  definition.inputs.back().weight = tiny.weight;
  if (!tiny.scalars.empty()) {
    definition.inputs.push_back(
        {.name = "s", .shape = {}, .dtype = DType::float32, .description = {}, .values = tiny.scalars});
    for (InputDistribution& distribution : problem->distributions)
      distribution.tensors["s"] = {.kind = InputKind::choices, .choices = tiny.scalars};
  }
  definition.outputs = {{.name = "c", .shape = shape, .dtype = tiny.dtype, .description = {}}};
  if (tiny.in_place) problem->aliases["c"] = "a";
  problem->tolerance = tiny.tolerance;
  problem->tolerance.allow_nondeterministic = tiny.allow_nondeterministic;
  for (const std::int64_t size : tiny.check_sizes) problem->workloads.push_back(make_workload(size, false));
  for (const std::int64_t size : tiny.time_sizes) problem->workloads.push_back(make_workload(size, true));
  return problem;
}

runtime::SourceAssembler plain_assembler() {
  return {
      .pre_check = [](const ProblemInstance&, const Candidate&) { return std::vector<Diagnostic>{}; },
      .candidate = [](const ProblemInstance&, const Candidate& candidate,
                      const Arch& arch) -> Result<TranslationUnit> {
        return make_unit(candidate.name, candidate.source, kernels_of(candidate.plan), arch);
      },
      .exact_reference = [](const ProblemInstance& problem,
                            const Arch& arch) { return reference_unit(problem, arch, "AK_EXACT"); },
      .twin_reference = [](const ProblemInstance& problem,
                           const Arch& arch) { return reference_unit(problem, arch, "AK_TWIN"); },
      .plain = [](std::string name, std::string source,
                  const Arch& arch) { return make_unit(std::move(name), std::move(source), {}, arch); },
  };
}

Candidate make_candidate(const std::string& name, const std::string& plan, const std::string& source) {
  auto candidate = parse_candidate(name, "/* alphakernel\n" + plan + "\n*/\n" + source);
  if (!candidate) throw std::runtime_error(candidate.error().message);
  return std::move(candidate).value();
}

std::string elementwise_plan(const std::string& kernel, const std::string& elements) {
  return fmt::format(
      R"json({{"launches": [{{"kernel": "{0}", "grid": ["ceil_div({1}, 256)"], "block": [256], "args": ["a", "b", "c", {{"i64": "{1}"}}]}}]}})json",
      kernel, elements);
}

std::vector<std::string>
self_as_worker() {  // Not the link itself: a launcher that starts the worker is another program.
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "worker"};
}

}  // namespace ak::test
