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
#include "core/outcome.h"
#include "core/text/json.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

constexpr auto kEarlierQueryTime = std::chrono::seconds(60);
constexpr std::size_t kMostRows = 20'000;  // the latest; a search's model keeps 1,000 (chosen: 0.2 s)

// Times of what passed, and what failed, which has no times and counts for all shapes.
constexpr const char* kEarlierAnswers = R"sql(
SELECT d.params AS params, d.name AS definition, t.content_hash AS source, v.name AS template, v.tunables AS tunables,
       w.axes AS axes, dev.name AS device, s.arch AS arch, e.status AS status, min(m.median_ns) AS time_ns
FROM evaluations e JOIN searches s ON s.id = e.search_id AND s.device_id = e.device_id
JOIN devices dev ON dev.id = e.device_id JOIN variants v ON v.id = e.variant_id
JOIN sources t ON t.id = v.source_id JOIN definitions d ON d.id = v.definition_id
LEFT JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'candidate' AND m.cold = 1 AND m.median_ns > 0
LEFT JOIN workloads w ON w.id = m.workload_id
WHERE d.problem = :problem AND dev.kind = :kind AND e.id <= :last AND (e.status <> 'ok' OR m.id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id)
GROUP BY d.id, v.id, dev.id, s.arch, w.axes ORDER BY max(e.id) DESC)sql";

struct Group {
  Json params;
  AxisValues shape;
  std::string device;
  Arch arch;
  agent::EarlierSearches of_templates;
};
/// Params, device and target, and of what passed the shape.
using Place = std::tuple<std::string, std::string, std::string>;

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

std::int64_t last_evaluation(const std::filesystem::path& database) {
  const db::Table table =
      db::query(database, "SELECT ifnull(max(id), 0) AS last FROM evaluations", 1, kEarlierQueryTime);
  return db::rows_of(table).front().integer("last");
}

/// Gathers rows into groups.
class Groups {
 public:
  explicit Groups(const std::vector<Candidate>& templates) : templates_(templates) {
    for (const Candidate& candidate : templates) hashes_.push_back(candidate.source_hash());
  }

  void add(const db::TableRow& row) {
    const auto index = template_of(templates_, hashes_, row);
    const auto status = parse_status(row.text("status"));
    if (!index || !status) return;
    const Place place{row.text("params"), row.text("device"), row.text("arch")};
    agent::EarlierSearch::Answer answer{
        .point = with_own_values(parse_json(row.text("tunables")).get<TunableValues>(), templates_[*index]),
        .time_ns = row.known_real("time_ns")};
    if (*status == Status::ok && answer.time_ns)
      group_of(place, row).of_templates[*index].answers.push_back(std::move(answer));
    else if (info(*status).candidate_fault)
      failed_.emplace_back(place, *index, std::move(answer));
  }

  /// With the failures, which count for all shapes of their place.
  [[nodiscard]] std::vector<Group> finish() {
    std::vector<Group> result;
    for (auto& [place, shapes] : groups_) {
      for (auto& [shape, group] : shapes) {
        for (const auto& [where, index, answer] : failed_)
          if (where == place) group.of_templates[index].answers.push_back(answer);
        result.push_back(std::move(group));
      }
    }
    return result;
  }

 private:
  Group& group_of(const Place& place, const db::TableRow& row) {
    auto [found, is_new] = groups_[place].try_emplace(row.text("axes"));
    Group& group = found->second;
    if (!is_new) return group;
    group = {.params = parse_json(row.text("params")),
             .shape = parse_json(row.text("axes")).get<AxisValues>(),
             .device = row.text("device"),
             .arch = parse_sm(row.text("arch")).value_or(Arch{}),
             .of_templates = agent::EarlierSearches(templates_.size())};
    for (agent::EarlierSearch& search : group.of_templates)
      search.device = group.device, search.shape = row.text("definition") + " " + row.text("axes");
    return group;
  }

  const std::vector<Candidate>& templates_;
  std::vector<std::string> hashes_;
  std::map<Place, std::map<std::string, Group>> groups_;  ///< then by shape
  std::vector<std::tuple<Place, std::size_t, agent::EarlierSearch::Answer>> failed_;
};

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

}  // namespace

EarlierAnswers earlier_answers(const std::filesystem::path& database, const ProblemInstance& problem,
                               const std::vector<Candidate>& templates, const DeviceFacts& device,
                               const Arch& arch, std::optional<std::int64_t> up_to) {
  EarlierAnswers earlier;
  if (!std::filesystem::exists(database)) return earlier;
  earlier.last_evaluation = up_to ? *up_to : last_evaluation(database);
  const db::Table table = db::query(database, kEarlierAnswers, kMostRows, kEarlierQueryTime,
                                    {{"problem", problem.problem},
                                     {"kind", device.kind == DeviceKind::emulator ? "emulator" : "cuda"},
                                     {"last", earlier.last_evaluation}});
  Groups gathered(templates);
  for (const db::TableRow& row : db::rows_of(table)) gathered.add(row);
  std::vector<std::pair<Remoteness, Group>> groups;
  for (Group& group : gathered.finish())
    if (const auto far = remoteness(group, problem, device, arch))
      groups.emplace_back(*far, std::move(group));
  std::ranges::stable_sort(groups, {}, [](const auto& entry) { return entry.first; });
  earlier.of_templates.resize(templates.size());
  for (auto& [far, group] : groups)
    for (std::size_t i = 0; i < templates.size(); ++i)
      if (!group.of_templates[i].answers.empty())
        earlier.of_templates[i].push_back(std::move(group.of_templates[i]));
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
