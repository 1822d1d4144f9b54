// SPDX-License-Identifier: Apache-2.0
#include "agent/search/first_points.h"

#include <cstdlib>
#include <limits>

namespace ak::agent {
namespace {

constexpr std::size_t kDrawn = 64;  // chosen: more prefers the corners of the space

}  // namespace

std::size_t spread_point(const History& history, Engine& engine) {
  const Points& points = history.points();
  std::vector<std::size_t> known = history.pending();
  for (const Observation& answer : history.told()) known.push_back(answer.point);
  std::size_t chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t point : history.sample_unseen(engine, known.empty() ? 1 : kDrawn)) {
    const Ordinals own = points.ordinals(point);
    double crowding = 0;
    for (const std::size_t other : known) {
      const Ordinals theirs = points.ordinals(other);
      for (std::size_t axis = 0; axis < own.size(); ++axis) {
        const int apart = std::abs(int{own[axis]} - int{theirs[axis]});
        crowding += static_cast<double>(points.extent(axis)) / ((1 + apart) * (1 + apart));
      }
    }
    if (crowding < least) least = crowding, chosen = point;
  }
  return chosen;
}

}  // namespace ak::agent
