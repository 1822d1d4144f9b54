// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "agent/search/point_kernel.h"
#include "core/learn/gaussian_process.h"

namespace ak::agent {

/// The kernel of points for a Gaussian process whose inputs are points' indices. Used by one thread.
class PointCorrelation final : public CorrelationFunction {
 public:
  explicit PointCorrelation(const Points& points) : kernel_(points) {}
  [[nodiscard]] std::span<FittedParameter> parameters() override { return kernel_.parameters(); }
  void restart() override;
  void append(std::size_t input) override;
  void correlate(std::size_t input, std::size_t first, std::span<double> result) const override;
  [[nodiscard]] std::vector<double> gradient(std::span<const double> weights) const override;

 private:
  PointKernel kernel_;
  std::vector<std::size_t> inputs_;  ///< by row
  PointKernel::Rows rows_;
};

/// What a search assumes of times: noise is small, because they are medians.
[[nodiscard]] GaussianProcessOptions search_process_options();

}  // namespace ak::agent
