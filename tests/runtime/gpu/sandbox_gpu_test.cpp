// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/support/device_sandbox_cases.h"
#include "tests/support/sandbox_attempts.h"

namespace ak::test {
namespace {

// The evaluations of the other tests here run in workers that are confined the same way.
TEST_CASE("a device worker on a GPU with a problem open is refused files, network and other processes") {
  OpenDeviceWorker worker(DeviceKind::cuda);
  INFO(worker.opened().dump());
  CHECK_THAT(not_refused(worker.opened(), worker.ask("attempt")), Catch::Equals(std::vector<std::string>{}));
}

TEST_CASE("a confined worker opens another problem on its GPU and loads what the driver loads late") {
  OpenDeviceWorker worker(DeviceKind::cuda);
  worker.open();
  for (const char* library : {"libnvidia-ptxjitcompiler.so.1", "libcublasLt.so.13", "libcudnn.so.9"}) {
    const std::string error = worker.ask("load", {{"library", library}})["error"];
    INFO(library << ": " << error);
    // What is not installed cannot be distinguished from what is hidden, except for the refusal's own word.
    CHECK_THAT(error, !Catch::Contains("ermission denied"));
  }
}

}  // namespace
}  // namespace ak::test
