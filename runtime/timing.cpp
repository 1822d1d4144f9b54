// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/stats.h"
#include "runtime/check.h"
#include "runtime/sampling.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kSets =
    2;  ///< of inputs and outputs: a result kept from the call before is wrong for this one
constexpr int kWarmUps = 3;  ///< untimed samples: clocks, instruction cache, lazy loading
// Enqueueing a launch takes 2-4 us of host time; the GPU is kept busy that long, so that launches run back to
// back.
constexpr std::uint64_t kHostNsPerLaunch = 5'000;
constexpr std::chrono::milliseconds kReportInterval{250};

// Over twice the L2, as half of it may stay resident under a replacement policy that is not plain LRU.
std::size_t flush_bytes(const DeviceFacts& facts) {
  return std::max<std::size_t>(64u << 20, 2 * static_cast<std::size_t>(facts.l2_bytes) + (16u << 20));
}

Outcome timing_fault(CUresult result, const CandidateRun& run) {
  Outcome outcome = outcome_of(result, StageId::time, run.name());
  outcome.message += fmt::format(" while timing workload {}", run.data().workload->name);
  return outcome;
}

void summarize(Measurement& measurement, const std::vector<double>& samples_ns) {
  for (const double sample : samples_ns)
    measurement.samples_ns.push_back(static_cast<std::uint32_t>(std::min(std::lround(sample), 0xFFFFFFFFl)));
  const Interval interval = median_interval_95(samples_ns);
  measurement.median_ns = median(samples_ns);
  measurement.ci_low_ns = interval.low;
  measurement.ci_high_ns = interval.high;
}

}  // namespace

Timer::Timer(Workbench& bench, DataStore& store)
    : bench_(bench),
      store_(store),
      flush_(flush_bytes(bench.context.facts()), "the L2 flush buffer"),
      before_(create_event()),
      after_(create_event()),
      nvml_(bench.context.facts().uuid) {}

Result<std::vector<CandidateRun>, Outcome> Timer::make_sets(const TimingTarget& target, std::uint64_t seed) {
  std::vector<CandidateRun> sets;
  for (std::size_t i = 0; i < kSets; ++i) {
    auto data = store_.get(target.workload, bench_.problem.distributions.front().name, seed + i);
    const bool crowded = !sets.empty() && !data && data.error().status == Status::out_of_memory;
    if (crowded) break;
    if (!data) return data.error();
    auto run = target.bind(data.value());
    if (!run && !sets.empty() && run.error().status == Status::out_of_memory) break;
    if (!run) return run.error();
    sets.push_back(std::move(run).value());
  }
  return sets;
}

// Everything is enqueued in one go behind the flush, so that the GPU is never idle between the two events.
Result<double, Outcome> Timer::sample_ns(const CandidateRun& run, bool report) {
  if (report) {
    const double limit_ms = std::max(2'000.0, 20 * run.data().reference_ms);
    bench_.report({.doing = "candidate",
                   .what = fmt::format("timing {} on workload {}", run.name(), run.data().workload->name),
                   .limit_ms = limit_ms});
  }
  run.reset();
  bench_.kernels.spin(kHostNsPerLaunch * run.launch_count());
  bench_.kernels.flush(flush_.view());
  check(driver().cuEventRecord(before_.get(), bench_.stream), "recording an event");
  if (auto failed = run.enqueue()) return *failed;
  check(driver().cuEventRecord(after_.get(), bench_.stream), "recording an event");
  if (const CUresult result = driver().cuStreamSynchronize(bench_.stream); result != CUDA_SUCCESS)
    return timing_fault(result, run);
  float elapsed_ms = 0;
  check(driver().cuEventElapsedTime(&elapsed_ms, before_.get(), after_.get()),
        "reading the time between two events");
  return static_cast<double>(elapsed_ms) * 1e6;
}

std::optional<Outcome> Timer::sample_all(const std::vector<CandidateRun>& sets, const TimingTarget& target,
                                         const TimingBudget& budget, Measurement& measurement) {
  std::vector<double> samples_ns;
  auto reported = steady_clock::time_point{};
  const auto take = [&](const CandidateRun& run) {
    const bool report = steady_clock::now() - reported > kReportInterval;
    if (report) reported = steady_clock::now();
    return sample_ns(run, report);
  };
  for (int i = 0; i < kWarmUps; ++i) {
    const auto ignored = take(sets[static_cast<std::size_t>(i) % sets.size()]);
    if (!ignored) return ignored.error();
  }
  Sampling state = Sampling::go_on;
  while (state == Sampling::go_on) {
    const auto sample = take(sets[bench_.random() % sets.size()]);
    if (!sample) return sample.error();
    samples_ns.push_back(sample.value());
    state = decide(samples_ns, budget, target.incumbent_ns);
  }
  measurement.truncated = state != Sampling::converged;
  summarize(measurement, samples_ns);
  return std::nullopt;
}

std::optional<Outcome> Timer::recheck(const std::vector<CandidateRun>& sets,
                                      std::vector<CheckRecord>& records) {
  for (const CandidateRun& run : sets) {
    if (auto failed = run.verify_memory(StageId::recheck)) return failed;
    if (auto failed = compare_outputs(bench_, run, StageId::recheck, "in the last timed call", records))
      return failed;
  }
  return std::nullopt;
}

Result<Measurement, Outcome> Timer::measure(const TimingTarget& target, std::uint64_t seed,
                                            const TimingBudget& budget) {
  Measurement measurement;
  measurement.workload = target.workload.name;
  measurement.role = target.role;
  measurement.label = target.label;
  auto sets = make_sets(target, seed);
  if (!sets) return sets.error();
  // Lines a candidate marked as persisting would survive the flush.
  check(driver().cuCtxResetPersistingL2Cache(), "resetting persisting L2 lines");
  if (auto failed = sample_all(sets.value(), target, budget, measurement)) return *failed;
  const DeviceCondition condition = nvml_.read();
  measurement.sm_clock_mhz = condition.sm_clock_mhz;
  measurement.memory_clock_mhz = condition.memory_clock_mhz;
  measurement.temperature_c = condition.temperature_c;
  measurement.throttle_reasons = condition.throttle_reasons;
  bench_.report({.doing = "harness", .what = "checking timed results", .limit_ms = 30'000});
  std::vector<CheckRecord> ignored;
  if (auto failed = recheck(sets.value(), target.records != nullptr ? *target.records : ignored))
    return *failed;
  return measurement;
}

}  // namespace ak::runtime
