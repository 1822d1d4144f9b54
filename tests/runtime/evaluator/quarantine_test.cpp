// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/quarantine.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

Outcome lost() {
  return {.status = Status::infrastructure_error,
          .stage = StageId::check,
          .message = "the device worker ended by signal 9",
          .diagnostics = {}};
}

TEST_CASE(
    "a program that took two workers down while others came to a verdict is to blame and runs no more") {
  Quarantine quarantine;
  Outcome first = lost(), second = lost();
  quarantine.count_loss("a", first);
  CHECK(first.status == Status::infrastructure_error);
  CHECK_FALSE(quarantine.refusal("a"));
  quarantine.count_verdict();
  quarantine.count_loss("a", second);
  CHECK(second.status == Status::launch_error);
  CHECK_THAT(second.message, Catch::Contains("quarantined"));
  REQUIRE(quarantine.refusal("a"));
  CHECK(quarantine.refusal("a")->status == Status::launch_error);
  CHECK_THAT(quarantine.refusal("a")->message, Catch::StartsWith("not run"));
  CHECK_FALSE(quarantine.refusal("b"));
}

TEST_CASE("where every program takes its worker down the device is at fault and no program is") {
  Quarantine quarantine;
  for (const char* program : {"a", "a", "b", "b", "a"}) {
    Outcome outcome = lost();
    quarantine.count_loss(program, outcome);
    CHECK(outcome.status == Status::infrastructure_error);
    CHECK_FALSE(quarantine.refusal(program));
  }
  quarantine.count_verdict();  // the device works after all
  CHECK(quarantine.refusal("b"));
}

TEST_CASE("a program whose own fault was known keeps its status in quarantine") {
  Quarantine quarantine;
  for (int i = 0; i < 2; ++i) {
    Outcome hang = lost();
    hang.status = Status::hang;
    quarantine.count_loss("a", hang);
    quarantine.count_verdict();
  }
  REQUIRE(quarantine.refusal("a"));
  CHECK(quarantine.refusal("a")->status == Status::hang);
}

}  // namespace
}  // namespace ak::runtime
