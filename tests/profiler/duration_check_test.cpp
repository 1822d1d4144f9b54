// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/duration_check.h"

#include <catch2/catch.hpp>

using namespace ak;
using namespace ak::profiler;

namespace {

Profile profile_of(std::initializer_list<double> durations_ns) {
  Profile profile;
  profile.workload = "N=64";
  for (const double duration_ns : durations_ns)
    profile.launches.push_back({.kernel = "k", .metrics = {{"time/duration", duration_ns}}, .lines = {}});
  return profile;
}

Measurement timed(double median_ns) {
  Measurement measurement;
  measurement.median_ns = median_ns;
  return measurement;
}

}  // namespace

TEST_CASE("durations near the event time bear it out, summed over the launches of a call") {
  const auto cross_check = check_duration(profile_of({20e3, 15e3}), timed(34.5e3));
  REQUIRE(cross_check);
  CHECK(cross_check->cupti_ns == 35e3);
  CHECK(cross_check->agrees);
  CHECK(duration_check_text("N=64", *cross_check) ==
        "on N=64 CUPTI saw the call take 35.00 us, events 34.50 us");
}

TEST_CASE("a call timed at much less than its launches take is not believed") {
  const auto cross_check = check_duration(profile_of({20e3, 15e3}), timed(20e3));
  REQUIRE(cross_check);
  CHECK_FALSE(cross_check->agrees);
  CHECK(duration_check_text("N=64", *cross_check).find("do not trust it") != std::string::npos);
}

TEST_CASE("a call timed at more than its launches take is believed: gaps between launches are time too") {
  CHECK(check_duration(profile_of({2e3, 1e3}), timed(9e3))->agrees);
}

TEST_CASE("without a duration of every launch there is no witness") {
  Profile profile = profile_of({20e3, 15e3});
  profile.launches.back().metrics.clear();
  CHECK_FALSE(check_duration(profile, timed(34e3)));
  CHECK_FALSE(check_duration(profile_of({}), timed(34e3)));
  CHECK_FALSE(check_duration(profile_of({20e3}), timed(0)));
}

TEST_CASE("time stamps are preferred to counters: they know what overlaps") {
  Profile profile = profile_of({20e3, 15e3});
  profile.launches[0].metrics["timeline/duration"] = 18e3;
  profile.launches[1].metrics["timeline/duration"] = 14e3;
  profile.launches[1].metrics["timeline/gap"] = -2e3;
  CHECK(check_duration(profile, timed(30e3))->cupti_ns == 30e3);
}

TEST_CASE("time between launches is none of theirs: in a profile the host is late with the second one") {
  Profile profile = profile_of({20e3, 15e3});
  profile.launches[0].metrics["timeline/duration"] = 36e3;
  profile.launches[1].metrics["timeline/duration"] = 3e3;
  profile.launches[1].metrics["timeline/gap"] = 80e3;
  const auto cross_check = check_duration(profile, timed(38e3));
  CHECK(cross_check->cupti_ns == 39e3);
  CHECK(cross_check->agrees);
}

TEST_CASE("a launch in which others begin and end counts once") {
  Profile profile = profile_of({10e3, 1e3, 1e3});
  const double gaps[] = {0, -9e3, 1e3};  // from 1 to 2 us, and from 3 to 4 us
  for (std::size_t i = 0; i < 3; ++i) {
    profile.launches[i].metrics["timeline/duration"] = i == 0 ? 10e3 : 1e3;
    if (i > 0) profile.launches[i].metrics["timeline/gap"] = gaps[i];
  }
  CHECK(check_duration(profile, timed(10e3))->cupti_ns == 10e3);
}
