// SPDX-License-Identifier: Apache-2.0
#include "tests/support/device_bench.h"

#include <catch2/catch.hpp>

#include "runtime/evaluator/compute_sanitizer.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"

namespace ak::test {

namespace {

DeviceFacts gpu() {
  std::string why;
  const auto devices = runtime::probe_devices(self_as_worker(), why);
  INFO(why);
  REQUIRE_FALSE(devices.empty());
  return devices.front();
}

runtime::EvaluatorOptions bench_options(DeviceKind device) {
  runtime::EvaluatorOptions options;
  options.device = device;
  options.target = device == DeviceKind::cuda ? gpu().arch : Arch{.major = 9, .minor = 0, .feature = 'a'};
  options.compile_workers = 2;
  options.worker_command = self_as_worker();
  options.compile_deadline = testing::kPatience;
  options.cache_dir = testing::shared_build_cache();
  options.time_baseline = false;
  return options;
}

}  // namespace

DeviceBench::DeviceBench(std::unique_ptr<Evaluator> evaluator, const TinyProblem& tiny)
    : problem_(make_problem(tiny)), evaluator_(std::move(evaluator)) {}

DeviceBench::DeviceBench(DeviceKind device, const TinyProblem& tiny, bool time_baseline)
    : problem_(make_problem(tiny)) {
  runtime::EvaluatorOptions options = bench_options(device);
  options.time_baseline = time_baseline;
  evaluator_ = runtime::make_local_evaluator(std::move(options), plain_assembler());
}

SanitizerBench::SanitizerBench(const TinyProblem& tiny)
    : DeviceBench(runtime::make_compute_sanitizer(bench_options(DeviceKind::cuda), plain_assembler(),
                                                  runtime::find_compute_sanitizer(), gpu()),
                  tiny) {}

EvaluationRequest DeviceBench::request(const std::string& plan, const std::string& source) {
  EvaluationRequest request;
  request.problem = problem_;
  request.candidate = make_candidate("candidate_" + std::to_string(++count_), plan, source);
  request.arch = evaluator_->capabilities().device.arch;
  request.seed = 0x5eed;
  return request;
}

EvaluationResult DeviceBench::run(EvaluationRequest request) {
  static_cast<void>(evaluator_->submit(std::move(request)));
  auto completed = evaluator_->wait_any(testing::out_of_patience());
  REQUIRE(completed);
  return std::move(completed->result);
}

EvaluationResult DeviceBench::run(const std::string& plan, const std::string& source, Depth depth,
                                  std::optional<Arch> arch) {
  EvaluationRequest wanted = request(plan, source);
  wanted.arch = arch.value_or(wanted.arch);
  wanted.depth = depth;
  return run(std::move(wanted));
}

std::string kernel(const std::string& body, const std::string& type, const std::string& before) {
  return "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n" + before +
         "\nextern \"C\" __global__ void k(const " + type + "* a, const " + type + "* b, " + type +
         "* c, long long n) {\n  const long long i = blockIdx.x * 256ll + threadIdx.x;\n" + body + "\n}\n";
}

std::string describe(const EvaluationResult& result) {
  std::string text = std::string(to_string(result.outcome.status)) + " at " +
                     std::string(to_string(result.outcome.stage)) + ": " + result.outcome.message;
  for (const Diagnostic& diagnostic : result.outcome.diagnostics)
    text += fmt::format("\n  line {}: {}", diagnostic.line, diagnostic.message.substr(0, 300));
  for (const CheckRecord& check : result.checks) {
    text += fmt::format(
        "\n  check {} {} {}: passed {} max {} mean {} tolerance {} worst {} got {} expected {}",
        check.workload, check.distribution, check.tensor, check.passed, check.max_error, check.mean_error,
        check.tolerance, check.worst_index, check.worst_got, check.worst_expected);
  }
  for (const Measurement& m : result.measurements) {
    text += fmt::format("\n  time {} {}: median {} ns [{}, {}], {} samples, truncated {}, {} MHz", m.workload,
                        m.label, m.median_ns, m.ci_low_ns, m.ci_high_ns, m.samples_ns.size(), m.truncated,
                        m.sm_clock_mhz);
  }
  if (result.build && result.build->outcome.status != Status::ok)
    text += "\n" + result.build->log.substr(0, 2'000);
  return text;
}

}  // namespace ak::test
