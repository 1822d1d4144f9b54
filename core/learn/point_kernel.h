// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/learn/gaussian_process.h"

namespace ak {

/// A point's coordinates: for every tunable the rank of its value in ascending order. (Strings, because short ones
/// need no memory of their own.)
using Ordinals = std::u16string;
using OrdinalsView = std::u16string_view;
/// Of every tunable its values, ascending.
using TunableAxes = std::vector<std::vector<std::int64_t>>;

/// How alike two points of a space are, in [0, 1]: Matern-5/2 of a weighted squared distance. Of each axis
/// count the difference of ranks; from three values on, whether they are equal, and the power of two that
/// divides them (what warps, vectors and banks care for). Over all axes with multiplicative values counts the
/// difference of one product of powers of the values, because what a GPU runs out of (threads, registers,
/// shared memory, rows to work on) is a product of tunables. Used by one thread.
class PointKernel {
 public:
  explicit PointKernel(const TunableAxes& tunables);

  /// Points as a comparison with all of them wants them: by axis.
  struct Rows {
    std::vector<std::vector<char16_t>> ordinals;  ///< by axis of the kernel, then by row
    std::vector<float> products;                  ///< log2, by row; void after weigh()
    [[nodiscard]] std::size_t size() const { return products.size(); }
  };
  void append(Rows& rows, const Ordinals& point) const;

  /// Logs of the terms' weights, then the powers of the product.
  [[nodiscard]] std::vector<FittedParameter>& parameters() { return parameters_; }
  /// To be called after a change of parameters; rows are to be made again.
  void weigh();

  /// Squared distances of a point to rows [first, first + squared.size()).
  void squared_distances(const Ordinals& point, const Rows& rows, std::size_t first,
                         std::span<float> squared) const;
  /// The covariances that belong to these.
  static void to_covariances(std::span<const float> squared, double* covariance);
  /// The derivatives of these by the squared distance.
  static void slopes(std::span<const float> squared, double* slopes);

  /// Sums over pairs of rows, from which derivatives by every parameter follow.
  class PairSums {
   public:
    PairSums(const PointKernel& kernel, const Rows& rows);
    /// `weights` of the pairs (row, 0), (row, 1), ...: derivatives of the sum by their squared distances.
    void add(std::size_t row, std::span<const double> weights);
    /// By every parameter, in their order.
    [[nodiscard]] std::vector<double> gradient() const;

   private:
    const PointKernel& kernel_;
    const Rows& rows_;
    std::vector<std::vector<double>> cells_;  ///< by axis, extent x extent
    std::vector<double> pulls_;               ///< by row: along the product
  };

 private:
  struct Axis {
    std::size_t axis = 0, extent = 0;
    std::vector<std::vector<float>> terms;  ///< squared distances, scaled to at most 1, extent x extent
    std::vector<float> squared;             ///< their weighted sum
    std::vector<float> logs;                ///< log2 of the values, where they are multiplicative
    std::size_t power = 0;                  ///< of the product: a parameter, where there are logs
  };

  [[nodiscard]] float product(const Ordinals& point) const;
  template <std::size_t Count>
  void add_axes(const Ordinals& point, const Rows& rows, std::size_t first_row, std::size_t first_axis,
                std::span<float> squared) const;

  std::vector<Axis> axes_;  ///< those with more than one value
  std::vector<FittedParameter> parameters_;
};

}  // namespace ak
