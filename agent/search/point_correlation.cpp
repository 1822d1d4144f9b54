// SPDX-License-Identifier: Apache-2.0
#include "agent/search/point_correlation.h"

namespace ak::agent {

// Of a proposal's candidates and the model's rows there are about half as many (chosen: 0.5 MB).
constexpr std::size_t kMaxOrdinals = 4096;

/// Finding them out of a number takes as long as comparing them with ten rows.
const Ordinals& PointCorrelation::ordinals(std::size_t input) const {
  if (inputs_ordinals_.size() >= kMaxOrdinals) inputs_ordinals_.clear();
  auto [found, is_new] = inputs_ordinals_.try_emplace(input);
  if (is_new) found->second = points_.ordinals(input);
  return found->second;
}

void PointCorrelation::restart() {
  kernel_.weigh();
  inputs_.clear();
  rows_ = {};
}

void PointCorrelation::append(std::size_t input) {
  inputs_.push_back(input);
  kernel_.append(rows_, ordinals(input));
}

void PointCorrelation::correlate(std::size_t input, std::size_t first, std::span<double> result) const {
  std::vector<float> squared(result.size());
  kernel_.squared_distances(ordinals(input), rows_, first, squared);
  PointKernel::to_covariances(squared, result.data());
}

std::vector<double> PointCorrelation::gradient(std::span<const double> weights) const {
  PointKernel::PairSums sums(kernel_, rows_);
  const std::size_t n = inputs_.size();
  std::vector<float> squared(n);
  std::vector<double> slopes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto earlier = std::span(squared).first(i);
    kernel_.squared_distances(ordinals(inputs_[i]), rows_, 0, earlier);
    PointKernel::slopes(earlier, slopes.data());
    for (std::size_t j = 0; j < i; ++j) slopes[j] *= weights[i * n + j];
    sums.add(i, std::span(slopes).first(i));
  }
  return sums.gradient();
}

GaussianProcessOptions search_process_options() {
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

}  // namespace ak::agent
