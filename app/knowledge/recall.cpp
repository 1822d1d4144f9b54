// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ak::app {
namespace {

constexpr std::size_t kLessons = 24, kRemembered = 8;  // chosen: about 1,500 and 500 tokens

/// A comparison that fell out clearly, or a failure seen more than once. Attempts are shown where they fit,
/// by their bottleneck.
bool is_lesson(const db::Insight& insight) {
  return insight.kind != "attempt" && insight.kind != "bottleneck" && insight.tries > 1;
}

std::string lesson_line(const db::Insight& insight, const db::InsightScope& here) {
  std::string where;
  if (insight.scope.algorithm != here.algorithm) where = insight.scope.algorithm + " ";
  if (insight.scope.arch != here.arch) where += insight.scope.arch + " ";
  if (insight.scope.device_kind != here.device_kind)
    where += insight.scope.device_kind == "emulator" ? "by estimated cost " : "on a GPU ";
  return fmt::format("- {}{}{}\n", where, where.empty() ? "" : "- ", insight.text);
}

std::string lessons_of(const std::filesystem::path& database, const db::InsightScope& scope) {
  const std::vector<std::string> learned_by_models{"pattern", "failure"};
  std::vector<db::InsightFilter> filters(3);
  filters[0].algorithm = filters[1].algorithm = scope.algorithm;
  filters[0].arch = filters[2].arch = scope.arch;
  filters[0].device_kind = scope.device_kind;
  filters[2].kinds = learned_by_models;
  std::string text;
  std::set<RowId> seen;
  for (const db::InsightFilter& filter : filters) {
    for (const db::Insight& insight : db::find_insights(database, filter)) {
      if (!is_lesson(insight) || seen.size() >= kLessons || !seen.insert(insight.id).second) continue;
      text += lesson_line(insight, scope);
    }
  }
  return text;
}

/// Those with the greatest effect either way: what helped, and what did not.
std::string tried_against(const std::filesystem::path& database, const db::InsightScope& scope,
                          const std::string& bottleneck) {
  db::InsightFilter filter;
  filter.bottleneck = bottleneck;
  filter.device_kind = scope.device_kind;
  filter.kinds = {"attempt"};
  std::vector<db::Insight> tried = db::find_insights(database, filter);
  const auto rank = [&](const db::Insight& insight) {
    return std::tuple(insight.scope.algorithm != scope.algorithm, insight.scope.arch != scope.arch,
                      insight.ratio.value_or(1));
  };
  std::ranges::stable_sort(tried, {}, rank);
  std::string text;
  for (std::size_t i = 0; i < std::min(kRemembered, tried.size()); ++i) text += lesson_line(tried[i], scope);
  return text;
}

}  // namespace

Memory recall(const std::filesystem::path& database, const db::InsightScope& scope) {
  return {.lessons = lessons_of(database, scope),
          .remembered = [database, scope](const std::string& bottleneck) {
            return tried_against(database, scope, bottleneck);
          }};
}

}  // namespace ak::app
