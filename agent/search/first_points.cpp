// SPDX-License-Identifier: Apache-2.0
#include "agent/search/first_points.h"

#include <cstdlib>
#include <limits>

namespace ak::agent {
namespace {

constexpr std::size_t kDrawn = 64;  // chosen: more prefers the corners of the space

}  // namespace

PointNumber spread_point(const History& history, Engine& engine) {
  const Points& points = history.points();
  std::vector<Ordinals> known;
  for (const PointNumber point : history.pending()) known.push_back(points.ordinals(point));
  for (const Observation& answer : history.told()) known.push_back(points.ordinals(answer.point));
  PointNumber chosen = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const PointNumber point : history.sample_unseen(engine, known.empty() ? 1 : kDrawn)) {
    const Ordinals own = points.ordinals(point);
    double crowding = 0;
    for (const Ordinals& theirs : known) {
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
