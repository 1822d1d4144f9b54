// SPDX-License-Identifier: Apache-2.0
#include "app/knowledge/learn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "agent/llm/approach.h"

namespace ak::app {
namespace {

// Chosen: fewer pairs say little, and a difference below the noise between evaluations says nothing.
constexpr int kMinPairs = 4;
constexpr double kNoise = 0.02, kClear = 0.75;  // of times; share of pairs that agree
constexpr std::size_t kExamples = 5;            // pairs of variants kept as evidence
constexpr std::size_t kMessageBytes = 160;

const std::vector<std::string> kLearned{"tunable", "template", "pattern",
                                        "attempt", "failure",  "expectation"};

/// Comparisons of the same two things.
struct Tally {
  int pairs = 0, wins = 0;
  double log_ratio = 0;  ///< sum of log(time with it / time without)
  Json examples = Json::array();

  void add(double with_ns, double without_ns, RowId with, RowId without) {
    ++pairs;
    wins += with_ns < without_ns;
    log_ratio += std::log(with_ns / without_ns);
    if (examples.size() < kExamples) examples.push_back({with, without});
  }
  void add(const Tally& other) {
    pairs += other.pairs;
    wins += other.wins;
    log_ratio += other.log_ratio;
    for (const Json& example : other.examples)
      if (examples.size() < kExamples) examples.push_back(example);
  }
  [[nodiscard]] double ratio() const { return std::exp(log_ratio / std::max(pairs, 1)); }
};

std::string subject_name(const TimedVariant& variant) {
  return variant.name.find('/') != std::string::npos ? variant.name
                                                     : variant.name + " " + variant.source.substr(0, 8);
}

std::string times_as_fast(double ratio) { return fmt::format("{:.3g} times as fast", 1 / ratio); }

/// By tunable, and by its two values in order: the time of the first over that of the second.
using Pairs = std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, Tally>>;

/// Of points of one source and definition.
void add_pairs(const std::vector<const TimedVariant*>& points, Pairs& pairs) {
  if (points.empty()) return;
  for (const auto& [name, unused] : points.front()->tunables) {
    std::map<TunableValues, std::vector<const TimedVariant*>> same;  // all except this tunable
    for (const TimedVariant* point : points) {
      TunableValues rest = point->tunables;
      rest.erase(name);
      same[rest].push_back(point);
    }
    for (const auto& [rest, group] : same) {
      for (const TimedVariant* a : group) {
        for (const TimedVariant* b : group) {
          const auto first = a->tunables.find(name), second = b->tunables.find(name);
          if (first == a->tunables.end() || second == b->tunables.end() || first->second == second->second)
            continue;
          pairs[name][{first->second, second->second}].add(a->score_ns, b->score_ns, a->variant, b->variant);
        }
      }
    }
  }
}

/// The value that is fastest against all others together.
std::int64_t best_value(const std::map<std::pair<std::int64_t, std::int64_t>, Tally>& tallies) {
  std::map<std::int64_t, Tally> all;
  for (const auto& [values, tally] : tallies) all[values.first].add(tally);
  return std::ranges::min_element(all, {}, [](const auto& entry) { return entry.second.ratio(); })->first;
}

std::optional<db::Insight> tunable_insight(
    const db::InsightScope& scope, const std::string& source, const std::string& name,
    const std::map<std::pair<std::int64_t, std::int64_t>, Tally>& tallies) {
  const std::int64_t best = best_value(tallies);
  Tally all;
  std::vector<std::string> parts;
  double most = 0;
  for (const auto& [values, tally] : tallies) {
    most = std::max(most, std::abs(std::log(tally.ratio())));
    if (values.first != best) continue;
    all.add(tally);
    parts.push_back(fmt::format("{} as {} ({} of {} pairs)", times_as_fast(tally.ratio()), values.second,
                                tally.wins, tally.pairs));
  }
  if (all.pairs < kMinPairs) return std::nullopt;
  db::Insight insight{.id = 0,
                      .scope = scope,
                      .kind = "tunable",
                      .subject = source + " " + name,
                      .text = "",
                      .bottleneck = "",
                      .ratio = all.ratio(),
                      .tries = all.pairs,
                      .wins = all.wins,
                      .evidence = {{"variants", all.examples}, {"tunable", name}, {"value", best}}};
  if (most < kNoise) {
    insight.text = fmt::format("{}: {} hardly matters: its values are within {:.1f} % of each other", source,
                               name, 100 * most);
  } else if (all.wins >= kClear * all.pairs) {
    insight.text = fmt::format("{}: {}={} is {}", source, name, best, fmt::join(parts, ", "));
  } else {
    insight.text =
        fmt::format("{}: the best {} depends on the other tunables and the shape; on average {} is {}",
                    source, name, best, fmt::join(parts, ", "));
  }
  return insight;
}

std::string outcome_of(const ModelAttempt& attempt) {
  if (!attempt.score_ns)
    return fmt::format("{}: {}", attempt.status,
                       attempt.message.substr(0, attempt.message.find('\n')).substr(0, kMessageBytes));
  if (!attempt.parent_score_ns) return fmt::format("it passed with {:.4g} us", *attempt.score_ns / 1e3);
  const double ratio = *attempt.score_ns / *attempt.parent_score_ns;
  return fmt::format("{} as the kernel it was made from ({:.4g} us after {:.4g} us)", times_as_fast(ratio),
                     *attempt.score_ns / 1e3, *attempt.parent_score_ns / 1e3);
}

/// The hypothesis is of this candidate alone; words before the code may be of several.
std::string stated_claim(const ModelAttempt& attempt) {
  if (attempt.hypothesis)
    return fmt::format("{}, because {}", attempt.hypothesis->change, attempt.hypothesis->reason);
  return attempt.claim.empty() ? attempt.name : attempt.claim;
}

std::string_view verdict_on(const ModelAttempt& attempt) {
  // As in the view hypothesis_results: what passed may have no score.
  const bool passed =
      attempt.status == "ok" || attempt.status == "duplicate" || attempt.status == "compiled_only";
  return ak::verdict_on(attempt.hypothesis->speedup, passed, attempt.measured_speedup);
}

std::string expectation_of(const ModelAttempt& attempt) {
  if (!attempt.hypothesis) return "";
  return fmt::format("; {:.3g} times as fast was expected: {}", attempt.hypothesis->speedup,
                     verdict_on(attempt));
}

db::Insight attempt_insight(const db::InsightScope& scope, const ModelAttempt& attempt) {
  const bool compared = attempt.score_ns && attempt.parent_score_ns;
  Json variants = Json::array({Json::array({attempt.variant})});
  if (attempt.parent != 0) variants[0].push_back(attempt.parent);
  return {.id = 0,
          .scope = scope,
          .kind = "attempt",
          .subject = fmt::format("variant {}", attempt.variant),
          .text = fmt::format("{} ({}{}): {}{}", stated_claim(attempt), attempt.arm,
                              attempt.bottleneck.empty() ? "" : ", against " + attempt.bottleneck,
                              outcome_of(attempt), expectation_of(attempt)),
          .bottleneck = attempt.bottleneck,
          .ratio = compared ? std::optional(*attempt.score_ns / *attempt.parent_score_ns) : std::nullopt,
          .tries = 1,
          .wins = compared && *attempt.score_ns < *attempt.parent_score_ns ? 1 : 0,
          .evidence = {{"variants", std::move(variants)}, {"model", attempt.model}}};
}

/// The result of attempts that added a feature, or left it out.
struct Change {
  Tally passed;
  int tries = 0;
  std::map<std::string, int> failed;                         ///< by status
  std::map<std::string, std::pair<int, int>> by_bottleneck;  ///< tries and gains
  std::set<RowId> variants;
};

void note_change(Change& change, const ModelAttempt& attempt) {
  ++change.tries;
  if (change.variants.size() < kExamples) change.variants.insert(attempt.variant);
  const bool compared = attempt.score_ns && attempt.parent_score_ns;
  if (compared)
    change.passed.add(*attempt.score_ns, *attempt.parent_score_ns, attempt.variant, attempt.parent);
  if (!attempt.score_ns) ++change.failed[attempt.status];
  if (attempt.bottleneck.empty()) return;
  auto& [tries, gains] = change.by_bottleneck[attempt.bottleneck];
  ++tries;
  gains += compared && *attempt.score_ns < *attempt.parent_score_ns;
}

db::Insight change_insight(const db::InsightScope& scope, const std::string& subject, const Change& change) {
  const std::string what = (subject.front() == '+' ? "adding " : "leaving out ") + subject.substr(1);
  std::string text =
      fmt::format("{} made kernels faster in {} of {} tries", what, change.passed.wins, change.tries);
  if (change.passed.pairs > 0)
    text += fmt::format(", {} on average where they passed", times_as_fast(change.passed.ratio()));
  for (const auto& [status, count] : change.failed) text += fmt::format("; {} {}", count, status);
  for (const auto& [bottleneck, counts] : change.by_bottleneck)
    text += fmt::format("; against {} it helped in {} of {}", bottleneck, counts.second, counts.first);
  Json variants = Json::array();
  for (const RowId variant : change.variants) variants.push_back({variant});
  return {.id = 0,
          .scope = scope,
          .kind = "pattern",
          .subject = subject,
          .text = text,
          .bottleneck = "",
          .ratio = change.passed.pairs > 0 ? std::optional(change.passed.ratio()) : std::nullopt,
          .tries = change.tries,
          .wins = change.passed.wins,
          .evidence = {{"variants", std::move(variants)}}};
}

std::map<std::string, Change> changes_of(std::span<const ModelAttempt> attempts) {
  std::map<std::string, Change> changes;
  for (const ModelAttempt& attempt : attempts) {
    if (attempt.parent == 0) continue;
    const auto now = agent::features_of(attempt.source), before = agent::features_of(attempt.parent_source);
    for (const std::string_view feature : now)
      if (std::ranges::find(before, feature) == before.end())
        note_change(changes[fmt::format("+{}", feature)], attempt);
    for (const std::string_view feature : before)
      if (std::ranges::find(now, feature) == now.end())
        note_change(changes[fmt::format("-{}", feature)], attempt);
  }
  return changes;
}

std::vector<db::Insight> failure_insights(const db::InsightScope& scope,
                                          std::span<const ModelAttempt> attempts) {
  struct Failures {
    int count = 0;
    std::map<std::string, int> messages;
    Json variants = Json::array();
  };
  std::map<std::string, Failures> by_status;
  for (const ModelAttempt& attempt : attempts) {
    if (attempt.score_ns) continue;
    Failures& failures = by_status[attempt.status];
    ++failures.count;
    ++failures.messages[attempt.message.substr(0, attempt.message.find('\n')).substr(0, kMessageBytes)];
    if (failures.variants.size() < kExamples) failures.variants.push_back({attempt.variant});
  }
  std::vector<db::Insight> insights;
  for (const auto& [status, failures] : by_status) {
    const auto most =
        std::ranges::max_element(failures.messages, {}, [](const auto& entry) { return entry.second; });
    insights.push_back({.id = 0,
                        .scope = scope,
                        .kind = "failure",
                        .subject = status,
                        .text = fmt::format("{} of {} kernels by models ended as {}, most often: {}",
                                            failures.count, attempts.size(), status, most->first),
                        .bottleneck = "",
                        .ratio = std::nullopt,
                        .tries = static_cast<int>(attempts.size()),
                        .wins = 0,
                        .evidence = {{"variants", failures.variants}}});
  }
  return insights;
}

/// Of every variant the first attempt, one with a hypothesis where there is any.
std::vector<ModelAttempt> one_of_each(std::span<const ModelAttempt> attempts) {
  std::vector<ModelAttempt> variants;
  std::map<RowId, std::size_t> places;
  for (const ModelAttempt& attempt : attempts) {
    const auto [known, is_new] = places.try_emplace(attempt.variant, variants.size());
    if (is_new)
      variants.push_back(attempt);
    else if (!variants[known->second].hypothesis && attempt.hypothesis)
      variants[known->second] = attempt;
  }
  return variants;
}

/// How much of what models expect of their changes comes true, of all models together: a lesson for each of them.
std::optional<db::Insight> expectation_insight(const db::InsightScope& scope,
                                               std::span<const ModelAttempt> attempts) {
  std::map<std::string_view, int> verdicts;
  double log_expected = 0, log_measured = 0;
  int stated = 0, compared = 0;
  Json variants = Json::array();
  for (const ModelAttempt& attempt : attempts) {
    if (!attempt.hypothesis) continue;
    ++stated;
    ++verdicts[verdict_on(attempt)];
    if (variants.size() < kExamples) variants.push_back({attempt.variant});
    if (!attempt.measured_speedup) continue;
    ++compared;
    log_expected += std::log(attempt.hypothesis->speedup);
    log_measured += std::log(*attempt.measured_speedup);
  }
  if (stated == 0) return std::nullopt;
  std::string text =
      fmt::format("of {} changes whose gain models had stated {} held, {} were refuted, {} failed", stated,
                  verdicts["held"], verdicts["refuted"], verdicts["failed"]);
  if (compared > 0)
    text +=
        fmt::format("; those compared were expected to be {:.3g} times as fast on average and were {:.3g}",
                    std::exp(log_expected / compared), std::exp(log_measured / compared));
  return db::Insight{.id = 0,
                     .scope = scope,
                     .kind = "expectation",
                     .subject = "all models",
                     .text = std::move(text),
                     .bottleneck = "",
                     .ratio = std::nullopt,
                     .tries = stated,
                     .wins = verdicts["held"],
                     .evidence = {{"variants", std::move(variants)}}};
}

}  // namespace

std::vector<db::Insight> learn_tunables(const db::InsightScope& scope,
                                        std::span<const TimedVariant> variants) {
  std::map<std::pair<std::string, std::string>, std::vector<const TimedVariant*>>
      groups;  // of comparable points
  for (const TimedVariant& variant : variants)
    groups[{variant.source, variant.definition}].push_back(&variant);
  std::map<std::string, Pairs> by_source;
  for (const auto& [key, points] : groups) add_pairs(points, by_source[subject_name(*points.front())]);
  std::vector<db::Insight> insights;
  for (const auto& [source, pairs] : by_source)
    for (const auto& [name, tallies] : pairs)
      if (auto insight = tunable_insight(scope, source, name, tallies))
        insights.push_back(*std::move(insight));
  return insights;
}

std::vector<db::Insight> learn_templates(const db::InsightScope& scope,
                                         std::span<const TimedVariant> variants) {
  std::map<std::string, std::map<std::string, const TimedVariant*>> best;  // definition -> template
  for (const TimedVariant& variant : variants) {
    const std::string name = subject_name(variant);
    const TimedVariant*& known = best[variant.definition][name];
    if (known == nullptr || variant.score_ns < known->score_ns) known = &variant;
  }
  std::map<std::string, Tally> against_next;
  std::map<std::string, std::set<std::string>> next;
  int contested = 0;
  for (const auto& [definition, by_name] : best) {
    if (by_name.size() < 2) continue;
    ++contested;
    std::vector<std::pair<double, const TimedVariant*>> order;
    for (const auto& [name, variant] : by_name) order.emplace_back(variant->score_ns, variant);
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
    const TimedVariant &first = *order[0].second, &second = *order[1].second;
    against_next[subject_name(first)].add(first.score_ns, second.score_ns, first.variant, second.variant);
    next[subject_name(first)].insert(subject_name(second));
  }
  std::vector<db::Insight> insights;
  for (const auto& [name, tally] : against_next) {
    insights.push_back(
        {.id = 0,
         .scope = scope,
         .kind = "template",
         .subject = name,
         .text = fmt::format("{} is the fastest source on {} of {} problems with several, {} as the next "
                             "({})",
                             name, tally.pairs, contested, times_as_fast(tally.ratio()),
                             fmt::join(next[name], ", ")),
         .bottleneck = "",
         .ratio = tally.ratio(),
         .tries = contested,
         .wins = tally.pairs,
         .evidence = {{"variants", tally.examples}}});
  }
  return insights;
}

std::vector<db::Insight> learn_attempts(const db::InsightScope& scope,
                                        std::span<const ModelAttempt> attempts) {
  const std::vector<ModelAttempt> variants = one_of_each(attempts);
  std::vector<db::Insight> insights = failure_insights(scope, variants);
  for (const auto& [subject, change] : changes_of(variants))
    insights.push_back(change_insight(scope, subject, change));
  if (auto expected = expectation_insight(scope, attempts)) insights.push_back(*std::move(expected));
  for (const ModelAttempt& attempt : variants) insights.push_back(attempt_insight(scope, attempt));
  return insights;
}

std::size_t learn(const std::filesystem::path& database, const db::InsightScope& scope) {
  const std::vector<TimedVariant> variants = timed_variants(database, scope);
  std::vector<db::Insight> insights = learn_tunables(scope, variants);
  for (db::Insight& insight : learn_templates(scope, variants)) insights.push_back(std::move(insight));
  for (db::Insight& insight : learn_attempts(scope, model_attempts(database, scope)))
    insights.push_back(std::move(insight));
  db::replace_insights(database, scope, kLearned, insights);
  return insights.size();
}

}  // namespace ak::app
