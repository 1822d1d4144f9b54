// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/search/search_run.h"
#include "core/clock.h"
#include "core/evaluation.h"
#include "core/store.h"

namespace ak::app {

/// A candidate on some shapes.
struct MemberTimes {
  RowId variant = 0;
  Outcome outcome;
  std::vector<double> times_ns;  ///< by workload of the question; infinite where it does not take one
};

/// How well times are known: as a search knows them, or some percent, which is enough where many are fitted, or where what is
/// near the fastest is timed again in turns.
enum class TimeQuality : std::uint8_t { full, coarse };

/// Of an evaluation with a rival: its times over the rival's, by workload; infinite where there are no pairs.
[[nodiscard]] std::vector<double> paired_ratios(const EvaluationResult& result,
                                                const std::vector<Workload>& workloads);

/// Checks and times candidates on shapes as searches do, one after another, in a search of its own that the store keeps:
/// what inputs that change from call to call show is asked of the set of them. Blocks.
class MemberMeasurements {
 public:
  /// @param set the set that they are for
  MemberMeasurements(const SearchRun& run, const Config& config, VariantStore& store, RowId set,
                     const std::atomic<bool>& stop);
  ~MemberMeasurements();
  MemberMeasurements(const MemberMeasurements&) = delete;
  MemberMeasurements& operator=(const MemberMeasurements&) = delete;

  [[nodiscard]] const DeviceFacts& device() const { return device_; }
  /// What expressions of a launch plan may name, but for tunables and names of the plan.
  [[nodiscard]] Environment environment(const AxisValues& sizes) const;
  /// Its launch plan can be resolved for a shape of these sizes on the device.
  [[nodiscard]] bool takes(const Candidate& candidate, const AxisValues& sizes) const;
  /// Builds all of them at the same time, so that none is waited for when they are timed. What fails is said then.
  void build(std::span<const Candidate> candidates);
  /// Nothing where there was no answer: stopped, or a fault of the machine.
  [[nodiscard]] std::optional<MemberTimes> time(const Candidate& candidate,
                                                const std::vector<Workload>& workloads, TimeQuality quality);
  /// The same on the chosen ones of the workloads; on the others the times are infinite.
  [[nodiscard]] std::optional<MemberTimes> time(const Candidate& candidate,
                                                const std::vector<Workload>& workloads,
                                                const std::vector<std::size_t>& chosen, TimeQuality quality);
  /// Timed in turns with another one, on a GPU, on the chosen ones of the workloads: `times_ns` are its times over those
  /// of the other, by workload, where both take it. Nothing as above. @param other has passed on all that it takes
  [[nodiscard]] std::optional<MemberTimes> time_in_turns(const Candidate& candidate, const Candidate& other,
                                                         RowId other_variant,
                                                         const std::vector<Workload>& workloads,
                                                         const std::vector<std::size_t>& chosen);
  /// Whether it is right on all of these; nothing as above. @param arm stored with it
  [[nodiscard]] std::optional<MemberTimes> check(const Candidate& candidate,
                                                 const std::vector<Workload>& workloads, std::string arm);

 private:
  [[nodiscard]] std::shared_ptr<const ProblemInstance> problem_of(const std::vector<Workload>& workloads);
  /// With all of them, to be checked and timed: a device opens a problem once, in seconds, and then takes candidates that
  /// are for some of its shapes, too.
  [[nodiscard]] std::shared_ptr<const ProblemInstance> timed_problem_of(std::vector<Workload> workloads);
  /// Names of the workloads that all of the candidates take.
  [[nodiscard]] std::vector<std::string> taken_by(std::initializer_list<const Candidate*> candidates,
                                                  const std::vector<Workload>& workloads) const;
  [[nodiscard]] EvaluationRequest request_of(const Candidate& candidate,
                                             std::shared_ptr<const ProblemInstance> problem,
                                             std::vector<std::string> workloads, Depth depth) const;
  /// Evaluates and stores it. Nothing where there was no answer.
  [[nodiscard]] std::optional<std::pair<RowId, EvaluationResult>> answer_to(EvaluationRequest request,
                                                                            std::string arm);

  const SearchRun& run_;
  VariantStore& store_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Evaluator> evaluator_;
  DeviceFacts device_;
  SystemClock clock_;
  /// By shapes: references and baselines of a problem are computed once.
  std::map<std::string, std::shared_ptr<const ProblemInstance>> problems_;
  RowId search_ = 0;
  int iteration_ = 0;
};

}  // namespace ak::app
