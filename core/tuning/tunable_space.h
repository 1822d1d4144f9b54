// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tuning/tuning_value.h"

namespace ak {

/// A point: of each parameter, in order, which of its values.
using TuningPoint = std::vector<std::uint16_t>;

/// The points that satisfy all constraints, as a diagram: one layer per parameter, one node for all beginnings
/// that the constraints cannot tell apart from there on. The diagram knows how many points lie below every
/// edge, so that points are counted, numbered and drawn uniformly without being stored: a space of 10^12
/// points costs no more than its constraints make it. Immutable; several threads may use it.
class TunableSpace {
 public:
  /// Constraints are Python conditions over the parameters' names (docs/search.md). A point at which one of
  /// them has no value (division by zero, a string where a number is due) is not a point. A space without points
  /// is not an error: see contradiction(). Errors: no parameters, two of one name, a constraint that is malformed
  /// or names no parameter, more than 2^62 points, a diagram of more than 2^25 edges.
  static Result<TunableSpace> build(std::vector<TuningParameter> parameters,
                                    std::vector<std::string> constraints);

  [[nodiscard]] const std::vector<TuningParameter>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<std::string>& constraints() const { return constraints_; }
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

  std::vector<TuningParameter> parameters_;
  std::vector<std::string> constraints_;
  std::vector<std::uint32_t> order_;      ///< layer -> parameter
  std::vector<std::vector<Node>> nodes_;  ///< of every layer; children are numbers in the next
  std::vector<Edge> edges_;
  std::uint64_t size_ = 0;
};

/// A smallest set of constraints that rule out every point together: each is needed. Empty where the
/// space has points.
[[nodiscard]] std::vector<std::string> contradiction(const TunableSpace& space);

}  // namespace ak
