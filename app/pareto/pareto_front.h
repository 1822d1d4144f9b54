// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/store.h"
#include "core/text/json.h"

namespace ak::app {

/// What may be made small.
struct Objective {
  std::string_view name;   ///< on the command line; a column of the query, too
  std::string_view title;  ///< with the unit in which it is shown
  double scale;            ///< from the unit of the database to that one
};
[[nodiscard]] std::span<const Objective> objectives();
/// Names with commas between, at least two, each once. Throws Error(usage) naming the known ones.
[[nodiscard]] std::vector<const Objective*> parse_objectives(const std::string& text);

/// A variant that passed, with a value for every objective.
struct FrontPoint {
  RowId variant = 0;
  std::string definition, source, tunables, device, arch;  ///< `tunables` as a JSON object
  bool emulated = false;                                   ///< its time is a cost
  std::string shapes;                                      ///< that it was timed on
  std::vector<double> values = {};                         ///< by objective, as they are shown
  bool on_front = false;  ///< no other of its device and shapes is as good everywhere and better somewhere
};

/// Points of one device and the same timed shapes can be compared; those of several definitions, too: that is what
/// they are for.
struct ParetoFront {
  std::string problem;
  std::vector<const Objective*> objectives;
  std::vector<FrontPoint> points;  ///< by device and shapes, then by the first objective
  std::size_t without = 0;         ///< variants that lack a value of an objective
};

/// @param params that definitions must have, as text by name
[[nodiscard]] ParetoFront pareto_front(const std::filesystem::path& database, const std::string& problem,
                                       const std::map<std::string, std::string>& params,
                                       std::vector<const Objective*> objectives);

/// Sets FrontPoint::on_front. Of equal ones the variant with the lowest number is on the front.
void mark_front(std::vector<FrontPoint>& points);

[[nodiscard]] Json to_json(const ParetoFront& front);
/// What the terminal shows: the fronts, one after the other.
[[nodiscard]] std::string front_text(const ParetoFront& front);
/// An SVG picture: the first objective against each of the others, all points, the front in colour.
[[nodiscard]] std::string front_picture(const ParetoFront& front);

}  // namespace ak::app
