// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tuning/space_rules.h"
#include "core/tuning/tuning_value.h"

namespace ak {

/// A point: of each parameter, in order, which of its values.
using TuningPoint = std::vector<std::uint16_t>;

/// What a diagram may take while it is built, about.
inline constexpr std::size_t kMaxSpaceBytes = std::size_t{512} << 20;

/// The points that satisfy all constraints, as a diagram: one layer per parameter, one node for all beginnings
/// that the constraints cannot tell apart from there on. The diagram knows how many points lie below every
/// edge, so that points are counted, numbered and drawn uniformly without being stored: a space of 10^12
/// points costs no more than its constraints make it. Immutable; several threads may use it.
class TunableSpace {
 public:
  /// A point at which a constraint has no value (division by zero, a string where a number is due) is not a point.
  /// A space without points is not an error: see contradiction(). Without parameters there is one point, or none.
  /// Errors: more than 62 parameters, two of one name, a constraint that is malformed or, in real arithmetic, names no
  /// parameter, more than 2^62 points, a diagram of more than `max_bytes`.
  static Result<TunableSpace> build(SpaceRules rules, std::size_t max_bytes = kMaxSpaceBytes);
  /// The same of parameters, at least one, and Python conditions over their names.
  static Result<TunableSpace> build(std::vector<TuningParameter> parameters,
                                    std::vector<std::string> constraints);
  /// The space of these points alone, each an index of a value per parameter, ascending and none twice. They are
  /// numbered in that order.
  static TunableSpace of_points(std::vector<TuningParameter> parameters,
                                const std::vector<TuningPoint>& points);

  [[nodiscard]] const std::vector<TuningParameter>& parameters() const { return rules_.parameters; }
  [[nodiscard]] const std::vector<std::string>& constraints() const { return rules_.constraints; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] double raw_size() const;  ///< without constraints
  [[nodiscard]] std::size_t edges() const { return edges_.size(); }

  /// Point number `index`, below size(). Numbers follow the diagram's own order of the parameters.
  [[nodiscard]] TuningPoint point(std::uint64_t index) const;
  /// Inverse of point(); nothing where `point` satisfies not all constraints or is of another shape.
  [[nodiscard]] std::optional<std::uint64_t> index_of(std::span<const std::uint16_t> point) const;
  /// The point with these values, one a parameter; nothing where it is none of the space's.
  [[nodiscard]] std::optional<TuningPoint> find(std::span<const TuningValue> values) const;
  [[nodiscard]] std::vector<TuningValue> values(std::span<const std::uint16_t> point) const;

  /// Uniform over all points, by number; the space has at least one.
  [[nodiscard]] TuningPoint sample(std::mt19937_64& engine) const;

  enum class Neighbourhood : std::uint8_t {
    one_changed,  ///< any other value of one parameter (Hamming distance 1)
    adjacent      ///< the nearest value on either side that gives a point, of one parameter
  };
  /// Numbers of the neighbours of `point`, which need not be one itself.
  [[nodiscard]] std::vector<std::uint64_t> neighbours(std::span<const std::uint16_t> point,
                                                      Neighbourhood neighbourhood) const;

  /// Where each value is among its parameter's, in [0, 1]; 0 for a parameter with one value.
  [[nodiscard]] std::vector<double> encode(std::span<const std::uint16_t> point) const;

 private:
  struct Edge {
    std::uint64_t before = 0;  ///< points below the node's edges that come before this one
    std::uint32_t child = 0;
    std::uint16_t value = 0;
  };
  struct Node {
    std::uint32_t begin = 0, end = 0;  ///< its edges, by ascending value
  };
  friend class SpaceBuilder;
  friend class PointMerger;
  friend class CheapestPoints;
  friend std::vector<std::string> contradiction(const TunableSpace& space);
  static Result<TunableSpace> build_without(SpaceRules rules, std::size_t max_bytes,
                                            std::vector<char> ignored);

  SpaceRules rules_;
  std::vector<std::uint32_t> order_;      ///< layer -> parameter
  std::vector<std::vector<Node>> nodes_;  ///< of every layer; children are numbers in the next
  std::vector<Edge> edges_;
  std::uint64_t size_ = 0;
  std::size_t max_bytes_ = kMaxSpaceBytes;  ///< that it was built with
};

/// A smallest set of constraints that rule out every point together, as written: each is needed, as far as can be seen
/// within the memory that the space was built with. Names that have no value at a point count as constraints. Empty
/// where the space has points. Builds a space for each constraint.
[[nodiscard]] std::vector<std::string> contradiction(const TunableSpace& space);

}  // namespace ak
