// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/library_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "agent/paired_comparison.h"
#include "app/audit/problem_audits.h"
#include "app/baselines/kernel_baselines.h"
#include "app/evaluate/user_search.h"
#include "app/kernel_library/package_image.h"
#include "codegen/sets/set_candidate.h"
#include "core/error.h"
#include "db/database.h"
#include "db/read/table_rows.h"
#include "db/store/turn_rows.h"

namespace ak::app {
namespace {

constexpr std::chrono::milliseconds kTurnsLimit{60'000};
constexpr double kNsInUs = 1e3;
constexpr double kTurnsConfidence = 0.95;
constexpr std::array<std::string_view, 4> kAgainst{"image", "cost", "then", "pytorch"};

/// Turns with PyTorch of an earlier day, oldest first.
struct EarlierTurns {
  std::string shape, label, uuid;  ///< uuid: of the device
  double ratio = 1;
  Interval interval;
  Json settings;
};

std::vector<EarlierTurns> earlier_turns(const std::filesystem::path& database, RowId variant,
                                        const std::string& device) {
  const db::Table found = db::query(
      database,
      "SELECT w.name AS shape, t.label, t.ratio, t.ci_low, t.ci_high, t.settings, d.uuid FROM turns t "
      "JOIN evaluations e ON e.id = t.evaluation_id JOIN workloads w ON w.id = t.workload_id "
      "JOIN devices d ON d.id = e.device_id WHERE e.variant_id = :variant AND d.name = :device "
      "AND t.time_column = 'device' AND t.label LIKE 'pytorch%' ORDER BY t.timed_at, t.id",
      0, kTurnsLimit, {{"variant", variant}, {"device", device}});
  std::vector<EarlierTurns> turns;
  for (const db::TableRow& row : db::rows_of(found))
    turns.push_back({.shape = row.text("shape"),
                     .label = row.text("label"),
                     .uuid = row.text("uuid"),
                     .ratio = row.real("ratio"),
                     .interval = {row.real("ci_low"), row.real("ci_high")},
                     .settings = try_parse_json(row.text("settings"))});
  return turns;
}

/// Of the kernel's time over PyTorch's.
TimeChange kernel_over_pytorch(double ratio, const Interval& interval) {
  return change_of(1 / ratio, {1 / interval.high, 1 / interval.low}, kTurnsConfidence);
}

class PackagedMeasurement {
 public:
  PackagedMeasurement(const PackagedKernel& kernel, const MeasurementOrder& order, const Target& target,
                      const Config& config, const std::function<void(std::string_view)>& progress)
      : kernel_(kernel),
        order_(order),
        target_(target),
        config_(config),
        progress_(progress),
        store_(db::open_store(order.database)),
        search_(std::in_place,
                UserSearch::Order{
                    .problem = kernel.problem,
                    .command = order.command,
                    .audited = require_audit(*kernel.problem, order.unaudited, config, order.database)},
                target, config, *store_) {}

  MeasuredKernel take(const std::filesystem::path& package, const std::vector<std::string>& only,
                      const std::atomic<bool>* stop) {
    progress_(fmt::format("{}: checks and times", kernel_.name));
    if (evaluate()) {
      if (target_.kind == DeviceKind::cuda) {
        read_stored(package);
        if (image_ && !found_.same_code) pair_with_image();
      } else {
        compare_costs();
      }
    }
    search_->end("library check", found_.failure.empty() ? std::optional(stored_.variant) : std::nullopt);
    search_.reset();  // PyTorch gets the memory of its workers
    if (found_.failure.empty() && target_.kind == DeviceKind::cuda && !order_.baselines.empty())
      take_turns(only, stop);
    return std::move(found_);
  }

 private:
  bool evaluate() {
    const Completed done = search_->complete(search_->request(kernel_.candidate));
    stored_ = search_->commit(done, "");
    const Outcome& outcome = done.result.outcome;
    if (outcome.status != Status::ok) {
      found_.failure = fmt::format("its source fails now: {}", explain(outcome));
      return false;
    }
    if (done.result.build) cubin_ = done.result.build->cubin;
    for (const Measurement& m : done.result.measurements)
      if (m.role == MeasurementRole::candidate && m.cold) found_.now_us[m.workload] = m.median_ns / kNsInUs;
    note_members();
    return true;
  }

  void note_members() {
    const Json& members = kernel_.description.at("members");
    if (members.empty()) return;
    for (const Workload& workload : kernel_.problem->workloads) {
      Environment environment = kernel_.problem->environment(workload.axes);
      environment.merge(device_environment(*target_.device, target_.arch));
      if (const auto chosen = codegen::chosen_member(kernel_.candidate, environment))
        found_.members[workload.name] = static_cast<int>(*chosen) + 1;
    }
  }

  void read_stored(const std::filesystem::path& package) {
    try {
      image_ =
          std::make_shared<const BuildResult>(read_image(package / image_path(kernel_.name, target_.arch)));
      found_.same_code = image_->cubin == cubin_;
    } catch (const Error& missing) {
      found_.notes.push_back(
          fmt::format("{}: not compared with its image: {}", kernel_.name, missing.what()));
    }
  }

  void pair_with_image() {
    progress_(fmt::format("{}: in pairs with the image of the package", kernel_.name));
    EvaluationRequest request = search_->request(kernel_.candidate);
    request.rival = std::make_shared<const Candidate>(kernel_.candidate);
    request.rival_build = image_;
    request.tag = fmt::format("{}", stored_.variant);
    const Completed done = search_->complete(std::move(request));
    static_cast<void>(search_->commit(done, "comparison"));
    if (done.result.outcome.status != Status::ok) {
      found_.failure = fmt::format("{}: {}",
                                   done.result.rival_failed ? "the image of the package fails now"
                                                            : "it fails beside the image of the package",
                                   explain(done.result.outcome));
      return;
    }
    for (const Measurement& now : done.result.measurements)
      if (now.role == MeasurementRole::candidate) add_pairs(done.result, now);
  }

  void add_pairs(const EvaluationResult& result, const Measurement& now) {
    const Measurement* stored = agent::other_of(result, now.workload, MeasurementRole::champion);
    if (stored == nullptr || now.samples_ns.empty() || stored->samples_ns.empty()) return;
    const double launches = static_cast<double>(stored->launches_per_sample) / now.launches_per_sample;
    const PairedRatio pairs = paired_ratio(std::array{agent::pair_up(now, *stored, 1)});
    const Interval interval{launches * pairs.interval.low, launches * pairs.interval.high};
    found_.changes.push_back({.shape = now.workload,
                              .against = Against::image,
                              .label = {},
                              .ratio = launches * pairs.ratio,
                              .change = change_of(launches * pairs.ratio, interval, kVerdictConfidence)});
  }

  void compare_costs() {
    if (!kernel_.estimated) return;
    for (const auto& [shape, now] : found_.now_us) {
      const auto then = kernel_.stored_us.find(shape);
      if (then == kernel_.stored_us.end() || then->second <= 0 || now <= 0) continue;
      const double ratio = now / then->second;
      found_.changes.push_back({.shape = shape,
                                .against = Against::cost,
                                .label = {},
                                .ratio = ratio,
                                .change = change_of(ratio, {ratio, ratio}, kTurnsConfidence)});
    }
  }

  void take_turns(const std::vector<std::string>& only, const std::atomic<bool>* stop) {
    const std::vector<EarlierTurns> earlier =
        earlier_turns(order_.database, stored_.variant, target_.device->name);
    KernelBaselines turns;
    try {
      turns = time_in_turns({.problem = kernel_.problem,
                             .candidate = kernel_.candidate,
                             .baselines = order_.baselines,
                             .workloads = only,
                             .rounds = order_.rounds,
                             .build = image_},
                            target_, config_, progress_, stop);
    } catch (const Error& missing) {
      found_.notes.push_back(fmt::format("{}: PyTorch was not timed: {}", kernel_.name, missing.what()));
      return;
    }
    for (const std::string& note : turns.notes)
      found_.notes.push_back(fmt::format("{}: {}", kernel_.name, note));
    db::store_turns(order_.database, stored_.evaluation, turns.turns);
    for (const BaselineTurns& one : turns.turns)
      if (one.column == TimeColumn::device) add_turns(one, earlier);
  }

  void add_turns(const BaselineTurns& now, const std::vector<EarlierTurns>& earlier) {
    double& most = found_.pytorch[now.workload];
    most = most > 0 ? std::min(most, now.ratio) : now.ratio;
    const TimeChange change = kernel_over_pytorch(now.ratio, now.interval);
    const auto of = [&](const EarlierTurns& one) {
      return one.shape == now.workload && one.label == now.label;
    };
    const auto same = std::ranges::find_if(earlier, [&](const EarlierTurns& one) {
      return of(one) && one.uuid == target_.device->uuid && one.settings == now.settings;
    });
    if (same != earlier.end()) {
      const TimeChange since = change_since(change, kernel_over_pytorch(same->ratio, same->interval));
      found_.changes.push_back({.shape = now.workload,
                                .against = Against::then,
                                .label = now.label,
                                .ratio = std::exp(since.log_ratio),
                                .change = since});
    }
    const bool led = std::ranges::any_of(
        earlier, [&](const EarlierTurns& one) { return of(one) && one.interval.low > 1; });
    if (led)
      found_.changes.push_back({.shape = now.workload,
                                .against = Against::pytorch,
                                .label = now.label,
                                .ratio = 1 / now.ratio,
                                .change = change});
  }

  const PackagedKernel& kernel_;
  const MeasurementOrder& order_;
  const Target& target_;
  const Config& config_;
  const std::function<void(std::string_view)>& progress_;
  std::unique_ptr<VariantStore> store_;
  std::optional<UserSearch> search_;
  StoredEvaluation stored_;
  std::string cubin_;
  std::shared_ptr<const BuildResult> image_;
  MeasuredKernel found_;
};

}  // namespace

std::string_view against_name(Against against) { return kAgainst.at(static_cast<std::size_t>(against)); }

MeasuredKernel measure_packaged(const PackagedKernel& kernel, const std::filesystem::path& package,
                                const MeasurementOrder& order, const Target& target, const Config& config,
                                const std::vector<std::string>& only,
                                const std::function<void(std::string_view)>& progress,
                                const std::atomic<bool>* stop) {
  return PackagedMeasurement(kernel, order, target, config, progress).take(package, only, stop);
}

}  // namespace ak::app
