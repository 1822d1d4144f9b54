// SPDX-License-Identifier: Apache-2.0
// What programs read of the pool of a running search, and the page that people see.
#include "serve/dashboard/metrics.h"

#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "db/read/reader.h"
#include "serve/dashboard/database_pages.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::dashboard {
namespace {

constexpr const char* kCommand = "srun --export=KEY=/home/me/secret --gpus=1";

/// A search that runs on a pool of two devices, of which one rests.
struct PooledSearch {
  PooledSearch() : store(db::open_store(folder.file())), run(*store) {
    DeviceFacts facts = db::test::device();
    facts.name = "NVIDIA \"H200\"\\\n";
    const auto device = std::make_shared<const DeviceFacts>(facts);
    PoolPlace works{.place = kCommand, .device = device, .doing = "evaluates", .sm_clock_mhz = 1'980};
    works.answers = 30;
    works.present = std::chrono::minutes(30);
    const PoolPlace rests{.place = "cuda:1",
                          .doing = "rests",
                          .breaker = BreakerState::open,
                          .reason = "its calibration has drifted"};
    const CalibrationRecord first{
        .place = kCommand,
        .device = device,
        .calibration = {.compute_ns = 130e3, .copy_ns = 70e3, .sm_clock_mhz = 1'980}};
    CalibrationRecord second = first;
    second.drift = 0.02;
    second.objection = "its calibration has drifted";
    store->note_pool(run.search, {.places = {works, rests}, .calibrations = {first, second}});
  }
  [[nodiscard]] std::string metrics() const {
    const PageResponse response = dashboard::metrics(folder.file(), testing::kPatience);
    INFO(response.body);
    CHECK(response.status == 200);
    CHECK(response.type == "text/plain; version=0.0.4; charset=utf-8");
    return response.body;
  }
  testing::TemporaryFolder folder;
  std::unique_ptr<VariantStore> store;
  db::test::Run run;
};

TEST_CASE("metrics are named as Prometheus asks, and labels are escaped") {
  const std::string text = PooledSearch().metrics();
  INFO(text);
  const std::string labels = R"(search="1",place="1",device="NVIDIA \"H200\"\\\n")";
  for (const std::string& line :
       {std::string("alphakernel_searches_running 1\n"), "alphakernel_pool_place_up{" + labels + "} 1\n",
        std::string("alphakernel_pool_place_up{search=\"1\",place=\"2\",device=\"\"} 0\n"),
        "alphakernel_pool_place_evaluations_total{" + labels + "} 30\n",
        "alphakernel_pool_place_present_seconds_total{" + labels + "} 1800\n",
        "alphakernel_pool_place_breaker_state{" + labels + ",state=\"closed\"} 1\n",
        std::string("place=\"2\",device=\"\",state=\"open\"} 1\n"),
        "alphakernel_pool_place_calibrations_total{" + labels + "} 2\n",
        "alphakernel_pool_place_calibrations_refused_total{" + labels + "} 1\n",
        "alphakernel_pool_place_calibration_drift_ratio{" + labels + "} 0.02\n"})
    CHECK_THAT(text, Catch::Contains(line));
  // The text format: comments, and samples of a name, labels in braces, and a number.
  const std::regex comment(R"(# (HELP|TYPE) alphakernel_[a-z_]+ .+)");
  const std::regex sample(R"(alphakernel_[a-z_]+(\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\})? [-+0-9.e]+)");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK((std::regex_match(line, comment) || std::regex_match(line, sample)));
  }
}

TEST_CASE("metrics hold no command, path or key, and nothing of searches that have ended") {
  PooledSearch search;
  const std::string text = search.metrics();
  for (const char* word : {"srun", "/home", "secret", "cuda:1"}) CHECK(text.find(word) == std::string::npos);
  search.store->end_search(search.run.search, "finished", "", std::nullopt);
  const std::string ended = search.metrics();
  CHECK_THAT(ended, Catch::Contains("alphakernel_searches_running 0\n"));
  CHECK(ended.find("{") == std::string::npos);
}

TEST_CASE("a database that cannot be read has no metrics, and that is said") {
  const PageResponse response = metrics("/nowhere/at.db", testing::kPatience);
  CHECK(response.status == 503);
  CHECK_THAT(response.body, Catch::Contains("the database cannot be read"));
  CHECK(response.body.find("nowhere") == std::string::npos);
}

TEST_CASE("the page of a pool shows every place, what it does, and why one rests") {
  const PooledSearch search;
  const DatabasePages pages({.database = search.folder.file(), .time_limit = testing::kPatience});
  const PageResponse page = pages({.path = "/pool", .query = {}});
  INFO(page.body);
  CHECK(page.status == 200);
  for (const char* words : {"1 of 2", "evaluates", "rests", "open", "its calibration has drifted", "1,980"})
    CHECK_THAT(page.body, Catch::Contains(words));
}

}  // namespace
}  // namespace ak::dashboard
