// SPDX-License-Identifier: Apache-2.0
#include "app/pareto/pareto_front.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <sstream>
#include <tuple>

#include "core/error.h"
#include "core/text/suggest.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

constexpr auto kFrontQueryTime = std::chrono::seconds(60);
constexpr std::size_t kMostVariants = 100'000;  // chosen: a second

constexpr std::array kObjectives{Objective{"time", "time, us", 1e-3},
                                 Objective{"error", "largest error, relative", 1},
                                 Objective{"energy", "energy of a call, J", 1},
                                 Objective{"shared", "shared memory of a block, KiB", 1.0 / 1024},
                                 Objective{"registers", "registers of a thread", 1}};

// Of every variant on a device and shapes the fastest evaluation that counts. Only the last measurement of a search has
// energy: where that is asked for, evaluations without it are no candidates.
constexpr const char* kVariants = R"sql(
WITH counted AS (
  SELECT c.variant_id, c.device_id, c.arch, c.score_ns, c.evaluation_id, c.shared_bytes, c.definition_id,
         (SELECT group_concat(shape, '; ') FROM (
            SELECT DISTINCT w.axes AS shape FROM measurements m JOIN workloads w ON w.id = m.workload_id
            WHERE m.evaluation_id = c.evaluation_id AND m.role = 'candidate' AND m.cold = 1 ORDER BY shape)) AS shapes,
         (SELECT max(k.value) FROM metrics k WHERE k.evaluation_id = c.evaluation_id AND k.name = 'energy/joule') AS energy
  FROM scores c JOIN definitions d ON d.id = c.definition_id
  WHERE c.searched = 1 AND d.problem = :problem),
best AS (
  SELECT *, min(score_ns) FROM counted WHERE NOT :needs_energy OR energy IS NOT NULL
  GROUP BY variant_id, device_id, arch, shapes)
SELECT b.variant_id AS variant, d.name AS definition, d.params AS params, v.name AS source, v.tunables AS tunables,
       dev.name AS device, dev.kind AS kind, b.arch AS arch, b.shapes AS shapes, b.score_ns AS time, b.energy AS energy,
       b.shared_bytes AS shared,
       (SELECT max(c.max_error) FROM check_figures c WHERE c.evaluation_id = b.evaluation_id) AS error,
       (SELECT max(k.registers) FROM build_kernels k WHERE k.build_id = e.build_id) AS registers
FROM best b JOIN evaluations e ON e.id = b.evaluation_id JOIN variants v ON v.id = b.variant_id
JOIN definitions d ON d.id = b.definition_id JOIN devices dev ON dev.id = b.device_id
ORDER BY device, arch, shapes, time, variant)sql";

bool has_params(const std::string& stored, const std::map<std::string, std::string>& params) {
  const Json json = parse_json(stored);
  return std::ranges::all_of(params, [&](const auto& param) {
    const auto found = json.find(param.first);
    if (found == json.end()) return false;
    return (found->is_string() ? found->template get<std::string>() : found->dump()) == param.second;
  });
}

/// Those that can be compared.
auto group_of(const FrontPoint& point) {
  return std::tie(point.device, point.arch, point.shapes, point.emulated);
}

bool as_good_everywhere(const FrontPoint& one, const FrontPoint& other) {
  return std::ranges::equal(one.values, other.values, std::less_equal{});
}

std::string heading(const FrontPoint& point) {
  return fmt::format("{} {}, {}{}", point.device, point.arch, point.shapes,
                     point.emulated ? " (times are costs that the CPU device estimates)" : "");
}

}  // namespace

std::span<const Objective> objectives() { return kObjectives; }

std::vector<const Objective*> parse_objectives(const std::string& text) {
  std::vector<const Objective*> chosen;
  std::vector<std::string> names;
  for (const Objective& objective : kObjectives) names.emplace_back(objective.name);
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto found = std::ranges::find(kObjectives, word, &Objective::name);
    if (found == kObjectives.end())
      fail(ExitCode::usage, "there is no objective '{}'{}; known: {}", word, did_you_mean(word, names),
           fmt::join(names, ", "));
    if (std::ranges::find(chosen, &*found) != chosen.end())
      fail(ExitCode::usage, "objective '{}' is given twice", word);
    chosen.push_back(&*found);
  }
  if (chosen.size() < 2) fail(ExitCode::usage, "a front needs two objectives or more, such as time,error");
  return chosen;
}

void mark_front(std::vector<FrontPoint>& points) {
  std::vector<FrontPoint*> order;
  for (FrontPoint& point : points) order.push_back(&point);
  std::ranges::sort(order, [](const FrontPoint* a, const FrontPoint* b) {
    return std::tuple_cat(group_of(*a), std::tie(a->values, a->variant)) <
           std::tuple_cat(group_of(*b), std::tie(b->values, b->variant));
  });
  // What beats a point comes before it in this order, and is on the front or beaten by what is.
  std::vector<const FrontPoint*> front;
  for (FrontPoint* point : order) {
    if (!front.empty() && group_of(*front.front()) != group_of(*point)) front.clear();
    point->on_front = std::ranges::none_of(
        front, [&](const FrontPoint* other) { return as_good_everywhere(*other, *point); });
    if (point->on_front) front.push_back(point);
  }
}

ParetoFront pareto_front(const std::filesystem::path& database, const std::string& problem,
                         const std::map<std::string, std::string>& params,
                         std::vector<const Objective*> chosen) {
  ParetoFront front{.problem = problem, .objectives = std::move(chosen), .points = {}, .without = 0};
  const bool needs_energy =
      std::ranges::find(front.objectives, "energy", &Objective::name) != front.objectives.end();
  const db::Table table = db::query(database, kVariants, kMostVariants, kFrontQueryTime,
                                    {{"problem", problem}, {"needs_energy", std::int64_t{needs_energy}}});
  for (const db::TableRow& row : db::rows_of(table)) {
    if (!has_params(row.text("params"), params)) continue;
    FrontPoint point{.variant = row.integer("variant"),
                     .definition = row.text("definition"),
                     .source = row.text("source"),
                     .tunables = row.text("tunables"),
                     .device = row.text("device"),
                     .arch = row.text("arch"),
                     .emulated = row.text("kind") == "emulator",
                     .shapes = row.text("shapes")};
    for (const Objective* objective : front.objectives)
      if (const auto value = row.known_real(objective->name))
        point.values.push_back(*value * objective->scale);
    if (point.values.size() == front.objectives.size())
      front.points.push_back(std::move(point));
    else
      ++front.without;
  }
  mark_front(front.points);
  return front;
}

Json to_json(const ParetoFront& front) {
  Json json{{"problem", front.problem}, {"objectives", Json::array()}, {"front", Json::array()}};
  for (const Objective* objective : front.objectives)
    json["objectives"].push_back({{"name", objective->name}, {"title", objective->title}});
  std::size_t beaten = 0;
  for (const FrontPoint& point : front.points) {
    if (!point.on_front) {
      ++beaten;
      continue;
    }
    Json values = Json::object();
    for (std::size_t i = 0; i < point.values.size(); ++i)
      values[std::string(front.objectives[i]->name)] = point.values[i];
    json["front"].push_back({{"variant", point.variant},
                             {"definition", point.definition},
                             {"template", point.source},
                             {"tunables", parse_json(point.tunables)},
                             {"device", point.device},
                             {"arch", point.arch},
                             {"emulated", point.emulated},
                             {"shapes", point.shapes},
                             {"values", std::move(values)}});
  }
  json["beaten"] = beaten;
  json["without"] = front.without;
  return json;
}

std::string front_text(const ParetoFront& front) {
  std::string text;
  const FrontPoint* before = nullptr;
  for (const FrontPoint& point : front.points) {
    if (!point.on_front) continue;
    if (before == nullptr || group_of(*before) != group_of(point)) {
      text += (before != nullptr ? "\n" : "") + heading(point) + "\n";
      for (const Objective* objective : front.objectives) text += fmt::format("{:>14}", objective->name);
      text += "  variant\n";
    }
    before = &point;
    for (const double value : point.values) text += fmt::format("{:>14.4g}", value);
    std::string tunables;
    const Json values = parse_json(point.tunables);
    for (const auto& [name, value] : values.items()) tunables += fmt::format(" {}={}", name, value.dump());
    text += fmt::format("  {} {} {}{}\n", point.variant, point.definition, point.source, tunables);
  }
  if (text.empty()) text = fmt::format("no variant of {} has all of these figures\n", front.problem);
  const auto shown = std::ranges::count_if(front.points, &FrontPoint::on_front);
  text += fmt::format("\n{} of {} variants; {} have no value for one of: ", shown, front.points.size(),
                      front.without);
  std::vector<std::string_view> titles;
  for (const Objective* objective : front.objectives) titles.push_back(objective->title);
  return text + fmt::format("{}\n", fmt::join(titles, "; "));
}

}  // namespace ak::app
