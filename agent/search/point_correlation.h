// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "agent/search/point_kernel.h"
#include "core/learn/gaussian_process.h"

namespace ak::agent {

/// The kernel of points for a Gaussian process whose inputs are points' numbers. Used by one thread.
class PointCorrelation final : public CorrelationFunction {
 public:
  explicit PointCorrelation(const Points& points) : points_(points), kernel_(points) {}
  [[nodiscard]] std::span<FittedParameter> parameters() override { return kernel_.parameters(); }
  void restart() override;
  void append(std::size_t input) override;
  void correlate(std::size_t input, std::size_t first, std::span<double> result) const override;
  [[nodiscard]] std::vector<double> gradient(std::span<const double> weights) const override;

 private:
  [[nodiscard]] const Ordinals& ordinals(std::size_t input) const;

  const Points& points_;
  PointKernel kernel_;
  std::vector<std::size_t> inputs_;                                    ///< by row
  mutable std::unordered_map<std::size_t, Ordinals> inputs_ordinals_;  ///< of those seen since restart()
  PointKernel::Rows rows_;
};

/// What a search assumes of times: noise is small, because they are medians.
[[nodiscard]] GaussianProcessOptions search_process_options();

}  // namespace ak::agent
