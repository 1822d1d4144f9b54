// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_answers.h"

#include <catch2/catch.hpp>

#include "runtime/build/build_key.h"

namespace ak::runtime {
namespace {

/// A unit with one kernel, and an answer that fits it.
struct Exchange {
  Exchange() {
    unit.file_name = "k.cu";
    unit.kernels = {"k"};
    unit.arch = {.major = 9, .minor = 0, .feature = 'a'};
    answer.outcome = {.status = Status::ok, .stage = StageId::build, .message = "", .diagnostics = {}};
    answer.outcome.diagnostics.push_back({.severity = "warning", .message = "unused"});
    answer.ptx = ".version 9.0";
    answer.cubin = "ELF";
    answer.kernels.push_back({.expression = "k", .lowered_name = "k", .parameter_types = {"u64", "b8[128]"}});
  }
  [[nodiscard]] Result<BuildResult> read(const Json& body) const { return read_built(body, unit, "13.0"); }

  TranslationUnit unit;
  BuildResult answer;
};

}  // namespace

TEST_CASE("an answer that fits its build is believed, under the parent's own key and version") {
  Exchange exchange;
  exchange.answer.key = std::string(64, 'a');
  exchange.answer.nvrtc_version = "1.0";
  exchange.answer.cache_hit = true;
  const auto read = exchange.read(to_json(exchange.answer));
  REQUIRE(read);
  CHECK(read->key == BuildKey::of(exchange.unit, "13.0").text());
  CHECK(read->nvrtc_version == "13.0");
  CHECK_FALSE(read->cache_hit);
}

TEST_CASE("what a build did not ask for, or no compiler says, is named and not believed") {
  const Exchange exchange;
  const std::pair<const char*, void (*)(Json&)> kLies[] = {
      {"cannot end as interrupted", [](Json& json) { json["outcome"]["status"] = "interrupted"; }},
      {"cannot end as ok", [](Json& json) { json["outcome"]["stage"] = "time"; }},
      {"built no program", [](Json& json) { json["cubin"] = ""; }},
      {"2 kernels, where 1", [](Json& json) { json["kernels"].push_back(Json(json["kernels"][0])); }},
      {"2 kernels, where 1",
       [](Json& json) {
         json["outcome"]["status"] = "compile_error";
         json["kernels"].push_back(Json(json["kernels"][0]));
       }},
      {"0 kernels, where 1", [](Json& json) { json["kernels"] = Json::array(); }},
      {"is not 'k'", [](Json& json) { json["kernels"][0]["expression"] = "other"; }},
      {"no identifier", [](Json& json) { json["kernels"][0]["lowered_name"] = "k\n.entry j"; }},
      {"a type of PTX", [](Json& json) { json["kernels"][0]["parameter_types"][0] = "\x1b[2J"; }},
      {"registers", [](Json& json) { json["kernels"][0]["registers"] = 100'000; }},
      {"error, warning or note",
       [](Json& json) { json["outcome"]["diagnostics"][0]["severity"] = "\x1b[31merror"; }},
      {"compile_ms", [](Json& json) { json["compile_ms"] = -1; }},
  };
  for (const auto& [named, change] : kLies) {
    INFO(named);
    Json body = to_json(exchange.answer);
    change(body);
    const auto read = exchange.read(body);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message, Catch::Contains(named));
  }
}

}  // namespace ak::runtime
