// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/build.h"
#include "core/device/device_facts.h"
#include "core/outcome.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/pool.h"
#include "core/profile.h"

namespace ak {

/// How far an evaluation goes. Each depth includes the ones before it.
enum class Depth : std::uint8_t { build, check, time };

struct EvaluationRequest {
  std::shared_ptr<const ProblemInstance> problem;
  Candidate candidate;
  Arch arch;
  Depth depth = Depth::time;
  std::vector<std::string> workloads;  ///< names; empty = all of the problem that suit the device
  std::uint64_t seed = 0;              ///< of inputs; the run's secret seed
  std::optional<double>
      champion_score_ns;  ///< weighted geometric mean of the champion: slower candidates stop early
  /// Nothing is checked but what was timed: the candidate and this one are timed alternately
  /// (MeasurementRole::candidate and champion, samples in pairs). Both have passed the checks before.
  std::shared_ptr<const Candidate> rival = {};
  /// The machine code that the rival runs as, where it is kept from earlier; null: it is built.
  std::shared_ptr<const BuildResult> rival_build = {};
  /// One of kLibraryBaselines: as with a rival, and the other is the library's fastest proposal
  /// (MeasurementRole::candidate and baseline). Only on a GPU; empty: none. Not together with a rival.
  std::string library = {};
  /// Timed on inputs that change from call to call, as what is to be believed must be; never a duplicate.
  bool changing_inputs = false;
  bool fresh_process = false;  ///< that too, in a device process that has run no other candidate
  /// Timed with few samples, for what is fitted to many such times; decides about no candidate.
  bool coarse_times = false;
  /// Nothing is checked or timed: its timed workloads are profiled. It has passed the checks before.
  std::optional<ProfileOptions> profile = {};
  /// On a GPU, when everything has been timed, the energy of the timed workload of the greatest weight, of
  /// several the largest.
  bool energy = false;
  std::chrono::milliseconds deadline{60'000};
  /// Of the evaluator's pool: it runs there and is never a duplicate, and ends as `infrastructure_error` where the device
  /// is away for long. Empty: anywhere.
  std::string place = {};
  int priority = 0;  ///< higher first
  std::string tag;   ///< the caller's own id, returned untouched
};

/// One workload x distribution compared with the reference.
struct CheckRecord {
  std::string workload, distribution;
  std::uint64_t seed = 0;
  std::string tensor;
  bool passed = false;
  double max_error = 0, mean_error = 0;  ///< relative to |reference| + rms(reference)
  double tolerance = 0;                  ///< bound on max_error
  std::int64_t worst_index = -1;
  double worst_expected = 0, worst_got = 0;
  std::int64_t nonfinite_mismatches = 0;
};

enum class MeasurementRole : std::uint8_t { candidate, champion, baseline };
[[nodiscard]] std::string_view to_string(MeasurementRole role);

/// Measurement::method of what is not time but a cost estimated from the CPU emulator's counters.
inline constexpr std::string_view kEmulatedMethod = "emulator";

/// Measurement::method of calls too short for an event pair of their own: several between two events.
inline constexpr std::string_view kBatchMethod = "batch";

/// Exact counts of one call of a launch sequence by name, e.g. "global/sectors"; zeros are left out.
/// docs/timing.md lists the names.
using Counts = std::map<std::string, std::uint64_t>;
/// "bytes", "sectors", ...: what such a count is a number of.
[[nodiscard]] std::string_view unit_of_count(std::string_view name);

/// Energy of calls of a launch sequence back to back, by the device's own counter: the whole device's.
struct Energy {
  double joule = 0;                ///< of one call; 0: not measured
  double power_w = 0;              ///< average
  double call_ns = 0;              ///< wall time of one call, caches as the call before left them
  std::uint64_t calls = 0;         ///< measured over
  std::string unavailable_reason;  ///< why it was not measured; empty when it was
};

/// Timing of one workload. `samples_ns` holds every sample in run order.
struct Measurement {
  std::string workload;
  MeasurementRole role = MeasurementRole::candidate;
  std::string label;             ///< which baseline, e.g. "naive", "template default"; empty for a candidate
  std::string method = "event";  ///< "event", "batch", "cupti", "emulator"
  bool cold = true;              ///< L2 flushed before every sample
  std::vector<std::uint32_t> samples_ns;
  int launches_per_sample = 1;
  bool truncated = false;  ///< stopped before the error target: time budget or far too slow
  double median_ns = 0, ci_low_ns = 0,
         ci_high_ns = 0;  ///< per call of the launch sequence; 95 % interval of the median
  std::vector<std::uint32_t> throttled = {};  ///< samples (indices) taken while heat or power held the clocks
                                              ///< down; the median leaves them out where they are the fewer
  int sm_clock_mhz = 0, memory_clock_mhz = 0, temperature_c = 0;
  double power_w = 0;
  std::string throttle_reasons;
  Counts counts = {};                      ///< of method "emulator"; else empty
  std::map<int, Counts> line_counts = {};  ///< the same by line of the candidate's file
  std::optional<Energy> energy = {};       ///< of the one workload that was asked for, else nothing
  double prepare_ns = 0;            ///< of preparing one set of weights, beside the score; 0: nothing is
  std::int64_t prepared_bytes = 0;  ///< what that leaves in memory between calls
};

/// Where the time of one evaluation went, milliseconds.
struct StageTimes {
  double queue_ms = 0, build_ms = 0, device_wait_ms = 0, check_ms = 0, time_ms = 0, gpu_busy_ms = 0,
         total_ms = 0;
  double reference_ms = 0;  ///< part of check_ms: making inputs and references that were not kept yet
};

struct EvaluationResult {
  Outcome outcome;
  std::optional<BuildResult> build;
  std::optional<Occupancy> occupancy;  ///< of the first launch of the first workload
  /// Most shared memory a block of any launch uses, static and dynamic; nothing when no plan was resolved.
  std::optional<std::int64_t> shared_bytes;
  std::vector<CheckRecord> checks;
  std::vector<Measurement> measurements;
  std::vector<Profile> profiles;   ///< one a workload, where the request asked for them
  bool rival_failed = false;       ///< the outcome is that of the request's rival, not the candidate's
  std::optional<double> score_ns;  ///< weighted geometric mean of median_ns over the timed workloads
  std::string program;  ///< names its machine code and launches to recall(); empty where there are none
  StageTimes stage_times;
  /// Where its times are from, if not from the device of the evaluator's capabilities.
  std::shared_ptr<const DeviceFacts> device = nullptr;
  std::string place = {};  ///< of the evaluator's pool, where it ran; empty: there is none
};

using Ticket = std::uint64_t;

struct Completed {
  Ticket ticket = 0;
  EvaluationRequest request;
  EvaluationResult result;
};

struct EvaluatorCapabilities {
  DeviceFacts device;
  bool executes = false;  ///< false: build, inspect and predict only
  int parallel_builds = 1;
  int useful_in_flight = 2;  ///< requests to keep submitted so that neither compilers nor device wait
};

/// Evaluates candidates, several at a time. Owned and called by one thread; work happens in child
/// processes and threads of its own. Candidate failures are Outcomes; Error is thrown when the environment
/// failed for good.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Never blocks on the evaluation itself.
  virtual Ticket submit(EvaluationRequest request) = 0;
  /// Next finished evaluation in completion order; nothing when the deadline passed or nothing is in flight.
  virtual std::optional<Completed> wait_any(std::chrono::steady_clock::time_point deadline) = 0;
  /// Such a one that has ended already, and that may be taken in together with the last one; never waits.
  virtual std::optional<Completed> poll() { return wait_any(std::chrono::steady_clock::time_point::min()); }
  /// The evaluation ends as `interrupted` if it has not ended yet.
  virtual void cancel(Ticket ticket) = 0;
  /// What an evaluator of an earlier process answered: what follows ends as it would have ended there, as a
  /// duplicate of this one, say. Of what took a worker down nothing is known.
  virtual void recall(const Completed&) {}
  [[nodiscard]] virtual EvaluatorCapabilities capabilities() const = 0;
  /// The places whose devices share the work; none: there is one device, or none.
  [[nodiscard]] virtual std::vector<PoolPlace> pool_places() const { return {}; }
  /// Those of its devices since the last call.
  [[nodiscard]] virtual std::vector<CalibrationRecord> take_calibrations() { return {}; }
};

}  // namespace ak
