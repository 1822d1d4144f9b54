// SPDX-License-Identifier: Apache-2.0
#include "core/text/format_version.h"

#include <array>
#include <catch2/catch.hpp>

#include "core/plan/launch_plan.h"
#include "core/text/json_reader.h"

namespace ak {
namespace {

// A format of three versions: the first called it `width`, the second counted it in bits.
void rename_width(Json& json) {
  json["bits"] = json.at("width");
  json.erase("width");
}
void bits_to_bytes(Json& json) {
  if (json.at("bits").get<int>() % 8 != 0) JsonReader(json).member("bits").fail("whole bytes");
  json["bytes"] = json.at("bits").get<int>() / 8;
  json.erase("bits");
}
constexpr std::array<Migration, 2> kSteps{rename_width, bits_to_bytes};
constexpr Format kSample{.name = "sample.json", .migrations = kSteps};

Json object(const char* text) { return parse_json(text); }

std::string refusal(const Format& format, const char* text) {
  try {
    static_cast<void>(up_to_date(format, object(text)));
  } catch (const JsonInputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every older version of a format becomes the current one") {
  STATIC_REQUIRE(kSample.current() == 3);
  const Json current = object(R"({"bytes": 4, "format": 3})");
  CHECK(up_to_date(kSample, current) == current);
  for (const char* older :
       {R"({"width": 32})", R"({"width": 32, "format": 1})", R"({"bits": 32, "format": 2})"}) {
    const Json read = up_to_date(kSample, object(older));
    CHECK(read.at("bytes") == 4);
    CHECK(read.at("format") == 3);
    CHECK(read.size() == 2);
  }
}

TEST_CASE("an object that is current is left as it is, with and without its version") {
  constexpr Format kFirst{.name = "first.json"};
  CHECK(up_to_date(kFirst, object(R"({"a": 1})")) == object(R"({"a": 1})"));
  CHECK(up_to_date(kFirst, object(R"({"a": 1, "format": 1})")) == object(R"({"a": 1, "format": 1})"));
}

TEST_CASE("a newer version is refused by name, and what is not a version, too") {
  CHECK(refusal(kSample, R"({"format": 4})") ==
        "sample.json has format 4; this AlphaKernel reads up to 3: update AlphaKernel");
  CHECK(refusal(kSample, R"({"format": 0})") ==
        "format: expected a version, an integer of at least 1, got 0");
  CHECK(refusal(kSample, R"({"format": "3"})") == "format: expected an integer, got \"3\"");
  CHECK(refusal(kSample, R"([3])") == "expected an object, got [3]");
  CHECK(refusal(kSample, R"({"bits": 9, "format": 2})") == "bits: expected whole bytes, got 9");
}

TEST_CASE("a version too old to migrate is refused with what to do") {
  constexpr Format kLater{.name = "the model", .key = "version", .oldest = 3, .renewal = "fit it again"};
  CHECK(refusal(kLater, R"({"version": 2})") ==
        "the model has format 2; this AlphaKernel reads from 3: fit it again");
  CHECK(refusal(kLater, "{}") == "the model has format 1; this AlphaKernel reads from 3: fit it again");
  CHECK(refusal(kLater, R"({"version": 3})").empty());
  Json written = Json::object();
  set_version(kLater, written);
  CHECK(written == object(R"({"version": 3})"));
}

TEST_CASE("a launch plan says its version, and one of a newer version is refused") {
  const auto plan = [](const char* version) {
    return launch_plan_from_json(
        object(fmt::format(R"({{{}"launches": [{{"kernel": "k", "grid": [1], "block": [1], "args": []}}]}})",
                           version)
                   .c_str()));
  };
  CHECK(plan("").ok());
  CHECK(plan(R"("format": 1, )").ok());
  REQUIRE_FALSE(plan(R"("format": 2, )").ok());
  CHECK(plan(R"("format": 2, )").error().message ==
        "a launch plan has format 2; this AlphaKernel reads up to 1: update AlphaKernel");
}

}  // namespace ak
