// SPDX-License-Identifier: Apache-2.0
#include "app/search/earlier_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "app/search/best_lookup.h"
#include "core/learn/time_prior.h"
#include "core/outcome.h"
#include "core/text/json.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

constexpr auto kEarlierQueryTime = std::chrono::seconds(60);
constexpr std::size_t kMostRows = 20'000;  // the latest; a search's model keeps 1,000 (chosen: 0.2 s)

// Times of what passed, and what failed: that has no times that count, and no shape. Failures of a search with a bound of
// its own for errors are none of others. What is superseded is as the view of
// that name has it, of the time of :last.
constexpr const char* kEarlierAnswers = R"sql(
SELECT d.params AS params, d.name AS definition, t.content_hash AS source, v.name AS template, v.tunables AS tunables,
       w.axes AS axes, dev.name AS device, s.arch AS arch, e.status AS status, min(m.median_ns) AS time_ns,
       x.model AS predicted_by, min(x.predicted_ns) AS predicted_ns
FROM evaluations e JOIN searches s ON s.id = e.search_id JOIN proposals p ON p.id = e.proposal_id
JOIN devices dev ON dev.id = e.device_id JOIN variants v ON v.id = e.variant_id
JOIN sources t ON t.id = v.source_id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN measurements m ON e.status = 'ok' AND m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
LEFT JOIN workloads w ON w.id = m.workload_id
LEFT JOIN predictions x ON :predicted AND x.evaluation_id = e.id AND x.workload_id = m.workload_id
WHERE d.problem = :problem AND dev.kind = :kind AND e.id <= :last AND (e.status <> 'ok' OR m.id IS NOT NULL)
  AND p.arm <> 'comparison' AND (e.status = 'ok' OR s.budgets ->> '$.max_error' IS NULL)
  AND NOT EXISTS (SELECT 1 FROM evaluations f JOIN proposals q ON q.id = f.proposal_id
                  WHERE f.variant_id = e.variant_id AND f.search_id = e.search_id AND f.id > e.id AND f.id <= :last
                    AND (q.arm = 'final' AND f.status = 'ok'
                         OR q.arm IN ('held_out', 'comparison', 'examination', 'final')
                            AND f.status IN ('incorrect', 'nondeterministic', 'integrity_violation', 'memory_error', 'race',
                                             'hang', 'launch_error', 'below_floor')))
GROUP BY d.id, v.id, dev.id, s.arch, w.axes, e.status, x.model ORDER BY max(e.id) DESC)sql";

/// Params, device and target.
using Place = std::tuple<std::string, std::string, std::string>;

struct Group {
  Place place;
  Json params;
  AxisValues shape;
  std::string device;
  Arch arch;
  agent::EarlierSearches of_templates;
};

std::optional<std::size_t> template_of(const std::vector<Candidate>& templates,
                                       const std::vector<std::string>& hashes, const db::TableRow& row) {
  const auto hash = std::ranges::find(hashes, row.text("source"));
  if (hash != hashes.end()) return static_cast<std::size_t>(hash - hashes.begin());
  const auto named = std::ranges::find(templates, row.text("template"), &Candidate::name);
  if (named != templates.end()) return static_cast<std::size_t>(named - templates.begin());
  return std::nullopt;
}

/// What the point lacks is as the template has it.
TunableValues with_own_values(TunableValues point, const Candidate& candidate) {
  for (const auto& [name, value] : candidate.tunables) point.try_emplace(name, value);
  return point;
}

/// As a group of the prior has to have.
bool has_two_times(const agent::EarlierSearch& search) {
  const auto timed = [](const auto& answer) { return answer.time_ns.has_value(); };
  return std::ranges::count_if(search.answers, timed) >= 2;
}

std::int64_t last_evaluation(const std::filesystem::path& database) {
  const db::Table table =
      db::query(database, "SELECT ifnull(max(id), 0) AS last FROM evaluations", 1, kEarlierQueryTime);
  return db::rows_of(table).front().integer("last");
}

/// How far a group is from the search, nearest first: by device, by params, by shape.
using Remoteness = std::tuple<int, bool, double>;

int remoteness_of(const Group& group, const DeviceFacts& device, const Arch& arch) {
  if (group.device == device.name) return 0;
  if (group.arch.number() == arch.number()) return 1;
  return group.arch.major == arch.major ? 2 : 3;
}

/// Of the nearest timed shape; nothing where the group is what is searched, or its shapes have other axes.
std::optional<Remoteness> remoteness(const Group& group, const ProblemInstance& problem,
                                     const DeviceFacts& device, const Arch& arch) {
  const bool params = same_params(group.params, problem.params);
  double nearest = INFINITY;
  for (const Workload& workload : problem.workloads)
    if (workload.has(WorkloadRole::time))
      nearest = std::min(nearest, shape_distance(workload.axes, group.shape));
  const Remoteness found{remoteness_of(group, device, arch), !params, nearest};
  if (!std::isfinite(nearest) || found == Remoteness{0, false, 0}) return std::nullopt;
  return found;
}

/// Gathers rows into groups.
class Groups {
 public:
  Groups(const std::vector<Candidate>& templates, const TargetPredictor* predictor)
      : templates_(templates), predictor_(predictor) {
    for (const Candidate& candidate : templates) hashes_.push_back(candidate.source_hash());
  }

  void add(const db::TableRow& row) {
    const auto index = template_of(templates_, hashes_, row);
    const auto status = parse_status(row.text("status"));
    if (!index || !status) return;
    const Place place{row.text("params"), row.text("device"), row.text("arch")};
    TunableValues point =
        with_own_values(parse_json(row.text("tunables")).get<TunableValues>(), templates_[*index]);
    if (*status != Status::ok) {
      if (info(*status).candidate_fault && !is_verified(*status))
        failed_[{place, *index}].push_back(std::move(point));
    } else if (const auto time_ns = ranking_time(row)) {
      group_of(place, row).of_templates[*index].answers.push_back({std::move(point), time_ns});
    }
  }

  /// Nearest first. Failures count once, in the nearest group of their place that has times of the template.
  [[nodiscard]] std::vector<Group> finish(const ProblemInstance& problem, const DeviceFacts& device,
                                          const Arch& arch) {
    std::vector<std::pair<Remoteness, Group*>> order;
    for (auto& [place, shapes] : groups_)
      for (auto& [shape, group] : shapes)
        if (const auto far = remoteness(group, problem, device, arch)) order.emplace_back(*far, &group);
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
    std::vector<Group> result;
    for (const auto& [far, group] : order) {
      // Of the very same params and device failures may be of the shape that is searched: left out with its times.
      const bool same_place = std::get<0>(far) == 0 && !std::get<1>(far);
      for (std::size_t i = 0; i < templates_.size() && !same_place; ++i)
        if (has_two_times(group->of_templates[i])) add_failures(group->of_templates[i], {group->place, i});
      result.push_back(std::move(*group));
    }
    return result;
  }

 private:
  Group& group_of(const Place& place, const db::TableRow& row) {
    auto [found, is_new] = groups_[place].try_emplace(row.text("axes"));
    Group& group = found->second;
    if (!is_new) return group;
    group = {.place = place,
             .params = parse_json(row.text("params")),
             .shape = parse_json(row.text("axes")).get<AxisValues>(),
             .device = row.text("device"),
             .arch = parse_sm(row.text("arch")).value_or(Arch{}),
             .of_templates = agent::EarlierSearches(templates_.size())};
    for (agent::EarlierSearch& search : group.of_templates)
      search.device = group.device, search.shape = row.text("definition") + " " + row.text("axes");
    return group;
  }

  /// Measured; where predicted times rank, predicted by a model whose times rank with them.
  [[nodiscard]] std::optional<double> ranking_time(const db::TableRow& row) const {
    if (predictor_ == nullptr) return row.known_real("time_ns");
    const auto predicted_ns = row.known_real("predicted_ns");
    return predicted_ns && predictor_->ranks_with(row.text("predicted_by")) ? predicted_ns : std::nullopt;
  }

  void add_failures(agent::EarlierSearch& search, const std::pair<Place, std::size_t>& of) {
    for (TunableValues& point : std::exchange(failed_[of], {}))
      search.answers.push_back({std::move(point), std::nullopt});
  }

  const std::vector<Candidate>& templates_;
  const TargetPredictor* predictor_;  ///< its times rank; null: measured ones and costs do
  std::vector<std::string> hashes_;
  std::map<Place, std::map<std::string, Group>> groups_;                        ///< then by shape
  std::map<std::pair<Place, std::size_t>, std::vector<TunableValues>> failed_;  ///< by place and template
};

}  // namespace

EarlierAnswers earlier_answers(const std::filesystem::path& database, const ProblemInstance& problem,
                               const std::vector<Candidate>& templates, const DeviceFacts& device,
                               const Arch& arch, const TargetPredictor* predictor,
                               std::optional<std::int64_t> up_to) {
  EarlierAnswers earlier;
  if (!std::filesystem::exists(database)) return earlier;
  earlier.last_evaluation = up_to ? *up_to : last_evaluation(database);
  const db::Table table = db::query(database, kEarlierAnswers, kMostRows, kEarlierQueryTime,
                                    {{"problem", problem.problem},
                                     {"kind", device.kind == DeviceKind::emulator ? "emulator" : "cuda"},
                                     {"predicted", std::int64_t{predictor != nullptr}},
                                     {"last", earlier.last_evaluation}});
  Groups gathered(templates, predictor);
  for (const db::TableRow& row : db::rows_of(table)) gathered.add(row);
  earlier.of_templates.resize(templates.size());
  for (Group& group : gathered.finish(problem, device, arch)) {
    for (std::size_t i = 0; i < templates.size(); ++i) {
      auto& searches = earlier.of_templates[i];
      if (searches.size() < TimePrior::kMaxGroups && has_two_times(group.of_templates[i]))
        searches.push_back(std::move(group.of_templates[i]));
    }
  }
  return earlier;
}

std::string earlier_text(const std::vector<agent::EarlierSearches>& of_templates) {
  std::size_t answers = 0;
  std::set<std::string> devices, shapes;
  for (const agent::EarlierSearches& searches : of_templates) {
    for (const agent::EarlierSearch& search : searches) {
      answers += search.answers.size();
      devices.insert(search.device);
      shapes.insert(search.shape);
    }
  }
  if (answers == 0) return "";
  const auto counted = [](std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{} of {} and {}", counted(answers, "answer"), counted(devices.size(), "device"),
                     counted(shapes.size(), "shape"));
}

}  // namespace ak::app
