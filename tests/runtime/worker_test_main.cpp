// SPDX-License-Identifier: Apache-2.0
//
// main of tests whose program is also the worker they start.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/worker_main.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    const std::vector<std::string> arguments(argv + 2, argv + argc);
    return ak::runtime::worker_main(arguments);
  }
  return Catch::Session().run(argc, argv);
}
