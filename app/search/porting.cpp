// SPDX-License-Identifier: Apache-2.0
#include "app/search/porting.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "agent/evaluate_one.h"
#include "agent/llm/prompt_parts.h"
#include "app/evaluate/figure_texts.h"
#include "app/search/best_points.h"
#include "app/setup/assembler.h"
#include "core/error.h"
#include "core/text/print_stderr.h"
#include "core/tuning/plan_space.h"
#include "db/read/evaluated_variant.h"
#include "db/store/stored_candidate.h"
#include "runtime/build/candidate_plan.h"

namespace ak::app {
namespace {

constexpr std::size_t kMaxFirstPoints = 5;  // as many as a transfer
constexpr std::size_t kMaxRelated = 8;      // tried where the origin cannot be built; each costs a build
constexpr std::size_t kMaxResolved = 200;   // points tried on the shapes, nearest first

/// Of a target that no one has here: what is known of its products.
DeviceFacts device_of(const Target& target) {
  return target.device ? *target.device : runtime::nominal_device(target.arch);
}

/// A kernel that is near the one asked for: its source and what it took where.
struct RelatedKernel {
  Candidate candidate;
  std::optional<RowId> variant;
  std::string description;
  std::string device = {};
  std::optional<double> time_ns = {};
};

std::string measured_text(double time_ns, const std::string& device, bool emulated) {
  return fmt::format(", {}{} on {}", emulated ? "an estimated cost of " : "", format_ns(time_ns), device);
}

RelatedKernel describe(Candidate candidate, const std::string& word, std::optional<RowId> variant,
                       const std::filesystem::path& database) {
  RelatedKernel origin{.candidate = std::move(candidate), .variant = variant, .description = word};
  const auto stored = variant ? db::find_evaluation(database, *variant) : std::nullopt;
  if (!stored) return origin;
  const bool timed = stored->result.score_ns && stored->result.outcome.status == Status::ok;
  origin.device = timed ? stored->device.name : "";
  if (timed) origin.time_ns = stored->result.score_ns;
  origin.description = fmt::format(
      "variant {} ({} for {}{})", *variant, db::definition_of(database, *variant), stored->arch.sm(),
      timed ? measured_text(*origin.time_ns, origin.device, stored->device.kind == DeviceKind::emulator)
            : "");
  return origin;
}

/// Other sources of the problem that the database knows, the likeliest first: of the same target, of the same
/// params, and fast on their own shape.
std::vector<RelatedKernel> related_kernels(const BestPoints& best, const std::filesystem::path& database,
                                           const std::string& but_source, const ProblemInstance& problem,
                                           const Arch& arch) {
  std::vector<const BestPoint*> points;
  for (const BestPoint& point : best.points)
    if (point.source != but_source) points.push_back(&point);
  std::ranges::stable_sort(points, {}, [&](const BestPoint* point) {
    return std::tuple(point->arch.number() != arch.number(), point->arch.number() > arch.number(),
                      point->definition != problem.definition.name, point->emulated, point->time_ns);
  });
  std::vector<RelatedKernel> related;
  std::set<std::string> seen;
  for (const BestPoint* point : points) {
    if (related.size() >= kMaxRelated || !seen.insert(point->source).second) continue;
    const auto variant = point->provenance.value("variant", RowId{0});
    KernelChoice choice = kernel_of_variant(database, std::to_string(variant));
    related.push_back(describe(std::move(choice.candidate), "", variant, database));
  }
  return related;
}

/// Why it cannot be built for the target; empty when it can.
std::string build_error(Evaluator& evaluator, const std::shared_ptr<const ProblemInstance>& problem,
                        const Candidate& candidate, const Arch& arch) {
  EvaluationRequest request;
  request.problem = problem;
  request.candidate = candidate;
  request.arch = arch;
  request.depth = Depth::build;
  const Outcome outcome = agent::evaluate_one(evaluator, std::move(request)).result.outcome;
  if (outcome.status == Status::ok || outcome.status == Status::compiled_only) return "";
  return fmt::format("{}: {}", to_string(outcome.status), outcome.message);
}

/// The points of the same source that were best elsewhere, brought to this target.
std::vector<agent::FirstPoint> other_points(const BestPoints& best, const Candidate& ported,
                                            const ProblemInstance& problem, const DeviceFacts& device,
                                            const Arch& arch) {
  std::vector<agent::FirstPoint> points;
  std::set<TunableValues> seen{ported.tunables};
  for (const BestPoint& point : best.points) {
    if (point.source != ported.source_hash() || points.size() >= kMaxFirstPoints) continue;
    Candidate there = ported;
    there.tunables = point.tunables;
    const auto nearest = nearest_point(there, problem, device, arch);
    if (nearest.ok() && seen.insert(*nearest).second)
      points.push_back({.template_index = 0, .point = *nearest, .arm = "port"});
  }
  return points;
}

class Porter {
 public:
  Porter(const std::shared_ptr<const ProblemInstance>& problem, const Target& target, const Config& config)
      : problem_(problem),
        target_(target),
        device_(device_of(target)),
        evaluator_(make_evaluator(target, config)) {}

  /// True when it is what the search begins with; else a note says why not.
  bool take(RelatedKernel relative, Port& port) {
    Candidate& candidate = relative.candidate;
    const auto point = nearest_point(candidate, *problem_, device_, target_.arch);
    if (!point) return refuse(relative, point.error().message, port);
    const bool moved = *point != candidate.tunables;
    candidate.tunables = *point;
    const std::string input_error = build_error(*evaluator_, problem_, candidate, target_.arch);
    if (!input_error.empty()) return refuse(relative, input_error, port);
    if (moved)
      port.notes.push_back(fmt::format("its own point is not possible there: begun with {}",
                                       agent::tunables_text(candidate.tunables)));
    port.from = fmt::format("from {}", relative.description);
    port.device = relative.device;
    port.origin_ns = relative.time_ns;
    port.origins[0] = {.proposer = "search", .arm = "port", .parents = {}, .llm_call = {}};
    if (relative.variant) port.origins[0].parents.push_back(*relative.variant);
    port.candidates.push_back(std::move(candidate));
    return true;
  }

  [[nodiscard]] const DeviceFacts& device() const { return device_; }

 private:
  bool refuse(const RelatedKernel& relative, const std::string& why, Port& port) const {
    port.notes.push_back(
        fmt::format("{} cannot be ported to {}: {}", relative.description, target_.arch.sm(), why));
    return false;
  }

  const std::shared_ptr<const ProblemInstance> problem_;
  const Target target_;
  const DeviceFacts device_;
  std::unique_ptr<Evaluator> evaluator_;
};

/// What the database has of the origin, where it is in there; else the file.
RelatedKernel origin_of(const PortOrigin& origin, const std::filesystem::path& database) {
  return describe(origin.choice.candidate, origin.word, origin.choice.variant, database);
}

}  // namespace

Port port_kernel(const PortOrigin& origin, const std::shared_ptr<const ProblemInstance>& problem,
                 const Target& target, const Config& config, const std::filesystem::path& database) {
  if (!origin.choice.problem.empty() && origin.choice.problem != problem->problem)
    fail(ExitCode::usage, "--from {}: it computes {}, not {}", origin.word, origin.choice.problem,
         problem->problem);
  Port port;
  Porter porter(problem, target, config);
  const BestPoints best = best_points_of(database, problem->problem);
  const std::string source = origin.choice.candidate.source_hash();
  if (!porter.take(origin_of(origin, database), port)) {
    auto related = related_kernels(best, database, source, *problem, target.arch);
    for (RelatedKernel& relative : related)
      if (porter.take(std::move(relative), port)) break;
  }
  if (!port.candidates.empty())
    port.first_points = other_points(best, port.candidates.front(), *problem, porter.device(), target.arch);
  return port;
}

std::string port_lesson(const Port& port, const ProblemInstance& problem, const Target& target) {
  if (port.candidates.empty()) return "";
  std::string text = fmt::format(
      "The candidate {} was ported {} to {} for {}. What was chosen for there (tile sizes, stages, "
      "instructions, the "
      "use of shared memory and registers) need not be right here: find out what this target and these "
      "params allow that those did not, and what they take away.\n",
      port.candidates.front().name, port.from, problem.definition.name, target.arch.sm());
  for (const std::string& note : port.notes) text += note + "\n";
  return text;
}

Json port_json(const Port& port, const std::string& account) {
  const bool known = !port.origins.empty() && !port.origins.at(0).parents.empty();
  return {{"account", account},
          {"from", port.from},
          {"variant", known ? Json(port.origins.at(0).parents.front()) : Json()},
          {"device", port.device},
          {"origin_ns", port.origin_ns ? Json(*port.origin_ns) : Json()},
          {"notes", port.notes}};
}

Result<TunableValues> nearest_point(const Candidate& candidate, const ProblemInstance& problem,
                                    const DeviceFacts& device, const Arch& arch) {
  Environment environment = problem.environment({});
  environment.merge(device_environment(device, arch));
  const auto shapes = runtime::select_workloads(problem, {}, device.kind);
  const auto possible = [&](const TunableValues& point) {
    Candidate there = candidate;
    there.tunables = point;
    const auto plans = runtime::resolve_plans(problem, there, shapes, device_environment(device, arch));
    return plans.ok() && std::ranges::all_of(*plans, [&](const runtime::WorkloadPlan& plan) {
             return std::ranges::all_of(plan.plan.launches, [&](const ResolvedLaunch& launch) {
               return device.shared_bytes_per_block == 0 ||
                      launch.shared_bytes <= device.shared_bytes_per_block;
             });
           });
  };
  const auto space = plan_space(candidate.plan, environment);
  if (!space) {
    const TunableValues& own = candidate.tunables;
    if (has_point(candidate.plan, environment, own) && possible(own)) return own;
    return space.error();
  }
  const auto points = nearest_points(*space, candidate.tunables, kMaxResolved);
  const auto found = std::ranges::find_if(points, possible);
  if (found == points.end()) return InputError{"no point of its tunables is possible there"};
  return *found;
}

}  // namespace ak::app
