// SPDX-License-Identifier: Apache-2.0
#include "core/gate.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "core/build.h"
#include "core/outcome.h"

using namespace ak;

TEST_CASE("every gate has a row with a name of its own and a promise") {
  std::set<std::string_view> names;
  const auto last = static_cast<std::size_t>(Gate::problem_audit);
  REQUIRE(gates().size() == last + 1);
  for (std::size_t i = 0; i <= last; ++i) {
    const auto gate = static_cast<Gate>(i);
    INFO(i);
    CHECK(info(gate).gate == gate);
    CHECK(names.insert(to_string(gate)).second);
    CHECK(info(gate).promise.size() > 20);
    CHECK(parse_gate(to_string(gate)) == gate);
  }
  CHECK_FALSE(parse_gate("no_such_gate"));
}

TEST_CASE("nothing in the environment opens a gate of the product") {
  setenv("ALPHAKERNEL_GATES_OFF", "poison,tolerance", 1);
  for (const GateInfo& gate : gates()) CHECK(gate_enabled(gate.gate));
  unsetenv("ALPHAKERNEL_GATES_OFF");
}

TEST_CASE("an explanation names the gate and what it promises") {
  const Outcome outcome{.status = Status::incorrect,
                        .stage = StageId::check,
                        .message = "y[0] was never written",
                        .diagnostics = {},
                        .gate = Gate::poison};
  CHECK_THAT(explain(outcome), Catch::Contains("gate 'poison'") && Catch::Contains("hold a poison pattern"));
}

TEST_CASE("the gate of a refused build survives the way through JSON") {
  BuildResult result;
  result.outcome = {Status::timeout, StageId::build, "too slow", {}, Gate::compile_limits};
  CHECK(build_result_from_json(to_json(result)).outcome.gate == Gate::compile_limits);
  result.outcome.gate.reset();
  CHECK_FALSE(build_result_from_json(to_json(result)).outcome.gate);
}
