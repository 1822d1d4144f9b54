// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop.h"

namespace ak::app {

/// What a search is doing, in the order in which it comes to it.
enum class SearchPhase : std::uint8_t {
  device,       ///< looking for what candidates run on
  audit,        ///< of the problem's checks, once for each change of it
  start,        ///< of the compiler and the workers
  references,   ///< compiling headers, references and the first candidates
  first_check,  ///< the first candidates run, and with them the reference
  search,       ///< candidates come back
  confirm,      ///< of the leader
};

/// All that is shown of a search that runs.
struct SearchView {
  SearchPhase phase = SearchPhase::device;
  std::string detail = {};  ///< of the phase, such as what is confirmed; may be empty
  double elapsed_s = 0;     ///< since the command began
  agent::Progress progress = {};
  agent::Budgets budgets = {};
  double first_ended_s = 0;      ///< elapsed_s when the first evaluation had ended
  double search_s = 0;           ///< wall time of the search, as its budget counts it
  bool ends_with_space = false;  ///< the search ends when every point is evaluated
  bool emulated = false;         ///< what leads has the CPU device's estimated cost
  std::optional<double> baseline_ns = {};
  std::string baseline_label = {};
  std::vector<PoolPlace> pool = {};     ///< devices that share the work; empty: there is no pool
  std::optional<double> limit_ns = {};  ///< what the device needs at least, of the same shapes as the score
};

/// Share of the search that is done: of the budget that will be used up first, or of the space; nothing where
/// neither bounds it, or it does not search.
[[nodiscard]] std::optional<double> done_share(const SearchView& view);
/// Estimate of what is left of the search, by its own rate; nothing while that is not known.
[[nodiscard]] std::optional<double> left_s(const SearchView& view);

/// For a terminal of `columns`: lines of fewer characters, with what matters most first; with `colour` sequences in
/// them, which take no column.
[[nodiscard]] std::vector<std::string> view_lines(const SearchView& view, int columns, bool colour);

/// For a log: one line.
[[nodiscard]] std::string view_line(const SearchView& view);

}  // namespace ak::app
