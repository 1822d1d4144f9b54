// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/quantities.h"

namespace ak::profiler {

/// How much of one unit a launch uses: its place under that roof.
struct UnitUse {
  std::string_view name, words;  ///< "dram", "device memory"
  double percent = 0;            ///< of the unit's peak over the launch's time; from the CPU device's counts:
                                 ///< of what its busiest unit takes
  std::optional<double> rate, peak;
  std::string_view unit;  ///< of rate and peak: "GB/s", ...
};

struct Advice {
  std::string text;
  double at_most = 1;  ///< times faster, by the units' and the waiting's shares
};

/// A rule that holds.
struct Finding {
  std::string name, title, evidence, source;
  double at_most = 1;  ///< times faster without it
  bool sure = true;    ///< false: a guess from the compiler's facts, as nothing was measured
  std::vector<Advice> remedies;
};

struct Analysis {
  std::string kernel;
  std::string basis;   ///< "counters" of a GPU, exact "counts" of the CPU device, or the compiler's "facts"
  Finding bottleneck;  ///< name "unclear" where no rule holds
  std::vector<Finding> others;                 ///< further rules that hold, greatest gain first
  std::vector<UnitUse> units;                  ///< those that are known, busiest first
  std::optional<double> times_speed_of_light;  ///< the measured time over the minimum possible
  std::string speed_of_light;                  ///< that limit in words
  std::vector<std::string> not_judged;         ///< "barrier_bound (no stall/barrier)"
};

/// Pure: the same input gives the same answer. Named is the cause that promises most (a symptom must
/// promise a quarter more); a limit where no cause promises a tenth; within 3 % the rule that is first
/// in the table.
[[nodiscard]] Analysis analyze(const AnalysisInput& input);

/// `text` with {quantity} replaced by its value, "?" where it is not known.
[[nodiscard]] std::string filled(std::string_view text, const Quantities& quantities);
/// Three digits, and k, M, G or T behind large numbers.
[[nodiscard]] std::string short_number(double value);

}  // namespace ak::profiler
