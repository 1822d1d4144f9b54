// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/knowledge_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/knowledge/decision_tree.h"
#include "app/knowledge/evidence.h"
#include "core/device/arch.h"
#include "db/database.h"
#include "db/sql_text.h"

namespace ak::app {
namespace {

constexpr auto kPageQueryTime = std::chrono::seconds(60);
constexpr std::size_t kMaxAttempts = 12;  // of a scope, those with the greatest effect; chosen
constexpr std::size_t kMinTreePoints = 30;

/// What an architecture added for kernels, from NVIDIA's CUDA C++ Programming Guide (compute capabilities)
/// and the PTX ISA manual (target notes of the instructions).
struct ArchFeature {
  int since;  ///< compute capability as 80, 90, ...
  int until;  ///< the last major version that has it, as 90; 0: all later ones
  std::string_view text;
};
constexpr ArchFeature kArchFeatures[] = {
    {80, 0, "asynchronous copies to shared memory (`cp.async`), bf16 and tf32 `mma`, L2 residency control"},
    {80, 0, "`redux.sync` reduces integers over a warp in one instruction"},
    {89, 0, "fp8 `mma`"},
    {90, 0,
     "TMA (`cp.async.bulk`, tensor maps), `mbarrier` transactions, thread block clusters with distributed "
     "shared memory"},
    {90, 90, "`wgmma`: tensor cores fed from shared memory by four warps (target sm_90a only)"},
    {100, 110, "`tcgen05`: tensor cores with tensor memory (targets sm_100a, sm_103a, sm_110a only)"},
    {120, 0, "fp4 and fp6 `mma` with block scaling (target sm_120a); neither `wgmma` nor `tcgen05`"},
};

std::string variants_text(const Json& evidence) {
  std::vector<std::string> groups;
  if (!evidence.is_object() || !evidence.contains("variants")) return "";
  for (const Json& group : evidence["variants"]) {
    std::vector<std::string> ids;
    for (const Json& id : group) ids.push_back(id.dump());
    groups.push_back(fmt::format("{}", fmt::join(ids, " to ")));
  }
  return groups.empty() ? "" : fmt::format(" [variants {}]", fmt::join(groups, ", "));
}

/// Text of models is in code spans of its own: it renders as nothing but text.
std::string plain(std::string text) {
  for (char& c : text)
    if (c == '<' || c == '>' || c == '`' || c == '|' || c == '[' || c == ']')
      c = c == '<' || c == '[' ? '(' : c == '>' || c == ']' ? ')' : ' ';
  return text;
}

std::string claim(const db::Insight& insight) {
  return fmt::format("- {}{}\n", plain(insight.text), variants_text(insight.evidence));
}

std::string scope_title(const db::InsightScope& scope) {
  return fmt::format("{} for {} on {}{}", scope.algorithm, scope.arch, scope.device,
                     scope.device_kind == "emulator" ? " (estimated costs, no times)" : "");
}

std::string list_of(const std::vector<db::Insight>& insights, std::string_view kind) {
  std::string text;
  for (const db::Insight& insight : insights)
    if (insight.kind == kind) text += claim(insight);
  return text;
}

/// A section; where there is nothing to say, what would fill it.
std::string section(std::string_view heading, std::string_view about, const std::string& found,
                    std::string_view what_fills_it) {
  return found.empty() ? fmt::format("\n## {}\n\nNothing yet: {}.\n", heading, what_fills_it)
                       : fmt::format("\n## {}\n\n{}\n{}", heading, about, found);
}

std::string patterns(const std::map<std::string, std::vector<db::Insight>>& by_scope) {
  std::string text;
  for (const auto& [title, insights] : by_scope) {
    const std::string found = list_of(insights, "template") + list_of(insights, "tunable") +
                              list_of(insights, "pattern") + list_of(insights, "bottleneck");
    if (!found.empty()) text += fmt::format("\n### {}\n\n{}", title, found);
  }
  return section(
      "Optimisation patterns",
      "What changed times, in pairs of kernels that differ in nothing else, and what models added or left "
      "out.",
      text, "searches of some dozen evaluations show what changes times");
}

std::string without_success(const std::map<std::string, std::vector<db::Insight>>& by_scope) {
  std::string text;
  for (const auto& [title, insights] : by_scope) {
    std::vector<db::Insight> attempts;
    for (const db::Insight& insight : insights)
      if (insight.kind == "attempt") attempts.push_back(insight);
    std::ranges::stable_sort(
        attempts, {}, [](const db::Insight& i) { return i.ratio ? -std::abs(std::log(*i.ratio)) : 1; });
    if (attempts.size() > kMaxAttempts) attempts.resize(kMaxAttempts);
    std::string found =
        list_of(insights, "expectation") + list_of(attempts, "attempt") + list_of(insights, "failure");
    if (!found.empty()) text += fmt::format("\n### {}\n\n{}", title, found);
  }
  return section("What models tried", "Greatest effect first, then what did not pass.", text,
                 "searches that ask a model (`--proposer llm` or `hybrid`) fill it");
}

std::string arch_limits(const Arch& arch) {
  const auto limit = limits(arch);
  if (!limit) return "";
  std::string text = fmt::format(
      "- an SM holds {} threads, {} blocks, {} registers and {} KB of shared memory; a block may have {} "
      "KB\n",
      limit->max_threads_per_sm, limit->max_blocks_per_sm, limit->registers_per_sm,
      limit->shared_bytes_per_sm / 1024, limit->shared_bytes_per_block / 1024);
  for (const ArchFeature& feature : kArchFeatures)
    if (arch.number() >= feature.since && (feature.until == 0 || arch.number() <= feature.until))
      text += fmt::format("- {}\n", feature.text);
  return text;
}

std::string best_kernels(const std::filesystem::path& database, const std::string& arch) {
  const db::Table table =
      db::query(database,
                "SELECT definition, device, variant, template, tunables, score_us, emulated_cost_us FROM "
                "leaderboard WHERE place = 1 AND shapes = 'own' AND arch = " +
                    db::sql_text(arch) + " GROUP BY definition, device ORDER BY definition, device",
                0, kPageQueryTime);
  return table.rows.empty() ? "" : "\nBest known:\n\n" + db::render(table, db::TableFormat::markdown);
}

std::string guides(const std::filesystem::path& database, const std::set<std::string>& archs) {
  std::string text = "\n## Architectures\n";
  for (const std::string& name : archs) {
    const auto arch = parse_sm(name);
    text +=
        fmt::format("\n### {}\n\n{}{}", name, arch ? arch_limits(*arch) : "", best_kernels(database, name));
  }
  return text;
}

/// Samples of one source; tunables and integer or boolean parameters of the problem are features.
std::vector<TreeSample> samples_of(const std::vector<const TimedVariant*>& points) {
  std::map<std::string, double> best;
  for (const TimedVariant* point : points) {
    const auto [entry, added] = best.try_emplace(point->definition, point->score_ns);
    if (!added) entry->second = std::min(entry->second, point->score_ns);
  }
  std::vector<TreeSample> samples;
  for (const TimedVariant* point : points) {
    TreeSample sample{.features = {}, .log_time = std::log(point->score_ns / best[point->definition])};
    for (const auto& [name, value] : point->tunables) sample.features[name] = static_cast<double>(value);
    for (const auto& [name, value] : point->params.items())
      if (value.is_number() || value.is_boolean())
        sample.features[name] = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::string trees(const std::filesystem::path& database, const std::vector<db::InsightScope>& scopes) {
  std::string text;
  for (const db::InsightScope& scope : scopes) {
    const std::vector<TimedVariant> variants = timed_variants(database, scope);
    std::map<std::string, std::vector<const TimedVariant*>> by_source;
    for (const TimedVariant& variant : variants) by_source[variant.source].push_back(&variant);
    for (const auto& [source, points] : by_source) {
      if (points.size() < kMinTreePoints) continue;
      const std::string tree = tree_markdown(fit_tree(samples_of(points)));
      if (!tree.empty())
        text += fmt::format("\n### {}: {}\n\n{}", scope_title(scope), plain(points.front()->name), tree);
    }
  }
  return section(
      "Decision trees",
      "Which tunables and parameters decide, by the mean over the points that were timed; the faster side "
      "first.",
      text, fmt::format("a tree takes {} timed points of one source", kMinTreePoints));
}

bool matches(const db::InsightScope& scope, const db::InsightFilter& filter) {
  const auto same = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  return same(filter.algorithm, scope.algorithm) && same(filter.arch, scope.arch) &&
         same(filter.device_kind, scope.device_kind);
}

}  // namespace

std::string knowledge_page(const std::filesystem::path& database, const db::InsightFilter& filter) {
  std::vector<db::InsightScope> scopes = scopes_of(database);
  std::erase_if(scopes, [&](const db::InsightScope& scope) { return !matches(scope, filter); });
  db::InsightFilter all = filter;
  all.limit = 0;
  std::map<std::string, std::vector<db::Insight>> by_scope;
  for (db::Insight& insight : db::find_insights(database, all))
    by_scope[scope_title(insight.scope)].push_back(std::move(insight));
  std::set<std::string> archs;  // with those that most people have, though nothing was measured
  if (filter.arch.empty()) archs = {"sm_80", "sm_90a", "sm_120a"};
  for (const db::InsightScope& scope : scopes) archs.insert(scope.arch);
  return "# What is known\n\nFrom measurements in this database; numbers in brackets are rows of "
         "`variants`.\n" +
         patterns(by_scope) + guides(database, archs) + trees(database, scopes) + without_success(by_scope);
}

std::string insight_list(const std::vector<db::Insight>& insights) {
  std::string text;
  for (const db::Insight& insight : insights)
    text +=
        fmt::format("{}: {}{}\n", scope_title(insight.scope), insight.text, variants_text(insight.evidence));
  return text.empty() ? "nothing is known of that\n" : text;
}

Json to_json(const std::vector<db::Insight>& insights) {
  Json list = Json::array();
  for (const db::Insight& insight : insights)
    list.push_back({{"algorithm", insight.scope.algorithm},
                    {"arch", insight.scope.arch},
                    {"device", insight.scope.device},
                    {"device_kind", insight.scope.device_kind},
                    {"kind", insight.kind},
                    {"subject", insight.subject},
                    {"text", insight.text},
                    {"bottleneck", insight.bottleneck},
                    {"ratio", insight.ratio ? Json(*insight.ratio) : Json(nullptr)},
                    {"tries", insight.tries},
                    {"wins", insight.wins},
                    {"evidence", insight.evidence}});
  return list;
}

}  // namespace ak::app
