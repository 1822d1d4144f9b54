// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "app/search/best_points.h"
#include "core/device/device_facts.h"

namespace ak::app {

/// How near the place where a point was measured is to the one asked for; nearest first.
enum class MatchLevel : std::uint8_t { device, arch, family, emulated_arch, emulated_family };

/// A point that can run where it is asked for: its constraints hold there.
struct BestMatch {
  const BestPoint* point = nullptr;
  MatchLevel level = MatchLevel::device;
  bool same_params = true;
  double distance = 0;  ///< sum over the axes of |log2| of the ratio of their sizes
  [[nodiscard]] bool exact() const { return level == MatchLevel::device && same_params && distance == 0; }
};

/// Sum over the axes of |log2| of the ratio of their sizes; infinite where the shapes have different axes.
[[nodiscard]] double shape_distance(const AxisValues& a, const AxisValues& b);
[[nodiscard]] bool same_params(const Json& stored, const Params& params);

/// What is asked for.
struct BestQuestion {
  std::shared_ptr<const ProblemInstance> problem;
  AxisValues shape;
  DeviceFacts device;
  Arch arch;  ///< target of the compiler
};

/// The points of the question's problem that are valid there, the best choice first: by device, then by
/// params, then by shape, then by time. Points of other params only where `any_params`. `best` must
/// outlive the result.
[[nodiscard]] std::vector<BestMatch> best_matches(const BestPoints& best, const BestQuestion& question,
                                                  bool any_params);

/// "exact: measured for this shape on this device", or what is not as asked for.
[[nodiscard]] std::string match_text(const BestMatch& match, const BestQuestion& question);

/// Points for a search to begin with.
struct FirstPointOptions {
  std::string arm;
  std::size_t most = 5;
};
/// The best matches of each timed shape, for the templates of these sources or names.
[[nodiscard]] std::vector<agent::FirstPoint> first_points(
    const BestPoints& best, const FirstPointOptions& first_point_options,
    const std::shared_ptr<const ProblemInstance>& problem, const std::vector<Candidate>& templates,
    const DeviceFacts& device, const Arch& arch);

}  // namespace ak::app
