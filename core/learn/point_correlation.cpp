// SPDX-License-Identifier: Apache-2.0
#include "core/learn/point_correlation.h"

namespace ak {

void PointCorrelation::begin_with(std::span<const double> parameters) {
  const auto own = kernel_.parameters().begin();
  for (std::size_t i = 0; i < parameters.size(); ++i) own[i].value = own[i].prior = parameters[i];
  kernel_.weigh();
}

void PointCorrelation::restart() {
  kernel_.weigh();
  inputs_.clear();
  rows_ = {};
}

void PointCorrelation::append(std::size_t input) {
  inputs_.push_back(input);
  kernel_.append(rows_, ordinals_of_(input));
}

void PointCorrelation::correlate(std::size_t input, std::size_t first, std::span<double> result) const {
  std::vector<float> squared(result.size());
  kernel_.squared_distances(ordinals_of_(input), rows_, first, squared);
  PointKernel::to_covariances(squared, result.data());
}

std::vector<double> PointCorrelation::gradient(std::span<const double> weights) const {
  PointKernel::PairSums sums(kernel_, rows_);
  const std::size_t n = inputs_.size();
  std::vector<float> squared(n);
  std::vector<double> slopes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto earlier = std::span(squared).first(i);
    kernel_.squared_distances(ordinals_of_(inputs_[i]), rows_, 0, earlier);
    PointKernel::slopes(earlier, slopes.data());
    for (std::size_t j = 0; j < i; ++j) slopes[j] *= weights[i * n + j];
    sums.add(i, std::span(slopes).first(i));
  }
  return sums.gradient();
}

GaussianProcessOptions point_process_options() {
  GaussianProcessOptions options;
  options.log_noise = {.value = -5, .prior = -5, .deviation = 1.5};
  options.jitter = 1e-6;
  options.signal_weight = 2;
  options.max_fitted = 100;  // chosen: a step's time grows with their cube
  // Rprop's usual factors; lengths chosen.
  options.first_step = 0.2, options.min_step = 0.013, options.max_step = 0.53;
  options.grow = 1.2, options.shrink = 0.5;
  return options;
}

}  // namespace ak
