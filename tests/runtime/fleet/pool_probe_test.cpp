// SPDX-License-Identifier: Apache-2.0
// What is found at the places of a pool before a search uses them.
#include "runtime/fleet/pool_probe.h"

#include <catch2/catch.hpp>

#include "tests/runtime/evaluator/job_samples.h"
#include "tests/runtime/fleet/pretended_device.h"
#include "tests/support/patience.h"
#include "tests/support/temporary_folder.h"

namespace ak::runtime {
namespace {

std::vector<PlaceFinding> probed(const std::vector<test::PretendedDevice>& devices,
                                 const test::PretendedDevice& own) {
  const testing::TemporaryFolder folder;
  EvaluatorOptions options;
  options.device = DeviceKind::cuda;
  options.target = test::kTarget;
  for (const test::PretendedDevice& device : devices)
    options.pool.push_back(test::place_of(device, folder.path()));
  options.pool.push_back({.name = "own", .worker_command = {}});
  options.worker_command = test::place_of(own, folder.path()).worker_command;
  return probe_pool(options, test::kPretendedVersion, testing::kPatience);
}

TEST_CASE("a GPU that is at two places can be used at one: at the first, or at this machine's own") {
  const auto findings = probed({{.uuid = "GPU-1"},
                                {.uuid = "another way to GPU-1", .claims = "GPU-1"},
                                {.uuid = "an impostor", .claims = "GPU-2"}},
                               {.uuid = "GPU-2"});
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].fault.empty());
  CHECK(findings[1].fault == "it is the same GPU as GPU-1");
  CHECK(findings[2].fault == "it is the same GPU as own");
  CHECK(findings[3].fault.empty());
}

}  // namespace
}  // namespace ak::runtime
