// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "core/learn/gaussian_process.h"
#include "core/learn/point_kernel.h"

namespace ak {

/// The kernel of points for a Gaussian process. Used by one thread.
class PointCorrelation final : public CorrelationFunction {
 public:
  /// The coordinates that belong to an input; valid until the next call.
  using OrdinalsOf = std::function<const Ordinals&(std::size_t input)>;
  PointCorrelation(const TunableAxes& tunables, OrdinalsOf ordinals_of)
      : ordinals_of_(std::move(ordinals_of)), kernel_(tunables) {}
  [[nodiscard]] std::span<FittedParameter> parameters() override { return kernel_.parameters(); }
  /// Where a fit begins, and what it is drawn to, instead of what is assumed of any space. Call before the first row.
  void begin_with(std::span<const double> parameters);
  void restart() override;
  void append(std::size_t input) override;
  void correlate(std::size_t input, std::size_t first, std::span<double> result) const override;
  [[nodiscard]] std::vector<double> gradient(std::span<const double> weights) const override;

 private:
  OrdinalsOf ordinals_of_;
  PointKernel kernel_;
  std::vector<std::size_t> inputs_;  ///< by row
  PointKernel::Rows rows_;
};

/// What is assumed of times at points: noise is small, because they are medians.
[[nodiscard]] GaussianProcessOptions point_process_options();

}  // namespace ak
