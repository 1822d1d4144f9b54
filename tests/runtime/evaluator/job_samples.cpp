// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/evaluator/job_samples.h"

#include <stdexcept>

#include "runtime/evaluator/plan_inspection.h"

namespace ak::runtime::test {

DeviceFacts target_device() {
  DeviceFacts facts = nominal_device(kTarget);
  facts.kind = DeviceKind::cuda;
  facts.clock_mhz = 1'980;
  facts.memory_clock_mhz = 3'201;
  facts.memory_bus_bits = 6'016;
  return facts;
}

Environment target_environment() { return device_environment(nominal_device(kTarget), kTarget); }

EvaluationRequest add_request(const ak::test::TinyProblem& tiny) {
  EvaluationRequest request;
  request.problem = ak::test::make_problem(tiny);
  request.candidate =
      ak::test::make_candidate("dir/add.cu", ak::test::elementwise_plan("add"), "// the kernel `add`");
  request.arch = kTarget;
  return request;
}

BuildResult add_build() {
  BuildResult build;
  build.outcome.status = Status::ok;
  build.ptx = ".version 8.0\n.visible .entry add()\n{\nret;\n}\n";
  build.cubin = "machine code";
  KernelFacts& kernel = build.kernels.emplace_back();
  kernel.expression = kernel.lowered_name = "add";
  kernel.registers = 32;
  kernel.static_shared_bytes = 1'024;
  kernel.parameter_types = {"u64", "u64", "u64", "u64"};
  return build;
}

EvaluationJob built_job(const ak::test::TinyProblem& tiny) {
  EvaluationJob job;
  job.request = add_request(tiny);
  job.result.build = add_build();
  return job;
}

EvaluationJob inspected_job(const ak::test::TinyProblem& tiny, DeviceKind device) {
  EvaluationJob job = built_job(tiny);
  if (auto wrong = inspect_plans(job, device, target_environment())) throw std::runtime_error(wrong->message);
  return job;
}

Measurement cold_time(const std::string& workload, double median_ns) {
  Measurement measurement;
  measurement.workload = workload;
  measurement.median_ns = median_ns;
  return measurement;
}

}  // namespace ak::runtime::test
