// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "agent/loop.h"

namespace ak::app {

/// "42.3 us", "1.25 ms": three significant digits in the unit a person would choose.
[[nodiscard]] std::string format_ns(double time_ns);

/// "0.1234 US dollars", with "and tokens of unknown price", or "price unknown": never 0 for what is not known.
[[nodiscard]] std::string cost_text(double cost_usd, bool price_known);

/// "12 calls, 34000 tokens, 0.1234 US dollars"; a price that is not known is said to be that.
[[nodiscard]] std::string spending_text(const agent::Progress& progress);

/// Shows how a run is going on stderr: one line rewritten in place on a terminal, else a plain line for every
/// new best and at least every 10 s.
class ProgressLine {
 public:
  /// @param emulated what is shown as best is the emulator's estimated cost.
  ProgressLine(bool quiet, bool emulated);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const agent::Progress& progress);
  /// Ends the line in place, so that other output starts on its own line.
  void finish();

 private:
  bool quiet_, emulated_, terminal_, open_line_ = false;
  std::chrono::steady_clock::time_point last_{};
  double last_best_ns_ = 0;
};

}  // namespace ak::app
