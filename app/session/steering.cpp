// SPDX-License-Identifier: Apache-2.0
#include "app/session/steering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "app/session/session_plan.h"
#include "core/search_verdict.h"
#include "core/time_limit.h"

namespace ak::app {
namespace {

/// So many parts has the share of a search beyond the least: enough to change one's mind, few enough to pause seldom (chosen).
constexpr double kParts = 2;
/// A round whose search became faster by less than this is one without a gain: the noise of times.
constexpr double kGain = 0.01;

/// One of the limits that are steered, and what is used of it.
struct Currency {
  std::optional<double> total;
  double least_part = 0;  ///< below it a round is not worth its pause
  double (*used)(const db::SessionSearch&) = nullptr;
  std::optional<double> (*given)(const db::SessionRound&) = nullptr;
  bool whole_numbers = false;

  [[nodiscard]] double rounded(double amount) const { return whole_numbers ? std::floor(amount) : amount; }
};

double used_minutes(const db::SessionSearch& run) { return static_cast<double>(run.stats.spent_ms) / 60'000; }
double used_evaluations(const db::SessionSearch& run) { return static_cast<double>(run.stats.evaluations); }

std::vector<Currency> currencies_of(const SessionBudgets& budgets) {
  std::vector<Currency> found;
  if (budgets.max_evaluations)
    found.push_back({.total = static_cast<double>(*budgets.max_evaluations),
                     .least_part = static_cast<double>(kLeastEvaluations),
                     .used = used_evaluations,
                     .given =
                         [](const db::SessionRound& round) {
                           return round.evaluations ? std::optional(static_cast<double>(*round.evaluations))
                                                    : std::nullopt;
                         },
                     .whole_numbers = true});
  if (budgets.max_minutes)
    found.push_back({.total = *budgets.max_minutes,
                     .least_part = kLeastMinutes,
                     .used = used_minutes,
                     .given = [](const db::SessionRound& round) { return round.minutes; }});
  return found;
}

void give(db::SessionRound& round, const Currency& currency, double amount) {
  if (currency.whole_numbers)
    round.evaluations = static_cast<std::int64_t>(currency.rounded(amount));
  else
    round.minutes = amount;
}

double all_shares(const db::Session& session) {
  double shares = 0;
  for (const db::SessionSearch& run : session.runs) shares += run.share;
  return shares;
}

/// A part of the rest.
double part_of(const Currency& currency, const db::Session& session) {
  const double even = *currency.total / static_cast<double>(session.runs.size());
  return std::max(currency.least_part, currency.rounded(even * (1 - kLeastPart) / kParts));
}

/// What is given to nobody. A search that is done, or pauses, leaves what it has not used; any other may still use it.
double rest_of(const Currency& currency, const db::Session& session) {
  double rest = *currency.total;
  for (const db::SessionSearch& run : session.runs) {
    const bool leaves = run.is_done() || run.state == "paused" || run.rounds.empty();
    const double given = leaves ? 0 : currency.given(run.rounds.back()).value_or(0);
    rest -= std::max(currency.used(run), given);
  }
  return std::max(0.0, rest);
}

/// Every limit allows another round.
bool any_rest(const std::vector<Currency>& currencies, const db::Session& session) {
  return std::ranges::all_of(currencies, [&](const Currency& currency) {
    // Less than half of the least is not worth a pause.
    return rest_of(currency, session) >= currency.least_part / 2;
  });
}

/// The share of its time that no kernel can be faster than; all of it where no limit is known, or nothing works yet.
double headroom(const db::SessionSearch& run) {
  return headroom_of(run.stats.best_ns, run.stats.limit_ns).value_or(1);
}

/// What a language model may still write is in no space.
std::optional<RemainingGain> known_gain(const db::SessionSearch& run) {
  return run.model.empty() && run.stats.best_ns ? run.gain : std::nullopt;
}

bool nothing_left(const db::SessionSearch& run) {
  const auto gain = known_gain(run);
  return headroom(run) <= kAtLimit || (gain && gain->high <= kLittleGain);
}

/// Rounds in a row, up to now, in which it did not become faster.
int rounds_without_gain(const db::SessionSearch& run) {
  std::optional<double> after = run.stats.best_ns;
  int rounds = 0;
  for (auto round = run.rounds.rbegin(); round != run.rounds.rend(); ++round) {
    if (!after || !round->best_ns || *after < *round->best_ns * (1 - kGain)) break;
    ++rounds;
    after = round->best_ns;
  }
  return rounds;
}

/// The geometric mean of what the limit leaves and of what is expected, by its share; half of it after every round without
/// a gain, so that a limit that no kernel reaches does not take all.
double promise(const db::SessionSearch& run) {
  const double most = headroom(run);
  const auto gain = known_gain(run);
  const double expected = gain ? std::min(gain->expected, most) : most;
  return run.share * std::sqrt(most * expected) * std::exp2(-rounds_without_gain(run));
}

std::string prospects(const db::SessionSearch& run) {
  std::string text;
  if (!run.stats.best_ns)
    text = "nothing works yet";
  else if (run.stats.limit_ns)
    text = fmt::format("the limit leaves {:.3g} % of its time", 100 * headroom(run));
  else
    text = "no limit is known";
  if (const auto gain = known_gain(run)) text += fmt::format(", {:.2g} % are expected", 100 * gain->expected);
  if (const int rounds = rounds_without_gain(run); rounds > 0)
    text += fmt::format(", {} round{} without a gain", rounds, rounds == 1 ? "" : "s");
  return text;
}

std::int64_t next_number(const db::Session& session) {
  std::int64_t last = 0;
  for (const db::SessionSearch& run : session.runs)
    if (!run.rounds.empty()) last = std::max(last, run.rounds.back().number);
  return last + 1;
}

db::SessionRound new_round(const db::Session& session, const db::SessionSearch& run) {
  return {.number = next_number(session),
          .evaluations = {},
          .minutes = {},
          .closes = false,
          .best_ns = run.stats.best_ns,
          .why = ""};
}

Turn first_turn(const db::Session& session, const std::vector<Currency>& currencies, std::size_t index) {
  const db::SessionSearch& run = session.runs[index];
  Turn turn{.run = index, .round = new_round(session, run)};
  const double part = (may_pause(run) ? kLeastPart : 1) * run.share / all_shares(session);
  for (const Currency& currency : currencies)
    give(turn.round, currency, std::min(*currency.total * part, rest_of(currency, session)));
  turn.round.closes = !may_pause(run);
  turn.round.why = may_pause(run)
                       ? fmt::format("the least that it gets: {:.0f} % of its share", 100 * kLeastPart)
                       : "its share: it is made in one go";
  return turn;
}

/// It ends with what it has used.
Turn closing_turn(const db::Session& session, const std::vector<Currency>& currencies, std::size_t index,
                  std::string why) {
  const db::SessionSearch& run = session.runs[index];
  Turn turn{.run = index, .round = new_round(session, run)};
  for (const Currency& currency : currencies) give(turn.round, currency, currency.used(run));
  turn.round.closes = true;
  turn.round.why = std::move(why);
  return turn;
}

Turn best_turn(const db::Session& session, const std::vector<Currency>& currencies,
               const std::vector<std::size_t>& open) {
  // Of equal ones the first of the queue.
  const std::size_t best =
      *std::ranges::max_element(open, {}, [&](std::size_t index) { return promise(session.runs[index]); });
  const db::SessionSearch& run = session.runs[best];
  Turn turn{.run = best, .round = new_round(session, run)};
  bool all = true;
  for (const Currency& currency : currencies) {
    const double rest = rest_of(currency, session), part = part_of(currency, session);
    const bool takes_all = rest - part < currency.least_part / 2;
    all = all && takes_all;
    give(turn.round, currency, currency.used(run) + (takes_all ? rest : part));
  }
  turn.round.closes = all && open.size() == 1;
  turn.round.why = prospects(run);
  if (open.size() > 1) {
    std::vector<std::string> others;
    for (const std::size_t index : open)
      if (index != best)
        others.push_back(fmt::format("{} {:.2g}", session.runs[index].name, promise(session.runs[index])));
    turn.round.why += fmt::format("; it promises most, {:.2g} ({})", promise(run), fmt::join(others, ", "));
  } else {
    turn.round.why += "; no other search is left";
  }
  return turn;
}

std::size_t runs_of(const db::Session& session, bool (*counts)(const db::SessionSearch&)) {
  return static_cast<std::size_t>(std::ranges::count_if(session.runs, counts));
}

}  // namespace

bool may_pause(const db::SessionSearch& run) { return !has_flag(run.arguments, "--per-shape"); }

bool is_steered(const db::Session& session, const SessionBudgets& budgets) {
  const std::vector<Currency> currencies = currencies_of(budgets);
  if (!budgets.steer || currencies.empty() || runs_of(session, may_pause) < 2) return false;
  return std::ranges::all_of(currencies, [&](const Currency& currency) {
    return *currency.total * (1 - kLeastPart) >= 2 * part_of(currency, session);
  });
}

std::optional<Turn> next_turn(const db::Session& session, const SessionBudgets& budgets,
                              const std::set<RowId>& left_out) {
  const std::vector<Currency> currencies = currencies_of(budgets);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < session.runs.size(); ++i) {
    const db::SessionSearch& run = session.runs[i];
    if (run.is_done() || left_out.contains(run.id)) continue;
    if (run.state != "paused" && !run.rounds.empty())
      return Turn{.run = i, .round = run.rounds.back(), .is_new = false};
    open.push_back(i);
  }
  for (const std::size_t i : open)
    if (session.runs[i].rounds.empty()) return first_turn(session, currencies, i);
  for (const std::size_t i : open)
    if (nothing_left(session.runs[i]))
      return closing_turn(
          session, currencies, i,
          fmt::format("nothing to gain: {}; its rest goes to the others", prospects(session.runs[i])));
  if (open.empty()) return std::nullopt;
  if (any_rest(currencies, session)) return best_turn(session, currencies, open);
  return closing_turn(session, currencies, open.front(), "the session's budget is used");
}

std::string turn_text(const db::SessionSearch& run, const db::SessionRound& round) {
  std::vector<std::string> more;
  if (round.evaluations && *round.evaluations > run.stats.evaluations)
    more.push_back(fmt::format("{} more evaluations", *round.evaluations - run.stats.evaluations));
  if (round.minutes && *round.minutes > used_minutes(run))
    more.push_back(fmt::format("{:.3g} more minutes", *round.minutes - used_minutes(run)));
  return fmt::format("round {}: {} {}: {}", round.number, run.name,
                     more.empty() ? "ends" : fmt::format("gets {}", fmt::join(more, ", ")), round.why);
}

agent::Budgets budgets_of_round(const db::Session& session, const db::SessionSearch& run,
                                const SessionBudgets& budgets, agent::Budgets own) {
  const db::SessionRound& round = run.rounds.back();
  if (run.budgets.is_null()) {
    const agent::Budgets shared = share_of_tokens(session, run, budgets, own);
    own.max_tokens = shared.max_tokens;
    own.max_cost_usd = shared.max_cost_usd;
  } else {
    const agent::Budgets before = budgets_from_json(run.budgets);
    own.max_tokens = before.max_tokens;
    own.max_cost_usd = before.max_cost_usd;
  }
  own.least_headroom = kAtLimit;
  if (round.evaluations)
    own.max_evaluations = std::min(own.max_evaluations.value_or(*round.evaluations), *round.evaluations);
  if (round.minutes) {
    const std::chrono::milliseconds most = time_limit(*round.minutes * 60);
    own.max_wall = std::min(own.max_wall.value_or(most), most);
  }
  return own;
}

}  // namespace ak::app
