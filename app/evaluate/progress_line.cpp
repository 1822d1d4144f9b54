// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "core/text/print_stderr.h"

namespace ak::app {
namespace {

using std::chrono::steady_clock;
constexpr auto kTerminalInterval = std::chrono::milliseconds(100);  // faster flickers, slower looks stuck
constexpr auto kPlainInterval = std::chrono::seconds(10);           // a log of a night stays readable

std::string describe(const agent::Progress& progress, bool emulated) {
  std::string line = fmt::format("{} tried", progress.evaluated);
  if (progress.space_points > 0) line += fmt::format(" of {}", progress.space_points);
  line += fmt::format(", {} passed, {} failed", progress.verified, progress.failed);
  if (progress.best_predicted_ns)
    line += fmt::format(", best predicted {} (not measured)", format_ns(*progress.best_predicted_ns));
  else if (progress.best_ns)
    line += fmt::format(", best {}{}", emulated ? "emulated cost " : "", format_ns(*progress.best_ns));
  if (progress.calls > 0) line += ", model: " + spending_text(progress);
  return line + fmt::format(", {:.0f} s", progress.elapsed_s);
}

}  // namespace

std::string format_ns(double time_ns) {
  if (time_ns < 1e3) return fmt::format("{:.3g} ns", time_ns);
  if (time_ns < 1e6) return fmt::format("{:.4g} us", time_ns / 1e3);
  if (time_ns < 1e9) return fmt::format("{:.4g} ms", time_ns / 1e6);
  return fmt::format("{:.4g} s", time_ns / 1e9);
}

std::string cost_text(double cost_usd, bool price_known) {
  if (!price_known && cost_usd <= 0) return "price unknown";
  return fmt::format("{:.4g} US dollars{}", cost_usd, price_known ? "" : " and tokens of unknown price");
}

std::string spending_text(const agent::Progress& progress) {
  return fmt::format("{} calls, {} tokens, {}", progress.calls, progress.tokens,
                     cost_text(progress.cost_usd, progress.price_known));
}

ProgressLine::ProgressLine(bool quiet, bool emulated)
    : quiet_(quiet), emulated_(emulated), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::finish() {
  if (std::exchange(open_line_, false)) print_stderr("\n");
}

void ProgressLine::show(const agent::Progress& progress) {
  if (quiet_) return;
  const auto now = steady_clock::now();
  const double best_ns = progress.best_predicted_ns.value_or(progress.best_ns.value_or(0));
  const bool new_best = best_ns != last_best_ns_;
  const bool due = now - last_ >= (terminal_ ? steady_clock::duration(kTerminalInterval) : kPlainInterval);
  if (!due && (terminal_ || !new_best)) return;
  last_ = now;
  last_best_ns_ = best_ns;
  const std::string line = describe(progress, emulated_);
  if (terminal_) control_stderr("\r\x1b[K");  // over the last line
  print_stderr("{}{}", line, terminal_ ? "" : "\n");
  open_line_ = terminal_;
}

}  // namespace ak::app
