// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/probe_answers.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

const Json kLandlock{{"part", "Landlock"},
                     {"in_force", true},
                     {"detail", "workers open few files"},
                     {"cost", "a candidate may read"},
                     {"remedy", "Linux 5.13"}};

std::string protections_error(const Json& hello) {
  const auto read = read_protections(hello);
  return read ? "" : read.error().message;
}

std::string obstacle_error(const Json& hello) {
  const auto read = read_obstacle(hello);
  return read ? "" : read.error().message;
}

}  // namespace

TEST_CASE("the greetings that workers send to doctor are read") {
  const auto protections = read_protections({{"protections", {kLandlock}}, {"pid", 1}});
  REQUIRE(protections);
  REQUIRE(protections->size() == 1);
  CHECK(protections->front().part == "Landlock");
  CHECK(protections->front().in_force);
  CHECK(protections->front().remedy == "Linux 5.13");
  CHECK(read_obstacle({{"obstacle", ""}})->empty());
  CHECK(*read_obstacle({{"obstacle", "no GPU"}}) == "no GPU");
}

TEST_CASE("a greeting of another form is an error in words, and its text cannot steer a terminal") {
  for (const Json& hello :
       {Json(), Json::array(), Json::object(), Json{{"protections", 1}}, Json{{"protections", {1}}}})
    CHECK_THAT(protections_error(hello), Catch::StartsWith("broke the protocol: hello: "));
  for (const auto& [key, value] : kLandlock.items()) {
    Json without = kLandlock, wrong = kLandlock;
    without.erase(key);
    wrong[key] = 7;
    CHECK_THAT(protections_error({{"protections", {without}}}), Catch::Contains(key));
    CHECK_THAT(protections_error({{"protections", {wrong}}}), Catch::Contains(key));
  }
  CHECK_THAT(protections_error({{"protections", std::vector<Json>(1'000, kLandlock)}}),
             Catch::Contains("1000 values"));
  for (const Json& hello :
       {Json(), Json::object(), Json{{"obstacle", nullptr}}, Json{{"obstacle", std::string(10'000, 'x')}}})
    CHECK_THAT(obstacle_error(hello), Catch::StartsWith("broke the protocol: hello: "));
  CHECK(read_obstacle({{"obstacle", "no \x1b[31mGPU"}})->find('\x1b') == std::string::npos);
}

}  // namespace ak::runtime
