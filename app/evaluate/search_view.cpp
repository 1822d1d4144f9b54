// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/search_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/evaluate/figure_texts.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

constexpr std::array<std::string_view, 7> kPhaseTexts{
    "looking for the device",
    "auditing the problem's checks on the CPU",
    "starting the compiler",
    "compiling headers, references and the first kernels",
    "running the first kernels and the reference",
    "search",
    "confirming the best kernel",
};

std::string_view phase_text(SearchPhase phase) { return kPhaseTexts.at(static_cast<std::size_t>(phase)); }

// SGR of terminals (ECMA-48): bold, green, faint.
enum class Style : std::uint8_t { plain, bold, good, faint };
constexpr std::array<std::string_view, 4> kSequences{"", "\x1b[1m", "\x1b[32m", "\x1b[2m"};

struct Piece {
  std::string text;
  Style style = Style::plain;
};
using Pieces = std::vector<Piece>;

/// The pieces that are whole within `width` characters; the first is cut if need be.
std::string fitted(const Pieces& pieces, std::size_t width, bool colour) {
  std::string line;
  std::size_t used = 0;
  for (const Piece& piece : pieces) {
    std::string text = sanitize(piece.text);
    if (used > 0 && used + text.size() > width) break;
    text.resize(std::min(text.size(), width));
    used += text.size();
    const bool styled = colour && piece.style != Style::plain;
    line += styled ? fmt::format("{}{}\x1b[0m", kSequences.at(static_cast<std::size_t>(piece.style)), text)
                   : text;
  }
  return line;
}

/// "[########........]": of `width` characters.
std::string bar(double share, std::size_t width) {
  const std::size_t inside = width - 2;
  const auto full =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(inside)));
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(inside - full, '.'));
}

/// "about 2m03s left".
std::string left_text(const SearchView& view) {
  const auto left = left_s(view);
  return left ? fmt::format("about {} left", duration_text(*left)) : "";
}

/// What is going on, how far that is, and how long it may take.
Pieces phase_pieces(const SearchView& view, std::size_t width) {
  const std::string elapsed = "  " + duration_text(view.elapsed_s);
  std::string name(phase_text(view.phase));
  if (!view.detail.empty()) name += ": " + view.detail;
  if (name.size() + elapsed.size() > width) name = name.substr(0, width - elapsed.size() - 2) + "..";
  Pieces pieces{{name, Style::bold}};
  if (const auto share = done_share(view)) {
    constexpr std::size_t kLongestBar = 30, kShortestBar = 10,
                          kOthers = 40;  // what follows the bar takes so much
    const std::size_t room = width > name.size() + kOthers ? width - name.size() - kOthers : 0;
    if (room >= kShortestBar) pieces.push_back({"  " + bar(*share, std::min(room, kLongestBar))});
    pieces.push_back({fmt::format("  {:.0f} %", 100 * *share)});
  }
  pieces.push_back({elapsed});
  if (const std::string left = left_text(view); !left.empty()) pieces.push_back({", " + left, Style::faint});
  return pieces;
}

Pieces count_pieces(const SearchView& view) {
  const agent::Progress& p = view.progress;
  // Models write points that no space has.
  Pieces pieces{
      {view.ends_with_space && p.space_points > 0 ? fmt::format("{} of {} tried", p.evaluated, p.space_points)
                                                  : fmt::format("{} tried", p.evaluated)},
      {fmt::format(", {} passed", p.verified)}};
  if (p.failed > 0) pieces.push_back({fmt::format(", {} failed", p.failed)});
  if (p.pruned > 0) pieces.push_back({fmt::format(", {} predicted too slow", p.pruned)});
  return pieces;
}

Pieces best_pieces(const SearchView& view) {
  // What a model predicts is compared with nothing that was measured or counted.
  if (view.progress.best_predicted_ns)
    return {{fmt::format("best predicted {}", format_ns(*view.progress.best_predicted_ns)), Style::good},
            {" (not measured)", Style::good}};
  if (!view.progress.best_ns) return {};
  const double best = *view.progress.best_ns;
  Pieces pieces{
      {fmt::format("best {}{}", view.emulated ? "emulated cost " : "", format_ns(best)), Style::good}};
  if (view.baseline_ns)
    pieces.push_back({fmt::format(", {:.2f}x {}", *view.baseline_ns / best, view.baseline_label)});
  if (view.limit_ns)
    pieces.push_back(
        {fmt::format(", {:.0f} % of the limit {}", 100 * *view.limit_ns / best, format_ns(*view.limit_ns))});
  return pieces;
}

Pieces gain_pieces(const SearchView& view) {
  if (!view.progress.gain) return {};
  return {{gain_text(*view.progress.gain)}};
}

Pieces model_pieces(const SearchView& view) {
  const agent::Progress& p = view.progress;
  if (p.calls == 0) return {};
  return {{fmt::format("models: {} calls", p.calls)},
          {", " + cost_text(p.cost_usd, p.price_known)},
          {fmt::format(", {} tokens", p.tokens), Style::faint}};
}

/// Evaluations an hour of all places, by the time that each was there.
double pool_rate(const std::vector<PoolPlace>& pool) {
  double rate = 0;
  for (const PoolPlace& place : pool) {
    const std::chrono::duration<double, std::ratio<3600>> hours = place.present;
    if (hours.count() > 0) rate += place.answers / hours.count();
  }
  return rate;
}

Pieces pool_pieces(const SearchView& view) {
  if (view.pool.empty()) return {};
  const auto there =
      std::ranges::count_if(view.pool, [](const PoolPlace& place) { return place.device != nullptr; });
  Pieces pieces{{fmt::format("pool: {} of {} devices", there, view.pool.size())},
                {fmt::format(", {:.0f} evaluations an hour", pool_rate(view.pool))}};
  const auto resting =
      std::ranges::find_if(view.pool, [](const PoolPlace& one) { return !one.reason.empty(); });
  if (resting != view.pool.end())
    pieces.push_back({fmt::format(", {} {}: {}", resting->place, resting->doing, resting->reason)});
  return pieces;
}

/// What has come of the search so far, a line a subject; nothing before there is any, but of a pool whose devices are
/// waited for.
std::vector<Pieces> fact_lines(const SearchView& view) {
  std::vector<Pieces> lines;
  if (view.progress.evaluated == 0 && view.progress.calls == 0) {
    const auto is_there = [](const PoolPlace& place) { return place.device != nullptr; };
    if (!view.pool.empty() && std::ranges::none_of(view.pool, is_there)) lines.push_back(pool_pieces(view));
    return lines;
  }
  for (Pieces& pieces : std::array{count_pieces(view), best_pieces(view), gain_pieces(view),
                                   pool_pieces(view), model_pieces(view)})
    if (!pieces.empty()) lines.push_back(std::move(pieces));
  return lines;
}

std::string joined(const Pieces& pieces) {
  std::string text;
  for (const Piece& piece : pieces) text += piece.text;
  return text;
}

/// The rate of evaluations since the first one ended, which waited for references and headers; 0: not known.
double evaluations_a_second(const SearchView& view) {
  const double since = view.elapsed_s - view.first_ended_s;
  return view.progress.evaluated > 1 && since > 0 ? (view.progress.evaluated - 1) / since : 0;
}

/// Evaluations that a bound leaves.
std::optional<double> evaluations_left(const SearchView& view) {
  const agent::Progress& p = view.progress;
  std::optional<double> left;
  if (const auto& most = view.budgets.max_evaluations) left = static_cast<double>(*most - p.evaluated);
  if (view.ends_with_space && p.space_points > 0) {
    const auto points = static_cast<double>(p.space_points - p.evaluated - p.pruned - p.reused);
    left = std::min(left.value_or(points), points);
  }
  return left ? std::optional(std::max(0.0, *left)) : std::nullopt;
}

}  // namespace

std::optional<double> done_share(const SearchView& view) {
  if (view.phase != SearchPhase::search) return std::nullopt;
  const agent::Progress& p = view.progress;
  const agent::Budgets& most = view.budgets;
  std::optional<double> share;
  const auto note = [&](double used, double whole) {
    if (whole > 0) share = std::max(share.value_or(0), std::min(1.0, used / whole));
  };
  if (most.max_evaluations) note(p.evaluated, static_cast<double>(*most.max_evaluations));
  if (most.max_wall) note(view.search_s, std::chrono::duration<double>(*most.max_wall).count());
  if (most.max_tokens) note(static_cast<double>(p.tokens), static_cast<double>(*most.max_tokens));
  if (most.max_cost_usd) note(p.cost_usd, *most.max_cost_usd);
  if (view.ends_with_space) note(p.evaluated + p.pruned + p.reused, static_cast<double>(p.space_points));
  return share;
}

std::optional<double> left_s(const SearchView& view) {
  if (view.phase != SearchPhase::search) return std::nullopt;
  std::optional<double> left;
  if (const auto& wall = view.budgets.max_wall)
    left = std::max(0.0, std::chrono::duration<double>(*wall).count() - view.search_s);
  const double rate = evaluations_a_second(view);
  const auto evaluations = evaluations_left(view);
  if (evaluations && rate > 0) left = std::min(left.value_or(*evaluations / rate), *evaluations / rate);
  return left;
}

std::vector<std::string> view_lines(const SearchView& view, int columns, bool colour) {
  const auto width = static_cast<std::size_t>(std::max(columns - 1, 20));  // narrower holds nothing
  std::vector<std::string> lines{fitted(phase_pieces(view, width), width, colour)};
  for (const Pieces& pieces : fact_lines(view)) lines.push_back("  " + fitted(pieces, width - 2, colour));
  return lines;
}

std::string view_line(const SearchView& view) {
  std::string line(phase_text(view.phase)), facts;
  if (!view.detail.empty()) line += ": " + view.detail;
  for (const Pieces& pieces : fact_lines(view)) facts += (facts.empty() ? ": " : ", ") + joined(pieces);
  line += facts + ", " + duration_text(view.elapsed_s);
  if (const std::string left = left_text(view); !left.empty()) line += ", " + left;
  return line;
}

}  // namespace ak::app
