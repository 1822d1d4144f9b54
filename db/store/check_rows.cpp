// SPDX-License-Identifier: Apache-2.0
#include "db/store/check_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "db/content_uid.h"
#include "db/rows.h"
#include "db/store/evaluation_rows.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

std::string json_name(const std::string& name) { return stored_json(Json(name)); }

/// Four digits say how an error is distributed; the figures of a group are exact.
std::string rounded(double value) { return std::isfinite(value) ? fmt::format("{:.4g}", value) : "null"; }

/// All of it: 17 digits give a double back.
std::string whole(double value) { return std::isfinite(value) ? fmt::format("{:.17g}", value) : "null"; }

std::string passed_json(const CheckRecord& check) {
  return fmt::format("[{},{},{},{},{}]", json_name(check.distribution), json_name(check.tensor),
                     rounded(check.max_error), rounded(check.mean_error), rounded(check.tolerance));
}

std::string whole_json(const CheckRecord& check) {
  return fmt::format(
      "[{},{},{},{},{},{},{},{},{},{}]", json_name(check.distribution), json_name(check.tensor),
      whole(check.max_error), whole(check.mean_error), whole(check.tolerance),
      check.worst_index >= 0 ? fmt::format("{}", check.worst_index) : "null", whole(check.worst_expected),
      whole(check.worst_got), check.nonfinite_mismatches, check.passed ? 1 : 0);
}

/// What the checks of one workload come to.
struct GroupFigures {
  std::int64_t seed = 0, checks = 0, failed = 0;
  std::optional<double> max_error, mean_error, worst_difference;
  std::string comparisons;
};

/// The larger; what is not finite does not count.
void raise(std::optional<double>& most, double value) {
  if (std::isfinite(value)) most = std::max(most.value_or(value), value);
}

GroupFigures figures_of(std::span<const CheckRecord* const> checks) {
  GroupFigures figures;
  figures.seed = as_signed(checks.front()->seed);
  double sum = 0;
  std::int64_t known = 0;
  for (const CheckRecord* check : checks) {
    ++figures.checks;
    figures.failed += check->passed ? 0 : 1;
    raise(figures.max_error, check->max_error);
    raise(figures.worst_difference, std::abs(check->worst_got - check->worst_expected));
    if (std::isfinite(check->mean_error)) sum += check->mean_error, ++known;
    const bool in_short = check->passed && check->nonfinite_mismatches == 0;
    figures.comparisons +=
        (figures.checks == 1 ? "[" : ",") + (in_short ? passed_json(*check) : whole_json(*check));
  }
  figures.comparisons += "]";
  if (known > 0) figures.mean_error = sum / static_cast<double>(known);
  return figures;
}

std::string content_of(const GroupFigures& f) {
  const auto text = [](const std::optional<double>& value) { return value ? whole(*value) : "null"; };
  return fmt::format("[{},{},{},{},{},{},{}]", f.seed, f.checks, f.failed, text(f.max_error),
                     text(f.mean_error), text(f.worst_difference), json_name(f.comparisons));
}

RowId put_group(Connection& connection, const GroupFigures& figures) {
  const auto uid = content_uid(content_of(figures));
  if (const auto known = find(connection, "check_groups", {{"uid", uid}})) return *known;
  return insert(connection, "check_groups",
                {{"uid", uid},
                 {"input_seed", figures.seed},
                 {"checks", figures.checks},
                 {"failed", figures.failed},
                 {"max_error", figures.max_error},
                 {"mean_error", figures.mean_error},
                 {"worst_difference", figures.worst_difference},
                 {"comparisons", figures.comparisons}});
}

}  // namespace

void put_check_group(Connection& connection, RowId evaluation, RowId workload,
                     std::span<const CheckRecord* const> checks) {
  insert(connection, "evaluation_checks",
         {{"evaluation_id", evaluation},
          {"workload_id", workload},
          {"group_id", put_group(connection, figures_of(checks))}},
         "ON CONFLICT DO NOTHING");
}

void put_checks(const EvaluationRows& rows) {
  std::map<std::pair<RowId, std::uint64_t>, std::vector<const CheckRecord*>> groups;
  for (const CheckRecord& check : rows.record.result->checks)
    groups[{rows.workload(check.workload), check.seed}].push_back(&check);
  for (const auto& [key, checks] : groups)
    put_check_group(rows.connection, rows.evaluation, key.first, checks);
}

}  // namespace ak::db
