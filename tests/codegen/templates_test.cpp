// SPDX-License-Identifier: Apache-2.0
// Contract of every shipped template and reference: new folders are covered without an edit here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "codegen/problem/problem_catalog.h"
#include "codegen/source/assemble.h"
#include "core/tuning/plan_space.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/build/compile.h"
#include "tests/support/daily_sample.h"

using namespace ak;

namespace {

constexpr int kRandomPoints = 3;

/// The problem with these params; nothing where it has no such combination.
std::shared_ptr<const ProblemInstance> instance_of(const codegen::Problem& problem,
                                                   const std::map<std::string, std::string>& given) {
  try {
    return codegen::instantiate(problem, codegen::choose_params(problem, given));
  } catch (const Error&) {
    return nullptr;
  }
}

/// A value of a param as on the command line.
std::string text_of(const ParamSpec& param, const Value& value) {
  if (param.type != ParamType::boolean) return to_string(value);
  return std::get<std::int64_t>(value) != 0 ? "true" : "false";
}

/// Every problem with each of its dtypes, and with each other value of each param alone, or with the first dtype that
/// the problem has it with.
using Instances = std::vector<std::shared_ptr<const ProblemInstance>>;
Instances load_instances() {
  Instances instances;
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    INFO(entry.name << ": " << entry.input_error);
    REQUIRE(entry.input_error.empty());
    const codegen::Problem problem = codegen::load_problem(entry.folder);
    std::vector<std::map<std::string, std::string>> with_dtype{{}};
    const auto dtype = std::ranges::find(problem.params, "dtype", &ParamSpec::name);
    if (dtype != problem.params.end()) {
      with_dtype.clear();
      for (const Value& value : dtype->choices) with_dtype.push_back({{"dtype", text_of(*dtype, value)}});
    }
    for (const auto& given : with_dtype)
      if (auto instance = instance_of(problem, given)) instances.push_back(std::move(instance));
    for (const ParamSpec& param : problem.params) {
      for (const Value& value : codegen::other_values(param)) {
        if (param.name == "dtype") continue;
        for (auto given : with_dtype) {
          given[param.name] = text_of(param, value);
          auto instance = instance_of(problem, given);
          if (!instance) continue;
          instances.push_back(std::move(instance));
          break;
        }
      }
    }
  }
  return instances;
}

/// Loaded once: it takes seconds.
const Instances& shipped_instances() {
  static const Instances all = load_instances();
  return all;
}

Candidate parsed(const CandidateFile& file) {
  const Result<Candidate> candidate = parse_candidate(file.name, file.source);
  if (!candidate) FAIL(file.name << ":" << candidate.error().line << ": " << candidate.error().message);
  return *candidate;
}

// Random points are built for the first two only: they differ most, and compiling takes time.
const std::array<Arch, 4> kArchs{Arch{8, 0, 0}, Arch{9, 0, 'a'}, Arch{8, 9, 0}, Arch{12, 0, 'a'}};
constexpr std::size_t kArchsWithRandomPoints = 2;

/// A space that can be searched whole: at 2,000 evaluations an hour, half an hour.
constexpr std::size_t kLargestSpace = 1000;

/// The default point and `more` random ones of the space that is valid for these params; none where the
/// template is not for this architecture or these params.
std::vector<TunableValues> some_points(const ProblemInstance& problem, const Candidate& candidate,
                                       const Arch& arch, std::mt19937& random, int more = kRandomPoints) {
  Environment known = problem.environment({});
  known.merge(device_environment(runtime::nominal_device(arch), arch));
  const TunableSpace space = plan_space(candidate.plan, known).value();
  if (space.size() == 0) return {};
  INFO(problem.definition.name << " " << candidate.name << " " << arch.sm());
  CHECK(space.size() <= kLargestSpace);
  REQUIRE(point_of(space, candidate.tunables));
  std::vector<TunableValues> points{candidate.tunables};
  for (int i = 0; i < more; ++i) points.push_back(tunables_of(space, space.point(random() % space.size())));
  return points;
}

bool has_fp8(const Definition& definition) {
  return std::ranges::any_of(definition.inputs, [](const TensorSpec& input) {
    return input.dtype == DType::float8_e4m3fn || input.dtype == DType::float8_e5m2;
  });
}

runtime::Compiler compiler() {
  const Result<runtime::CudaToolkit> toolkit = runtime::find_cuda_toolkit();
  if (!toolkit) FAIL(toolkit.error().message);
  const Result<runtime::Nvrtc> nvrtc = runtime::load_nvrtc(toolkit->nvrtc_library);
  if (!nvrtc) FAIL(nvrtc.error().message);
  return {*nvrtc, *toolkit};
}

void require_builds(runtime::Compiler& compile, const Result<TranslationUnit>& unit) {
  if (!unit) FAIL(unit.error().message);
  const BuildResult built = compile.compile(*unit);
  INFO(built.outcome.message << "\n" << built.log);
  REQUIRE(built.outcome.status == Status::ok);
  REQUIRE(built.kernels.size() == unit->kernels.size());
}

}  // namespace

// About a hundredth of the instances build, each for one of the architectures, and others on other days; tools/soak.sh
// builds all for all. Coprime with the number of architectures: every day has all of them.
constexpr std::size_t kTurns = 521;

TEST_CASE("every template builds for every dtype and architecture, at its default and at random points") {
  std::size_t instance = 0;
  std::mt19937 random;  // other points for every dtype and architecture, the same in every run
  runtime::Compiler compile = compiler();
  for (const auto& problem : shipped_instances()) {
    ++instance;
    for (std::size_t a = 0; a < kArchs.size(); ++a) {
      if (!testing::drawn_today(instance * kArchs.size() + a, kTurns)) continue;
      const Arch& arch = kArchs[a];
      const int more = a < kArchsWithRandomPoints ? kRandomPoints : 0;
      std::size_t points = 0;
      for (const CandidateFile& file : problem->templates) {
        Candidate candidate = parsed(file);
        for (const TunableValues& point : some_points(*problem, candidate, arch, random, more)) {
          ++points;
          candidate.tunables = point;
          std::string values;
          for (const auto& [name, value] : point) values += " " + name + "=" + std::to_string(value);
          INFO(problem->definition.name << " " << file.name << " " << arch.sm() << values);
          REQUIRE(codegen::pre_check(*problem, candidate).empty());
          require_builds(compile, codegen::assemble(*problem, candidate, arch));
        }
      }
      INFO(problem->definition.name << " " << arch.sm());
      // mma.sync takes fp8 from sm_89 on.
      const bool before_fp8 = arch.major * 10 + arch.minor < 89 && has_fp8(problem->definition);
      REQUIRE((points > 0 || before_fp8));
    }
  }
}

TEST_CASE("every reference builds exactly, as the twin and with every mutation") {
  constexpr std::size_t kReferenceTurns = 157;
  runtime::Compiler compile = compiler();
  std::size_t instance = 0;
  for (const auto& problem : shipped_instances()) {
    if (!testing::drawn_today(++instance, kReferenceTurns)) continue;
    INFO(problem->definition.name);
    using codegen::ReferenceMode;
    require_builds(compile, codegen::assemble_reference(*problem, kArchs[1], ReferenceMode::exact));
    require_builds(compile, codegen::assemble_reference(*problem, kArchs[1], ReferenceMode::twin));
    for (std::size_t i = 0; i < problem->mutations.size(); ++i) {
      const Mutation& mutation = problem->mutations[i];
      if (!testing::drawn_today(instance / kReferenceTurns + i, 2)) continue;
      INFO(mutation.name);
      REQUIRE(problem->reference_cu.find(mutation.macro) != std::string::npos);
      require_builds(compile,
                     codegen::assemble_reference(*problem, kArchs[1], ReferenceMode::twin, &mutation));
    }
  }
}

TEST_CASE("the plans of templates and references resolve for every workload, at random points too") {
  std::mt19937 random;
  const Arch arch{9, 0, 'a'};
  const Environment device = device_environment(runtime::nominal_device(arch), arch);
  const auto require_resolves = [&](const ProblemInstance& problem, const Candidate& candidate) {
    for (const Workload& workload : problem.workloads) {
      Environment environment = problem.environment(workload.axes);
      environment.insert(device.begin(), device.end());
      for (const auto& [name, value] : candidate.tunables) environment[name] = value;
      const Result<ResolvedPlan> plan = resolve(candidate.plan, environment);
      INFO(problem.definition.name << " " << candidate.name << " " << workload.name << ": "
                                   << (plan ? "" : plan.error().message));
      REQUIRE(plan.ok());
    }
  };
  std::size_t instance = 0;
  for (const auto& problem : shipped_instances()) {
    if (!testing::drawn_today(++instance, 13)) continue;
    require_resolves(*problem, parsed({"reference.cu", problem->reference_cu}));
    for (const CandidateFile& file : problem->templates) {
      Candidate candidate = parsed(file);
      for (const TunableValues& point : some_points(*problem, candidate, arch, random)) {
        candidate.tunables = point;
        require_resolves(*problem, candidate);
      }
    }
  }
}

TEST_CASE("the template spaces of softmax and vector_add have hundreds of points") {
  std::map<std::string, std::size_t> largest;
  for (const auto& problem : shipped_instances()) {
    if (problem->problem != "softmax" && problem->problem != "vector_add") continue;
    for (const CandidateFile& file : problem->templates) {
      const std::size_t size = plan_space(parsed(file).plan, problem->environment({})).value().size();
      largest[problem->problem] = std::max(largest[problem->problem], size);
    }
  }
  CHECK(largest["softmax"] >= 300);
  CHECK(largest["vector_add"] >= 200);
}
