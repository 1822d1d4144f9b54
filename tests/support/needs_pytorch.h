// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "core/error.h"
#include "runtime/reference/python_installation.h"
#include "tests/support/skips.h"

namespace ak::testing {

/// The interpreter of a test that needs PyTorch. Without one the test ends: failed where the environment has CI, whose
/// set-up installs PyTorch; else it is skipped, which the suite's exit code says.
inline std::optional<runtime::PythonInstallation> pytorch_here() {
  try {
    return runtime::find_python("");
  } catch (const Error& error) {
    if (std::getenv("CI") != nullptr)
      FAIL("no test that needs PyTorch may be skipped here: " << error.what());
    WARN("skipped: " << error.what());
    ++skipped_cases;
    return std::nullopt;
  }
}

}  // namespace ak::testing
