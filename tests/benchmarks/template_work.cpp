// SPDX-License-Identifier: Apache-2.0
// The shipped templates, built as an evaluation builds them.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/problem/problem_catalog.h"
#include "codegen/source/assemble.h"
#include "core/plan/random_input.h"
#include "runtime/build/candidate_plan.h"
#include "tests/benchmarks/emulator_work.h"
#include "tests/support/host_draws.h"

namespace ak::benchmark {
namespace {

const Arch kTarget{9, 0, 'a'};

struct Point {
  const char *problem, *file, *dtype;
  TunableValues tunables;  ///< that are not at their defaults
  const char *shape, *quick_shape;
};

// Defaults and two other points of every template: narrow and wide accesses, small and large blocks. Shapes
// for 100 to 260 million thread instructions.
std::vector<Point> points() {
  constexpr auto kAdd = "vector_add.cu", kOnce = "reduce_sum_single_pass.cu",
                 kTwice = "reduce_sum_two_pass.cu", kOnline = "softmax_online.cu",
                 kRegisters = "softmax_registers.cu";
  return {
      {"vector_add", kAdd, "float32", {}, "N=24000000", "N=5000"},
      {"vector_add",
       kAdd,
       "float16",
       {{"BLOCK", 128}, {"VEC_BYTES", 4}, {"UNROLL", 1}},
       "N=12000000",
       "N=5000"},
      {"vector_add",
       kAdd,
       "bfloat16",
       {{"BLOCK", 512}, {"VEC_BYTES", 8}, {"PERSISTENT", 1}},
       "N=24000000",
       "N=5000"},
      {"reduce_sum", kTwice, "float32", {}, "N=36000000", "N=5000"},
      {"reduce_sum", kTwice, "float16", {{"VEC_BYTES", 4}, {"UNROLL", 1}}, "N=12000000", "N=5000"},
      {"reduce_sum", kTwice, "bfloat16", {{"BLOCK", 1024}, {"UNROLL", 8}}, "N=36000000", "N=5000"},
      {"reduce_sum", kOnce, "float32", {}, "N=36000000", "N=5000"},
      {"reduce_sum", kOnce, "float16", {{"BLOCK", 128}, {"VEC_BYTES", 8}}, "N=24000000", "N=5000"},
      {"reduce_sum", kOnce, "bfloat16", {{"CACHE", 1}, {"BLOCKS_PER_SM", 16}}, "N=36000000", "N=5000"},
      {"softmax", kOnline, "float32", {}, "M=1024,N=8192", "M=2,N=300"},
      {"softmax", kOnline, "float16", {{"FAST_EXP", 0}, {"REVERSE", 0}}, "M=768,N=4096", "M=2,N=300"},
      {"softmax", kOnline, "bfloat16", {{"BLOCK", 64}, {"VEC_BYTES", 4}}, "M=3072,N=2048", "M=2,N=300"},
      {"softmax", kRegisters, "float32", {}, "M=3072,N=2048", "M=2,N=300"},
      {"softmax",
       kRegisters,
       "float16",
       {{"THREADS_PER_ROW", 32}, {"ROWS_PER_BLOCK", 8}, {"UNROLL", 4}},
       "M=8192,N=1024",
       "M=2,N=300"},
      {"softmax",
       kRegisters,
       "bfloat16",
       {{"THREADS_PER_ROW", 128}, {"VEC_BYTES", 4}, {"UNROLL", 8}, {"FAST_EXP", 0}},
       "M=3072,N=2048",
       "M=2,N=300"},
  };
}

std::string name_of(const Point& point) {
  std::string name =
      fmt::format("{} {}", std::string_view(point.file).substr(0, std::strlen(point.file) - 3), point.dtype);
  for (const auto& [tunable, value] : point.tunables) name += fmt::format(" {}={}", tunable, value);
  return name;
}

void add_buffers(Work& work, const ProblemInstance& problem, const runtime::WorkloadPlan& plan) {
  const Definition& definition = problem.definition;
  const auto bytes_of = [&](const TensorSpec& tensor) {
    return static_cast<std::uint64_t>(element_count(definition, tensor, plan.workload->axes)) *
           static_cast<std::uint64_t>(info(tensor.dtype).bytes);
  };
  const auto draws = problem.draws(problem.distributions.front(), plan.workload->axes);
  for (std::size_t i = 0; i < definition.inputs.size(); ++i) {
    const TensorSpec& tensor = definition.inputs[i];
    std::vector<std::byte> bytes(bytes_of(tensor));
    testing::fill_random(bytes, tensor.dtype, tensor_key(1, tensor.name), draws.value()[i]);
    work.add_input(tensor.name, bytes);
  }
  for (const TensorSpec& tensor : definition.outputs) work.add_memory(tensor.name, bytes_of(tensor));
  for (const ResolvedWorkspace& workspace : plan.plan.workspace) {
    work.add_memory(
        workspace.name,
        static_cast<std::uint64_t>(workspace.count) * static_cast<std::uint64_t>(info(workspace.dtype).bytes),
        workspace.init == WorkspaceInit::zero);
  }
}

template <class T, class E>
T value_or_fail(Result<T, E> result, const std::string& what) {
  if (!result) fail(ExitCode::environment, "{}: {}", what, result.error().message);
  return std::move(result).value();
}

Work make_work(const Point& point, runtime::Compiler& compiler, bool quick) {
  const std::string name = name_of(point);
  const codegen::Problem family = codegen::load_problem(codegen::find_problem(point.problem));
  const auto problem = codegen::with_shape(
      *codegen::instantiate(family, codegen::choose_params(family, {{"dtype", point.dtype}})),
      quick ? point.quick_shape : point.shape);
  const auto file = std::find_if(problem->templates.begin(), problem->templates.end(),
                                 [&](const CandidateFile& each) { return each.name == point.file; });
  AK_ASSERT(file != problem->templates.end(), "the template is shipped");
  Candidate candidate = value_or_fail(parse_candidate(file->name, file->source), name);
  for (const auto& [tunable, value] : point.tunables) candidate.tunables.at(tunable) = value;
  Work work(name, compiler, value_or_fail(codegen::assemble(*problem, candidate, kTarget), name));
  const Environment device = device_environment(runtime::emulated_device_facts(kTarget), kTarget);
  const auto plans =
      value_or_fail(runtime::resolve_plans(*problem, candidate, {&problem->workloads.front()}, device), name);
  add_buffers(work, *problem, plans.front());
  for (const ResolvedLaunch& launch : plans.front().plan.launches) work.add_launch(launch);
  return work;
}

}  // namespace

std::vector<WorkFactory> template_works(runtime::Compiler& compiler, bool quick) {
  std::vector<WorkFactory> works;
  for (const Point& point : points())
    works.push_back(
        {name_of(point), [&compiler, point, quick] { return make_work(point, compiler, quick); }});
  return works;
}

}  // namespace ak::benchmark
