// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/learn/stats.h"
#include "runtime/timing/energy_calls.h"
#include "runtime/timing/sampling.h"
#include "runtime/timing/variable_watch.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

constexpr double kUnknownLimitMs = 10'000;  // where no reference has run yet
constexpr std::size_t kMinCallsOfBatch = 18, kMaxCallsOfBatch = 24;
// Untimed samples, for clocks, instruction cache and lazy loading: until the last three agree to 2 %, as far
// as noise lets them.
constexpr std::size_t kMinWarmUps = 3, kMaxWarmUps = 12;
constexpr double kSteady = 0.02, kWarmUpNs = 50e6;
// Throttling lasts for milliseconds at least; asking NVML takes tens of microseconds.
constexpr std::size_t kSamplesPerProbe = 10;
// 40 pairs find 2 % under noise of 1 % (tests/core/stats_test.cpp); memory-bound kernels of 20 us have more
// of it on an H200. Slow ones, which have less, get by with fewer.
constexpr std::size_t kMaxPairs = 64, kMinPairs = 12;
constexpr double kPairsNs = 600e6;
constexpr double kSlowerInPairs = 1.02;
// Enqueueing a launch takes 2-4 us of host time; the GPU is kept busy that long, so that launches run
// back to back.
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

Outcome less_work(const CandidateRun& run, const std::string& reason) {
  return {.status = Status::integrity_violation,
          .stage = StageId::recheck,
          .message = fmt::format("{} on workload {}: {}", run.name(), run.data().workload->name, reason),
          .diagnostics = {},
          .gate = Gate::timed_outputs};
}

/// Of each kernel of a pair, that the other one leaves its variables alone.
Outcome changed_variables(const TimingTarget& target, const TimedInputs& inputs, std::size_t which) {
  return {.status = Status::memory_error,
          .stage = StageId::recheck,
          .message =
              fmt::format("a variable of {} changed on workload {} while the kernel that it is compared with "
                          "ran: that one writes far outside its buffers",
                          inputs.name(which), target.workload.name),
          .diagnostics = {},
          .gate = Gate::guard_bands};
}

void summarize(Measurement& measurement, const SampleSeries& series) {
  for (const double call_ns : series.times_ns) {
    const long sample_ns = std::lround(call_ns * measurement.launches_per_sample);
    measurement.samples_ns.push_back(static_cast<std::uint32_t>(std::min(sample_ns, 0xFFFFFFFFl)));
  }
  measurement.throttled = series.throttled;
  measurement.truncated = series.truncated;
  std::vector<double> usable;
  for (const std::size_t i : usable_samples(series.times_ns.size(), series.throttled))
    usable.push_back(series.times_ns[i]);
  const Interval interval = median_interval_95(usable);
  measurement.median_ns = median(usable);
  measurement.ci_low_ns = interval.low;
  measurement.ci_high_ns = interval.high;
}

/// Checks some of the samples that were left behind.
std::optional<TimedFault> check_kept(TimedInputs& inputs, std::span<const TimingTarget* const> targets) {
  std::vector<CheckRecord> ignored;
  std::vector<std::vector<CheckRecord>*> records;
  for (const TimingTarget* target : targets)
    records.push_back(target->records != nullptr ? target->records : &ignored);
  return inputs.verify_kept("in a timed call", records);
}

/// Marks samples that were taken while the device was held down, all since the last look at a time.
class ThrottleWatch {
 public:
  explicit ThrottleWatch(const NvmlProbe& nvml) : nvml_(nvml) {}

  void probe(SampleSeries& series, bool last) {
    const std::size_t count = series.times_ns.size();
    if (!last && count < seen_ + kSamplesPerProbe) return;
    const bool held_down = nvml_.held_down();
    for (; seen_ < count; ++seen_) {
      if (held_down) series.throttled.push_back(static_cast<std::uint32_t>(seen_));
    }
  }

 private:
  const NvmlProbe& nvml_;
  std::size_t seen_ = 0;
};

bool steady(std::span<const double> samples) {
  if (samples.size() < kMinWarmUps) return false;
  const auto [low, high] = std::ranges::minmax(samples.last(kMinWarmUps));
  return high <= low * (1 + kSteady);
}

std::size_t compared_samples(const TimingBudget& budget) {
  return std::clamp(static_cast<std::size_t>(std::max(budget.compared_samples, 0)), kMinChecks, kMaxChecks);
}

std::size_t pairs_within(double pair_ns) {
  return std::clamp(static_cast<std::size_t>(kPairsNs / std::max(pair_ns, 1.0)), kMinPairs, kMaxPairs);
}

}  // namespace

Timer::Timer(RunContext& run_context, DataStore& store)
    : run_context_(run_context),
      store_(store),
      flush_(flush_bytes(run_context.context.facts()), "the L2 flush buffer"),
      before_(create_event()),
      after_(create_event()),
      nvml_(run_context.context.facts().uuid) {}

std::size_t Timer::calls_of_sample(bool batch) {
  if (!batch) return 1;
  return std::uniform_int_distribution(kMinCallsOfBatch, kMaxCallsOfBatch)(run_context_.random);
}

void Timer::report_now_and_then(const CandidateRun& run) {
  if (steady_clock::now() - reported_ <= kReportInterval) return;
  reported_ = steady_clock::now();
  run_context_.report(
      {.activity = "candidate",
       .what = fmt::format("timing {} on workload {}", run.name(), run.data().workload->name),
       .limit_ms = run.data().reference_ms > 0 ? run.limit_ms() : std::max(kUnknownLimitMs, run.limit_ms())});
}

void Timer::flush_l2() const {
  check(driver().cuCtxResetPersistingL2Cache(), "resetting persisting L2 lines");
  run_context_.kernels.flush(flush_.view());
}

// Everything is enqueued in one go behind the flush, so that the GPU is never idle between the two events. With warm
// caches the inputs are read after it: lines of a result, or of what a call before had computed, stay cold.
Result<double, Outcome> Timer::sample_ns(const TimedInputs& inputs, std::size_t which, bool cold) {
  // Lines that the call before marked as persisting would survive the flush.
  if (gate_enabled(Gate::persisting_l2))
    check(driver().cuCtxResetPersistingL2Cache(), "resetting persisting L2 lines");
  const CandidateRun* companion = cold ? nullptr : inputs.companion(which);
  if (companion != nullptr) companion->reset();
  const CandidateRun* last = nullptr;
  std::uint64_t launches = companion != nullptr ? companion->launch_count() : 0;
  auto failed = inputs.for_calls(which, [&](const CandidateRun& run) -> std::optional<Outcome> {
    report_now_and_then(run);
    run.reset();
    launches += run.launch_count();
    last = &run;
    return std::nullopt;
  });
  run_context_.kernels.spin(kHostNsPerLaunch * launches);
  run_context_.kernels.flush(flush_.view());
  if (companion != nullptr) failed = companion->enqueue();  // the program's code is warm then, too
  if (failed) return *failed;
  if (!cold) read_inputs(inputs, which);
  check(driver().cuEventRecord(before_.get(), run_context_.stream), "recording an event");
  failed = inputs.for_calls(which, [](const CandidateRun& run) { return run.enqueue(); });
  if (failed) return *failed;
  check(driver().cuEventRecord(after_.get(), run_context_.stream), "recording an event");
  if (const CUresult result = driver().cuStreamSynchronize(run_context_.stream); result != CUDA_SUCCESS)
    return timing_fault(result, *last);
  float elapsed_ms = 0;
  check(driver().cuEventElapsedTime(&elapsed_ms, before_.get(), after_.get()),
        "reading the time between two events");
  return static_cast<double>(elapsed_ms) * 1e6 / static_cast<double>(inputs.calls());
}

void Timer::read_inputs(const TimedInputs& inputs, std::size_t which) const {
  static_cast<void>(inputs.for_calls(which, [&](const CandidateRun& run) -> std::optional<Outcome> {
    for (const InputData& input : run.data().inputs) run_context_.kernels.read(input.buffer.data());
    return std::nullopt;
  }));
}

// The median of the samples it took.
Result<double, Outcome> Timer::warm_up(TimedInputs& inputs, std::size_t which, bool cold) {
  std::vector<double> samples;
  double spent_ns = 0;
  while (samples.size() < kMaxWarmUps && !steady(samples)) {
    if (samples.size() >= kMinWarmUps && spent_ns > kWarmUpNs) break;
    if (auto fault = inputs.next()) return std::move(fault->outcome);
    const auto sample = sample_ns(inputs, which, cold);
    if (!sample) return sample.error();
    inputs.take(which);
    inputs.finish(false);
    samples.push_back(sample.value());
    spent_ns += sample.value();
  }
  return median(samples);
}

Result<SampleSeries, Outcome> Timer::sample_all(TimedInputs& inputs, const TimingTarget& target, bool cold,
                                                const TimingBudget& budget) {
  if (const auto warm = warm_up(inputs, 0, cold); !warm) return warm.error();
  ThrottleWatch watch(nvml_);
  SampleSeries series;
  Sampling state = Sampling::go_on;
  while (state == Sampling::go_on) {
    if (auto fault = inputs.next()) return std::move(fault->outcome);
    const auto sample = sample_ns(inputs, 0, cold);
    if (!sample) return sample.error();
    inputs.take(0);
    inputs.finish(true);
    series.times_ns.push_back(sample.value());
    state = decide(series.times_ns, budget, target.champion_score_ns);
    watch.probe(series, state != Sampling::go_on);
  }
  const TimingTarget* const targets[] = {&target};
  if (auto fault = check_kept(inputs, targets)) return std::move(fault->outcome);
  checked_samples_ = inputs.checked();
  series.truncated = state != Sampling::converged;
  return series;
}

Measurement Timer::conclude(const TimingTarget& target, const SampleSeries& series, bool batch,
                            std::size_t calls) {
  Measurement measurement;
  measurement.workload = target.workload.name;
  measurement.role = target.role;
  measurement.label = target.label;
  if (batch) measurement.method = kBatchMethod;
  measurement.launches_per_sample = static_cast<int>(calls);
  summarize(measurement, series);
  const DeviceCondition condition = nvml_.read();
  measurement.sm_clock_mhz = condition.sm_clock_mhz;
  measurement.memory_clock_mhz = condition.memory_clock_mhz;
  measurement.temperature_c = condition.temperature_c;
  measurement.power_w = condition.power_w;
  measurement.throttle_reasons = condition.throttle_reasons;
  return measurement;
}

Result<Measurement, Outcome> Timer::measure(const TimingTarget& target, const TimingMode& mode,
                                            std::uint64_t seed, const TimingBudget& budget) {
  const TimingTarget* const targets[] = {&target};
  auto created = TimedInputs::create(
      run_context_, store_, targets,
      {.contents = mode.contents,
       .calls = calls_of_sample(mode.batch),
       .companion = !mode.cold,
       // Nothing is ranked by a warm time, and the same program has just passed the checks of its cold one.
       .most_checks = mode.cold ? compared_samples(budget) : kMinChecks},
      seed);
  if (!created) return created.error();
  TimedInputs inputs = std::move(created).value();
  const auto series = sample_all(inputs, target, mode.cold, budget);
  if (!series) return series.error();
  Measurement measurement = conclude(target, *series, mode.batch, inputs.calls());
  measurement.cold = mode.cold;
  inputs.note_preparation(0, measurement);
  return measurement;
}

Result<Energy, Outcome> Timer::energy_of(const TimingTarget& target, const AloneTimes& alone,
                                         std::optional<steady_clock::time_point> deadline) {
  auto created = EnergyCalls::create(run_context_, store_, target, alone.cold_ns);
  if (!created) return created.error();
  EnergyCalls calls = std::move(created).value();
  const auto round = [&]() -> Result<std::uint64_t, Outcome> {
    report_now_and_then(calls.example());
    return calls.run_round();
  };
  auto energy = measure_energy(nvml_, round, SystemClock(), deadline);
  if (!energy || !energy->unavailable_reason.empty()) return energy;
  std::vector<CheckRecord> ignored;
  if (auto wrong = calls.verify(target.records != nullptr ? *target.records : ignored)) return *wrong;
  if (const auto reason = implausible(*energy, alone)) return less_work(calls.example(), *reason);
  return energy;
}

Result<std::array<SampleSeries, 2>, PairFault> Timer::sample_pairs(
    TimedInputs& inputs, std::span<const TimingTarget* const> targets, std::size_t pairs) {
  ThrottleWatch watch(nvml_);
  std::array variables{VariableWatch(run_context_, targets[0]->variables),
                       VariableWatch(run_context_, targets[1]->variables)};
  std::array<SampleSeries, 2> series;
  std::vector<double> ratios;
  while (ratios.size() < pairs) {
    if (auto fault = inputs.next()) return PairFault{std::move(fault->outcome), fault->which == 1};
    const std::size_t first = run_context_.random() % 2;
    for (const std::size_t which : {first, 1 - first}) {
      if (!variables[which].unchanged())
        return PairFault{changed_variables(*targets[which], inputs, which), which == 0};
      const auto sample = sample_ns(inputs, which, true);
      if (!sample) return PairFault{sample.error(), which == 1};
      inputs.take(which);
      variables[which].note();
      series[which].times_ns.push_back(sample.value());
    }
    inputs.finish(true);
    ratios.push_back(series[0].times_ns.back() / series[1].times_ns.back());
    watch.probe(series[0], ratios.size() == pairs);
    if (ratios.size() == kMinPairs && median(ratios) > kSlowerInPairs) break;
  }
  if (auto fault = check_kept(inputs, targets))
    return PairFault{std::move(fault->outcome), fault->which == 1};
  checked_samples_ = inputs.checked();
  series[1].throttled = series[0].throttled;
  for (SampleSeries& one : series) one.truncated = ratios.size() < pairs;
  return series;
}

Result<std::array<Measurement, 2>, PairFault> Timer::measure_in_pairs(const TimingTarget& challenger,
                                                                      const TimingTarget& champion,
                                                                      bool batch) {
  const TimingTarget* const targets[] = {&challenger, &champion};
  auto created = TimedInputs::create(run_context_, store_, targets,
                                     {.contents = Contents::changing, .calls = calls_of_sample(batch)}, 0);
  if (!created) return PairFault{created.error()};
  TimedInputs inputs = std::move(created).value();
  double pair_ns = 0;
  for (const std::size_t which : {0u, 1u}) {
    const auto warm = warm_up(inputs, which, true);
    if (!warm) return PairFault{warm.error(), which == 1};
    pair_ns += *warm * static_cast<double>(inputs.calls());
  }
  const auto series = sample_pairs(inputs, targets, pairs_within(pair_ns));
  if (!series) return series.error();
  return std::array{conclude(challenger, (*series)[0], batch, inputs.calls()),
                    conclude(champion, (*series)[1], batch, inputs.calls())};
}

}  // namespace ak::runtime
