// SPDX-License-Identifier: Apache-2.0
#include "core/stage.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace ak;

namespace {

std::size_t place_of(StageId stage) {
  return static_cast<std::size_t>(std::ranges::find(stages(), stage, &StageInfo::id) - stages().begin());
}

}  // namespace

TEST_CASE("every stage is found by its name, and another name is none") {
  for (const StageInfo& stage : stages()) {
    INFO(stage.name);
    CHECK(to_string(stage.id) == stage.name);
    CHECK(parse_stage(stage.name) == stage.id);
    CHECK_FALSE(stage.what.empty());
  }
  CHECK_FALSE(parse_stage("lunch"));
}

TEST_CASE("a candidate is built before it is inspected, checked before it is timed, and judged last") {
  CHECK(place_of(StageId::pre_check) < place_of(StageId::build));
  CHECK(place_of(StageId::build) < place_of(StageId::resources));
  CHECK(place_of(StageId::resources) < place_of(StageId::check));
  CHECK(place_of(StageId::check) < place_of(StageId::time));
  CHECK(stages().back().id == StageId::verdict);
}

// The evaluator hands them to the worker as one task.
TEST_CASE("the stages of the device worker follow one another") {
  const auto on_device = [](const StageInfo& stage) { return stage.runner == StageRunner::device_worker; };
  const auto first = std::ranges::find_if(stages(), on_device);
  const auto end = std::find_if_not(first, stages().end(), on_device);
  CHECK(std::count_if(stages().begin(), stages().end(), on_device) == end - first);
}
