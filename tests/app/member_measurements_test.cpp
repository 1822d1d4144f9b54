// SPDX-License-Identifier: Apache-2.0
// What candidates for a kernel set are worth to each other when they were timed in turns.
#include "app/sets/member_measurements.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace ak::app {
namespace {

Measurement samples_of(MeasurementRole role, const std::string& workload,
                       std::vector<std::uint32_t> samples_ns, int launches = 1) {
  Measurement measurement;
  measurement.role = role;
  measurement.workload = workload;
  measurement.samples_ns = std::move(samples_ns);
  measurement.launches_per_sample = launches;
  return measurement;
}

std::vector<Workload> workloads_of(const std::vector<std::string>& names) {
  std::vector<Workload> workloads;
  for (const std::string& name : names) workloads.emplace_back().name = name;
  return workloads;
}

TEST_CASE("points of a set are compared pair by pair, so that what slows both of a pair changes nothing") {
  EvaluationResult result;
  result.measurements = {samples_of(MeasurementRole::candidate, "small", {110, 220, 1100, 110, 121}),
                         samples_of(MeasurementRole::champion, "small",
                                    {100, 200, 1000, 100, 110}),  // clocks fell, and rose again
                         samples_of(MeasurementRole::candidate, "large", {1000, 1000, 1000}, 10),
                         samples_of(MeasurementRole::champion, "large", {400, 400, 400}, 5),
                         samples_of(MeasurementRole::candidate, "alone", {7, 7, 7})};
  const std::vector<double> ratios =
      paired_ratios(result, workloads_of({"small", "large", "alone", "absent"}));
  REQUIRE(ratios.size() == 4);
  CHECK(ratios[0] == Approx(1.1));
  CHECK(ratios[1] == Approx(1.25));
  CHECK(std::isinf(ratios[2]));
  CHECK(std::isinf(ratios[3]));
}

}  // namespace
}  // namespace ak::app
