// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/loop.h"

namespace ak::agent::test {

using TimePoint = std::chrono::steady_clock::time_point;

class VirtualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  void advance_to(TimePoint time) { now_ = std::max(now_, time); }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

/// A device whose answers are a function of the request and whose evaluations take virtual time; several run
/// at once, so they end out of order.
class VirtualDevice final : public Evaluator {
 public:
  VirtualDevice(VirtualClock& clock, std::function<EvaluationResult(const EvaluationRequest&)> answer)
      : answer_(std::move(answer)), clock_(clock) {}

  Ticket submit(EvaluationRequest request) override;
  std::optional<Completed> wait_any(TimePoint deadline) override;
  std::optional<Completed> poll() override { return wait_any(clock_.now()); }
  void cancel(Ticket ticket) override;
  [[nodiscard]] EvaluatorCapabilities capabilities() const override { return capabilities_; }
  [[nodiscard]] std::vector<PoolPlace> pool_places() const override { return places; }

  /// How long an evaluation takes; by default 10 ms.
  std::function<std::chrono::milliseconds(const EvaluationRequest&)> duration;
  bool finishes_cancelled = false;  ///< cancelled evaluations end as if nothing had happened
  bool ignores_cancel = false;      ///< cancelled evaluations never end
  std::optional<int> throws_at;     ///< number of the wait that throws
  EvaluatorCapabilities capabilities_;
  std::vector<PoolPlace> places;  ///< of its pool; empty: it is alone

  std::vector<EvaluationRequest> requests;  ///< every one submitted; only if keep_requests
  bool keep_requests = true;
  std::size_t peak_in_flight = 0;
  int submitted = 0, cancelled = 0;

 private:
  struct Running {
    Ticket ticket;
    EvaluationRequest request;
    bool cancelled = false;
  };
  std::function<EvaluationResult(const EvaluationRequest&)> answer_;
  VirtualClock& clock_;
  std::multimap<TimePoint, Running> running_;
  Ticket next_ = 100;
  int waits_ = 0;
};

/// Keeps what it is given, without the results themselves.
class VectorStore : public VariantStore {
 public:
  struct Row {
    int iteration;
    std::string arm;
    TunableValues point;
    Status status;
    std::string member = {}, name = {}, proposer = {};
    std::vector<RowId> parents = {};
    std::optional<RowId> llm_call = {};
    std::optional<Hypothesis> hypothesis = {};
    bool has_code = false;  ///< of its build
  };
  RowId begin_search(const SearchRecord&, const ProblemInstance&, const DeviceFacts&, const Arch&) override;
  std::vector<KnownPoint> known_points(RowId, const std::string&) override { return known; }
  StoredEvaluation commit(const EvaluationRecord& record) override;
  void together(const std::function<void()>& commits) override;
  void note_told(RowId evaluation, const TellRecord&) override { told.push_back(evaluation); }
  RowId begin_llm_call(const LlmCallRecord& record) override;
  [[nodiscard]] QuestionName name_of_llm_call(RowId call) override {
    return {.search = "search", .id = "call" + std::to_string(call)};
  }
  void note_llm_reward(RowId call, double reward) override { rewards[call] = reward; }
  void end_llm_call(RowId call, const LlmReply& reply, double latency_ms) override;
  void note_pool(RowId, const PoolReport& report) override { pools.push_back(report); }
  void note_gain(RowId, const GainRecord& record) override { gains.push_back(record); }
  void end_search(RowId search, std::string_view status, std::string_view reason,
                  std::optional<RowId> best_variant) override;

  std::vector<Row> rows;
  std::size_t most_together = 0;  ///< rows that were committed at once
  std::vector<RowId> told;
  std::vector<KnownPoint> known;  ///< of every source
  std::vector<LlmCallRecord> calls;
  std::vector<LlmReply> replies;    ///< in the order of calls
  std::map<RowId, double> rewards;  ///< by call
  std::vector<PoolReport> pools;
  std::vector<GainRecord> gains;
  int begun = 0, ended = 0;
  std::string status, reason;
  std::optional<RowId> best_variant;
  std::optional<std::size_t> throws_at_row;
  bool throws_at_end = false;
};

[[nodiscard]] std::shared_ptr<const ProblemInstance> make_problem(std::vector<Workload> workloads = {});
[[nodiscard]] Candidate make_template(const std::string& name, std::vector<Tunable> tunables);
/// A template with the tunables X in [0, x) and Y in [0, y); the start point is (0, 0).
[[nodiscard]] Candidate grid_template(const std::string& name, std::int64_t x, std::int64_t y);

[[nodiscard]] EvaluationResult timed(double score_ns, double relative_interval = 0.001);
/// 40 pairs of samples with about 1 % of noise around two times.
[[nodiscard]] EvaluationResult timed_in_pairs(double challenger_ns, double champion_ns);
[[nodiscard]] EvaluationResult failed(Status status);
[[nodiscard]] EvaluationResult built(int registers, int spill_bytes, double occupancy_ratio);

/// Options, device, store and clock of one run.
struct World {
  explicit World(std::function<EvaluationResult(const EvaluationRequest&)> answer)
      : device(clock, std::move(answer)) {
    options.problem = make_problem();
    options.templates = {grid_template("grid", 10, 10)};
    options.strategy = "exhaustive";
    options.search.proposer = "search";
    device.capabilities_.executes = true;
    device.capabilities_.useful_in_flight = 4;
  }
  LoopResult run() { return run_loop(options, device, store, clock); }

  LoopOptions options;
  VirtualClock clock;
  VirtualDevice device;
  VectorStore store;
};

/// A smooth surface over the grid: fastest (1,000 ns) at X = 7, Y = 3.
[[nodiscard]] double surface_ns(const TunableValues& point);
/// An evaluation that takes that time.
[[nodiscard]] EvaluationResult on_surface(const EvaluationRequest& request);

}  // namespace ak::agent::test
