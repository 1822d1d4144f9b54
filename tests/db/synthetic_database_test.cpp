// SPDX-License-Identifier: Apache-2.0
#include "tests/db/synthetic_database.h"
#include "tests/support/patience.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "db/merge/verify.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

TEST_CASE("a synthetic database is whole, and full of what long use brings") {
  const TemporaryFolder folder;
  make_synthetic_database(folder.file());
  CHECK(verify(folder.file()).empty());
  const auto count = [&](const std::string& what) {
    return integer(folder.file(), "SELECT count(*) FROM " + what);
  };
  CHECK(count("variants") == 2'000);
  CHECK(count("definitions") == 12);
  CHECK(count("searches") >= 20);
  // Numbers are drawn, and other templates draw others.
  CHECK(count("searches WHERE started_at >= '2026-11-15'") >= 2);
  CHECK(count("(SELECT DISTINCT device FROM leaderboard)") == 4);
  CHECK(count("(SELECT DISTINCT status FROM evaluations)") >= 10);
  const double failing = static_cast<double>(count("failures")) / static_cast<double>(count("evaluations"));
  CHECK(failing > 0.1);
  CHECK(failing < 0.2);
  for (const char* arm : {"start", "comparison", "held_out", "final", "profile"}) {
    INFO(arm);
    CHECK(count(std::string("proposals WHERE arm = '") + arm + "'") >= 2);
  }
  for (const char* table : {"llm_calls", "predictions", "metrics", "insights", "variant_parents", "profiles",
                            "pareto_front", "hypervolume", "superseded", "generalisation"}) {
    INFO(table);
    CHECK(count(table) >= 2);
  }
}

TEST_CASE("a synthetic database is the same for the same seed") {
  const TemporaryFolder folder;
  const auto content = [&](const char* name, std::uint64_t seed) {
    make_synthetic_database(folder.path() / name, {.variants = 60, .seed = seed});
    return query(folder.path() / name,
                 "SELECT e.uid, e.score_ns, v.variant_hash, e.ended_at FROM evaluations e JOIN variants v "
                 "ON v.id = e.variant_id ORDER BY e.id",
                 0, testing::kPatience)
        .rows;
  };
  const auto rows = content("a.db", 1);
  CHECK(rows == content("b.db", 1));
  CHECK(rows != content("c.db", 2));
  CHECK_THROWS_AS(make_synthetic_database(folder.path() / "a.db"), Error);
  CHECK_THROWS_AS(make_synthetic_database(folder.path() / "d.db", {.until = "today"}), Error);
}

}  // namespace
}  // namespace ak::db::test
