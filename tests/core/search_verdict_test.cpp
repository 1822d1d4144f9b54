// SPDX-License-Identifier: Apache-2.0
#include "core/search_verdict.h"

#include <catch2/catch.hpp>

namespace ak {
namespace {

TEST_CASE("a search is at the limit by the device or by its counters, else stuck or ended by a budget") {
  const RemainingGain much{.expected = 0.1, .low = 0, .high = 0.3},
      little{.expected = 0, .low = 0, .high = 0.01};
  struct Row {
    SearchEnd end;
    std::string_view verdict, limited_by;
  };
  const Row rows[] = {{{"evaluation budget", 0.05, {}, much}, kVerdictAtLimit, "the device"},
                      {{"evaluation budget", 0.3, 0.08, much}, kVerdictAtLimit, "counters"},
                      {{"space exhausted", 0.1, {}, {}}, kVerdictAtLimit, "the device"},
                      {{"evaluation budget", 0.05, 0.3, {}}, kVerdictAtLimit, "the device"},
                      {{"space exhausted", 0.11, {}, {}}, kVerdictStuck, "the device"},
                      {{"no progress", {}, {}, much}, kVerdictStuck, ""},
                      {{"little left to gain", 0.5, 0.4, little}, kVerdictStuck, "counters"},
                      {{"wall time budget", 0.5, {}, little}, kVerdictStuck, "the device"},
                      {{"wall time budget", 0.5, {}, much}, kVerdictBudget, "the device"},
                      {{"target reached", {}, {}, {}}, kVerdictBudget, ""}};
  for (const Row& row : rows) {
    const SearchVerdict found = verdict_of(row.end);
    INFO(row.end.reason << ": " << verdict_text(found));
    CHECK(found.verdict == row.verdict);
    CHECK(found.limited_by == row.limited_by);
    CHECK(found.headroom.has_value() == !row.limited_by.empty());
  }
}

TEST_CASE("headroom is the share of a time above the limit, and known where both are") {
  CHECK(*headroom_of(100.0, 75.0) == Approx(0.25));
  CHECK(*headroom_of(100.0, 120.0) == 0);  // nominal clocks
  CHECK_FALSE(headroom_of({}, 75.0));
  CHECK_FALSE(headroom_of(100.0, {}));
}

TEST_CASE("a verdict says what limits in words") {
  CHECK_THAT(
      verdict_text(verdict_of({"no progress", 0.345, {}, {}})),
      Catch::StartsWith("stuck: ") && Catch::Contains("the limit of the device leaves 34 % of its time"));
  CHECK_THAT(verdict_text(verdict_of({"no progress", 0.3, 0.07, {}})),
             Catch::StartsWith("at the limit: ") && Catch::Contains("its counters promise at most 7 %"));
  CHECK_THAT(verdict_text(verdict_of({"evaluation budget", {}, {}, {}})),
             Catch::StartsWith("budget: ") && Catch::Contains("no limit is known"));
}

}  // namespace
}  // namespace ak
