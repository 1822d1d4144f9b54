// SPDX-License-Identifier: Apache-2.0
#include "tests/support/timing_bench.h"

#include <catch2/catch.hpp>

#include "runtime/build/candidate_plan.h"
#include "runtime/evaluator/problem_build.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"

namespace ak::test {
namespace {

constexpr Arch kStandIn{.major = 9, .minor = 0, .feature = 'a'};

Arch arch_of(DeviceKind device) {
  if (device == DeviceKind::emulator) return kStandIn;
  std::string why;
  const auto devices = runtime::probe_devices(self_as_worker(), why);
  INFO(why);
  REQUIRE_FALSE(devices.empty());
  return devices.front().arch;
}

}  // namespace

TimingBench::TimingBench(DeviceKind device, const TinyProblem& tiny)
    : device_(device),
      arch_(arch_of(device)),
      problem_(make_problem(tiny)),
      pool_({.worker_command = self_as_worker(),
             .workers = 1,
             .deadline = testing::kPatience,
             .cache_dir = testing::shared_build_cache()}) {
  open();
}

BuildResult TimingBench::build(const TranslationUnit& unit) {
  static_cast<void>(pool_.submit(unit));
  auto built = pool_.wait(testing::out_of_patience());
  REQUIRE(built);
  INFO(built->result.log);
  REQUIRE(built->result.outcome.status == Status::ok);
  return std::move(built->result);
}

void TimingBench::open() {
  std::vector<TranslationUnit> units;
  runtime::ProblemBuild parts(problem_, arch_, plain_assembler(), [&](const TranslationUnit& unit) {
    units.push_back(unit);
    return units.size();
  });
  for (std::size_t i = 0; i < units.size(); ++i) REQUIRE(parts.take(i + 1, build(units[i])));
  if (device_ == DeviceKind::emulator) emulated_.emplace(arch_);
  context_.emplace(0);
  stream_.emplace(runtime::create_stream());
  opened_ = *parts.open_problem(device_environment(context_->facts(), arch_), 0, device_);
  kernels_.emplace(opened_.harness_image, stream_->get());
  run_context_.emplace(runtime::RunContext{.context = *context_,
                                           .stream = stream_->get(),
                                           .kernels = *kernels_,
                                           .problem = opened_,
                                           .report = [](const runtime::Progress&) {},
                                           .random = std::mt19937_64(1),
                                           .inspector = runtime::driver().inspector});
  reference_ = runtime::make_reference(*run_context_);
  store_.emplace(*run_context_, *reference_);
}

TimingBench::Program TimingBench::program(const std::string& source, const std::string& workload,
                                          const std::string& plan) {
  const Candidate candidate = make_candidate("candidate", plan, source);
  const auto unit = plain_assembler().candidate(*problem_, candidate, arch_);
  REQUIRE(unit);
  Program program{.image = {}, .build = build(*unit), .plan = {}, .loaded = {}};
  program.image = runtime::kernel_image(program.build, device_);
  auto plans =
      runtime::resolve_plans(*problem_, candidate, runtime::select_workloads(*problem_, {workload}, device_),
                             device_environment(context_->facts(), arch_));
  REQUIRE(plans);
  program.plan = std::move(plans.value().front().plan);
  program.loaded = std::make_unique<runtime::LoadedImage>(program.image, "a test program");
  return program;
}

runtime::TimingTarget TimingBench::target(const Program& program, const std::string& workload) {
  return {.bind =
              [this, &program](std::shared_ptr<const runtime::DataSet> data,
                               const runtime::CandidateRun* outputs_of) {
                return runtime::CandidateRun::create(*run_context_, std::move(data), program.plan,
                                                     *program.loaded, false, outputs_of);
              },
          .workload = opened_.workload(workload),
          .label = {},
          .champion_score_ns = {},
          .variables = program.loaded->variables(program.image)};
}

}  // namespace ak::test
