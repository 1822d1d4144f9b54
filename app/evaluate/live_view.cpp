// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/live_view.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/text/print_stderr.h"
#include "core/text/terminal.h"

namespace ak::app {
namespace {

/// What leads, as it is shown; 0 while nothing does.
double leading_ns(const agent::Progress& progress) {
  return progress.best_predicted_ns.value_or(progress.best_ns.value_or(0));
}

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);  // faster flickers, slower looks stuck
// Of a log: something new is said at once, but not more often than a person reads; the rest so that the log of a
// night stays readable (chosen).
constexpr auto kNewsInterval = std::chrono::seconds(1);
constexpr auto kPlainInterval = std::chrono::seconds(10);
constexpr auto kLongRun = std::chrono::minutes(10);
constexpr auto kLongPlainInterval = std::chrono::minutes(1);

/// https://no-color.org
bool wants_no_colour() {
  const char* value = std::getenv("NO_COLOR");
  return value != nullptr && *value != '\0';
}

}  // namespace

LiveView::LiveView() {
  terminal_ = obeys_sequences(STDERR_FILENO);
  colour_ = terminal_ && !wants_no_colour();
}

LiveView::~LiveView() { close(); }

void LiveView::open(bool quiet) {
  open_ = !quiet;
  shown_.reset();
  show();
}

void LiveView::close() {
  if (open_ && terminal_) set_stderr_block({});
  open_ = false;
}

void LiveView::describe(const SearchView& search) {
  const SearchView before = std::exchange(view_, search);
  view_.phase = before.phase;
  view_.detail = before.detail;
}

void LiveView::enter(SearchPhase phase, std::string detail) {
  view_.phase = phase;
  view_.detail = std::move(detail);
  shown_.reset();
  show();
}

void LiveView::wait(const runtime::EvaluatorActivity& activity) {
  view_.pool = activity.pool;
  const bool preparing = view_.phase == SearchPhase::start || view_.phase == SearchPhase::references;
  if (preparing && activity.in_hand > 0) {
    const bool running = activity.references_built && activity.built > 0;
    const SearchPhase phase = running ? SearchPhase::first_check : SearchPhase::references;
    if (phase != view_.phase) return enter(phase);
  }
  show();
}

void LiveView::update(const agent::Progress& progress) {
  view_.progress = progress;
  view_.progress.last = nullptr;
  updated_ = Clock::now();
  search_s_then_ = progress.elapsed_s;
  const std::chrono::duration<double> elapsed = updated_ - began_;
  if (progress.evaluated > 0 && view_.first_ended_s <= 0) view_.first_ended_s = elapsed.count();
  if (progress.evaluated > 0 && view_.phase < SearchPhase::search) return enter(SearchPhase::search);
  show();
}

void LiveView::set_baseline(std::optional<double> baseline_ns, const std::string& label) {
  view_.baseline_ns = baseline_ns;
  view_.baseline_label = label;
}

bool LiveView::log_is_due(Clock::time_point now) const {
  // A log of a command line that turns out to be wrong has the error alone.
  if (view_.phase == SearchPhase::device) return false;
  if (!shown_) return true;
  const auto interval = now - began_ > kLongRun ? Clock::duration(kLongPlainInterval) : kPlainInterval;
  const bool news = leading_ns(view_.progress) != logged_best_ns_;
  return now - *shown_ >= (news ? Clock::duration(kNewsInterval) : interval);
}

void LiveView::show() {
  if (!open_) return;
  const auto now = Clock::now();
  if (terminal_ ? shown_ && now - *shown_ < kTerminalInterval : !log_is_due(now)) return;
  shown_ = now;
  logged_best_ns_ = leading_ns(view_.progress);
  view_.elapsed_s = std::chrono::duration<double>(now - began_).count();
  if (updated_ != Clock::time_point{})
    view_.search_s = search_s_then_ + std::chrono::duration<double>(now - updated_).count();
  if (terminal_)
    set_stderr_block(view_lines(view_, terminal_columns(STDERR_FILENO), colour_));
  else
    print_stderr("{}\n", view_line(view_));
}

}  // namespace ak::app
