// SPDX-License-Identifier: Apache-2.0
// What is kept of the devices of a pool.
#include "db/pool/pool_rows.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

std::shared_ptr<const DeviceFacts> device_called(const std::string& uuid) {
  DeviceFacts facts = device();
  facts.uuid = uuid;
  return std::make_shared<const DeviceFacts>(facts);
}

CalibrationRecord calibration(double compute_ns, double drift, const std::string& objection) {
  return {.place = "ssh gpu7",
          .device = device_called("GPU-2"),
          .calibration = {.compute_ns = compute_ns, .copy_ns = 70e3, .sm_clock_mhz = 1'980},
          .drift = drift,
          .objection = objection};
}

TEST_CASE("calibrations are kept, and what a place does takes the place of what it did before") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  const Run run(*store);
  PoolReport report{
      .places = {{.place = "cuda:0", .own = true, .device = device_called("GPU-1"), .doing = "evaluates"},
                 {.place = "ssh gpu7", .doing = "joins"}},
      .calibrations = {calibration(130e3, 0, "")}};
  store->note_pool(run.search, report);
  report.places.pop_back();
  report.places.front().answers = 12;
  report.places.front().present = std::chrono::seconds(60);
  report.calibrations = {calibration(143e3, 0.1, "it has drifted")};
  store->note_pool(run.search, report);
  const auto file = folder.file();
  CHECK(integer(file, "SELECT count(*) FROM pool_places") == 1);
  CHECK(integer(file, "SELECT answers FROM pool_places") == 12);
  CHECK(real(file, "SELECT present_s FROM pool_places") == 60);
  CHECK(is_null(file, "SELECT reason FROM pool_places"));
  CHECK(integer(file, "SELECT count(*) FROM calibrations") == 2);
  CHECK(text(file, "SELECT objection FROM calibrations ORDER BY id DESC LIMIT 1") == "it has drifted");
  CHECK(is_null(file, "SELECT memory_errors FROM calibrations LIMIT 1"));
  CHECK(text(file, "SELECT DISTINCT uuid FROM devices v JOIN calibrations c ON c.device_id = v.id") ==
        "GPU-2");
  CHECK(intact(file));
}

TEST_CASE("evaluations that are committed together are all there, or none of them") {
  const TemporaryFolder folder;
  const auto store = open_store(folder.file());
  Run run(*store);
  const auto file = folder.file();
  store->together([&] {
    for (const int block : {64, 128}) static_cast<void>(run.commit(block));
    CHECK(integer(file, "SELECT count(*) FROM evaluations") == 0);  // for others
  });
  CHECK(integer(file, "SELECT count(*) FROM evaluations") == 2);
  CHECK_THROWS_WITH(store->together([&] {
    static_cast<void>(run.commit(256));
    throw std::runtime_error("the device fell off the bus");
  }),
                    "the device fell off the bus");
  CHECK(integer(file, "SELECT count(*) FROM evaluations") == 2);
  static_cast<void>(run.commit(256));
  CHECK(integer(file, "SELECT count(*) FROM evaluations") == 3);
  CHECK(intact(file));
}

}  // namespace
}  // namespace ak::db::test
