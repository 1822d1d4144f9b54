// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "app/board/board_results.h"
#include "app/evaluate/figure_texts.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

// What a line of a terminal leaves for reasons.
constexpr std::size_t kReasonLetters = 160;

std::string speedup_text(const Json& s, const char* baseline) {
  std::string text = fmt::format("{:.2f} x {}", s["speedup"].get<double>(), baseline);
  if (!s["low"].is_null())
    text += fmt::format(" ({:.2f} to {:.2f})", s["low"].get<double>(), s["high"].get<double>());
  return s["in_turns"].get<bool>() ? text : text + " (not in turns)";
}

std::string task_text(const Json& task) {
  std::vector<std::string> parts;
  if (task.contains("time_us")) parts.push_back(format_ns(task["time_us"].get<double>() * 1000));
  if (task.contains("cost_us"))
    parts.push_back("emulated cost " + format_ns(task["cost_us"].get<double>() * 1000));
  if (task.contains("share_of_floor"))
    parts.push_back(fmt::format("{:.0f} % of the floor", 100 * task["share_of_floor"].get<double>()));
  for (const char* baseline : {"eager", "compile"})
    if (task["speedups"].contains(baseline))
      parts.push_back(speedup_text(task["speedups"][baseline], baseline));
  if (task.contains("by")) parts.push_back("by " + sanitize(task["by"].get<std::string>(), 80));
  if (!task["degenerate"].is_null()) parts.emplace_back("degenerate: not ranked");
  const std::string reason = task["reason"];
  if (!task.contains("search") && !reason.empty()) parts.push_back(sanitize(reason, kReasonLetters));
  std::string text = fmt::format("  {:<44}  {:<10}{}", task["task"].get<std::string>(),
                                 task["status"].get<std::string>(), fmt::join(parts, ", "));
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string fast_text(const Json& board) {
  std::string text;
  for (const char* baseline : {"eager", "compile"}) {
    text += fmt::format("  fast_p over {:<8}", baseline);
    for (const Json& row : board["fast_p"])
      if (row["baseline"] == baseline)
        text += fmt::format("  p={:g}: {}/{}", row["p"].get<double>(), row["fast"].get<std::size_t>(),
                            row["tasks"].get<std::size_t>());
    text += "\n";
  }
  return text;
}

}  // namespace

std::string board_text(const Json& board) {
  std::string text = fmt::format("{} on {}: {} of {} tasks have a kernel\n",
                                 board["board"].get<std::string>(), board["device"].get<std::string>(),
                                 board["found"].get<std::size_t>(), board["tasks"].size());
  for (const Json& task : board["tasks"]) text += task_text(task);
  for (const Json& cell : board["cells"])
    text += fmt::format("  cell {}: {}\n", cell["cell"].get<std::string>(),
                        cell["share_of_floor"].is_null()
                            ? fmt::format("{} of {} shapes timed", cell["timed"].get<std::size_t>(),
                                          cell["shapes"].get<std::size_t>())
                            : fmt::format("{:.3f} of the floor", cell["share_of_floor"].get<double>()));
  text += fast_text(board);
  const bool known = !board["cost_usd"].is_null();
  return text + fmt::format("  {} of search, {}\n", duration_text(board["spent_s"].get<double>()),
                            cost_text(known ? board["cost_usd"].get<double>() : 0, known));
}

}  // namespace ak::app
