// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_plan.h"

#include <algorithm>
#include <string_view>

#include "agent/llm/mailbox/mailbox_client.h"
#include "core/device/floor.h"
#include "core/learn/stats.h"
#include "core/time_limit.h"

namespace ak::app {
namespace {

/// What a search may use of `total`, of which all searches together have used `used`.
double part(double total, double used, double share, double shares) {
  return std::max(0.0, total - used) * share / shares;
}

template <class T>
void limit(std::optional<T>& own, double most) {
  const T value = static_cast<T>(most);
  own = own ? std::min(*own, value) : value;
}

struct UsedBudget {
  double minutes = 0, evaluations = 0, tokens = 0, cost_usd = 0;
};

UsedBudget used_by(const db::Session& session, bool done_alone = false) {
  UsedBudget totals;
  for (const db::SessionSearch& run : session.runs) {
    if (done_alone && !run.is_done()) continue;
    totals.evaluations += static_cast<double>(run.stats.evaluations);
    totals.minutes += static_cast<double>(run.stats.spent_ms) / 60'000;
    totals.tokens += static_cast<double>(run.stats.tokens);
    totals.cost_usd += run.stats.cost_usd;
  }
  return totals;
}

double shares_of(const db::Session& session, bool of_models) {
  double shares = 0;
  for (const db::SessionSearch& run : session.runs)
    if (!run.is_done() && (!of_models || !run.model.empty())) shares += run.share;
  return shares;
}

void limit_spending(const db::Session& session, const db::SessionSearch& run, const SessionBudgets& budgets,
                    const UsedBudget& used, agent::Budgets& own) {
  if (run.model.empty()) return;
  const double shares = shares_of(session, true);
  if (budgets.max_tokens)
    limit(own.max_tokens, part(static_cast<double>(*budgets.max_tokens), used.tokens, run.share, shares));
  if (budgets.max_cost_usd)
    limit(own.max_cost_usd, part(*budgets.max_cost_usd, used.cost_usd, run.share, shares));
}

}  // namespace

agent::Budgets budgets_of(const db::Session& session, const db::SessionSearch& run,
                          const SessionBudgets& budgets, agent::Budgets own) {
  const UsedBudget used = used_by(session);
  if (budgets.max_minutes) {
    const double minutes = part(*budgets.max_minutes, used.minutes, run.share, shares_of(session, false));
    const std::chrono::milliseconds most = time_limit(minutes * 60);
    own.max_wall = std::min(own.max_wall.value_or(most), most);
  }
  if (budgets.max_evaluations)
    limit(own.max_evaluations, part(static_cast<double>(*budgets.max_evaluations), used.evaluations,
                                    run.share, shares_of(session, false)));
  limit_spending(session, run, budgets, used, own);
  return own;
}

agent::Budgets share_of_tokens(const db::Session& session, const db::SessionSearch& run,
                               const SessionBudgets& budgets, agent::Budgets own) {
  limit_spending(session, run, budgets, used_by(session, true), own);
  return own;
}

db::Session moved(db::Session session, const std::filesystem::path& folder) {
  const std::string before = session.folder + "/", now = folder.string() + "/";
  for (db::SessionSearch& run : session.runs) {
    for (std::string& argument : run.arguments) {
      // "/old/k.cu", "--output=/old/k.cu", "--model=mailbox:/old/box"
      const std::size_t at = argument.find(before);
      if (at != std::string::npos && (at == 0 || argument[at - 1] == '=' || argument[at - 1] == ':'))
        argument.replace(at, before.size(), now);
    }
  }
  session.folder = folder.string();
  return session;
}

std::vector<db::RenamedModel> moved_mailboxes(const db::Session& before, const db::Session& now) {
  const auto model_of = [](std::string_view argument) {
    constexpr std::string_view kFlag = "--model=";
    if (argument.starts_with(kFlag)) argument.remove_prefix(kFlag.size());
    return std::string(argument);
  };
  std::vector<db::RenamedModel> renamed;
  for (std::size_t i = 0; i < now.runs.size(); ++i) {
    const db::SessionSearch& run = now.runs[i];
    if (!run.search) continue;
    for (std::size_t k = 0; k < run.arguments.size(); ++k) {
      const std::string old = model_of(before.runs.at(i).arguments.at(k)), model = model_of(run.arguments[k]);
      if (old != model && !agent::mailbox_folder(model).empty())
        renamed.push_back({.search = *run.search, .before = old, .now = model});
    }
  }
  return renamed;
}

agent::Budgets budgets_from_json(const Json& json) {
  const auto find = [&]<class T>(const char* key, std::optional<T>& value) {
    if (json.contains(key)) value = json.at(key).get<T>();
  };
  agent::Budgets budgets;
  find("max_evaluations", budgets.max_evaluations);
  find("max_compilations", budgets.max_compilations);
  find("max_tokens", budgets.max_tokens);
  find("max_cost_usd", budgets.max_cost_usd);
  find("target_ns", budgets.target_ns);
  find("patience", budgets.patience);
  find("least_gain", budgets.least_gain);
  find("least_headroom", budgets.least_headroom);
  std::optional<std::int64_t> wall_ms;
  find("max_wall_ms", wall_ms);
  if (wall_ms) budgets.max_wall = std::chrono::milliseconds(*wall_ms);
  return budgets;
}

Json beginning_json(const std::vector<agent::FirstPoint>& points, std::int64_t last_evaluation) {
  Json list = Json::array();
  for (const agent::FirstPoint& point : points)
    list.push_back({{"template", point.template_index}, {"tunables", point.point}, {"arm", point.arm}});
  return {{"points", std::move(list)}, {"last_evaluation", last_evaluation}};
}

std::vector<agent::FirstPoint> first_points_from_json(const Json& json) {
  std::vector<agent::FirstPoint> points;
  for (const Json& point : json.is_object() ? json.at("points") : json) {
    points.push_back({.template_index = point.at("template"),
                      .point = point.at("tunables").get<TunableValues>(),
                      .arm = point.at("arm")});
  }
  return points;
}

std::int64_t last_earlier_from_json(const Json& json) {
  return json.is_object() ? json.at("last_evaluation").get<std::int64_t>() : 0;
}

std::optional<double> limit_ns(const SearchRun& run) {
  if (run.target.kind != DeviceKind::cuda) return std::nullopt;
  std::vector<double> floors, weights;
  for (const Workload& workload : run.problem->workloads) {
    if (!workload.has(WorkloadRole::time)) continue;
    floors.push_back(floor_of(*run.problem, workload, *run.target.device).time.value());
    weights.push_back(workload.weight);
  }
  const bool known = !floors.empty() && std::ranges::all_of(floors, [](double ns) { return ns > 0; });
  return known ? std::optional(weighted_geometric_mean(floors, weights)) : std::nullopt;
}

}  // namespace ak::app
