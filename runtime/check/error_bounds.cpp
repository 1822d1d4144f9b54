// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ak::runtime {
namespace {

/// `factor` times the twin's error, which counts as at least `floor`; but never more than half of what rounding
/// to a poorer mantissa costs, which is `poorer` times `rounding`.
double bound(double factor, double twin, double floor, double poorer, double rounding) {
  return std::min(factor * std::max(twin, floor), poorer / 2 * std::max(twin, rounding));
}

std::int64_t share_of(double share, std::int64_t count) {
  return static_cast<std::int64_t>(std::floor(share * static_cast<double>(count) + 1e-9));
}

std::int64_t may_differ(const OutputRule& rule, std::string_view distribution, std::int64_t count,
                        std::int64_t otherwise) {
  if (rule.must_be_exact(distribution)) return 0;
  return rule.equal_share ? share_of(1 - *rule.equal_share, count) : otherwise;
}

}  // namespace

ErrorBounds error_bounds(const Tolerance& tolerance, const OutputRule& rule, DType dtype,
                         std::string_view distribution, const Comparison& twin,
                         const RoundingError& rounding) {
  if (!info(dtype).floating) {
    const std::int64_t unequal = may_differ(rule, distribution, twin.count, 0);
    return {.rms = std::numeric_limits<double>::infinity(),
            .element = 0,
            .far = 1,
            .strays = unequal,
            .unequal = unequal};
  }
  const DType working = tolerance.working_type(dtype);
  const double roundoff = info(working).unit_roundoff;
  const double poorer = steps_to_poorer_mantissa(working) * small_sample_factor(twin.count);
  const double floor = rule.floor_ulps * roundoff;
  ErrorBounds bounds;
  bounds.rms = bound(rule.factor, twin.rms_error, floor, poorer, rounding.rms);
  bounds.element = bound(rule.factor, twin.max_error, floor, poorer, rounding.element);
  bounds.far = kStrayReach * bounds.element;
  if (tolerance.most_error) {  // of every element: chance excuses none
    bounds.element = std::min(bounds.element, *tolerance.most_error);
    bounds.far = std::min(bounds.far, *tolerance.most_error);
  }
  bounds.strays = strays_allowed(twin.count);
  bounds.unequal = may_differ(rule, distribution, twin.count, twin.count);
  return bounds;
}

Judgement judge(const Comparison& comparison, const ErrorBounds& bounds) {
  if (comparison.nonfinite > 0) return Judgement::nonfinite;
  if (comparison.wrong > bounds.strays || comparison.far > 0) return Judgement::element;
  if (!(comparison.rms_error <= bounds.rms)) return Judgement::rms;
  return comparison.unequal > bounds.unequal ? Judgement::unequal : Judgement::passed;
}

}  // namespace ak::runtime
