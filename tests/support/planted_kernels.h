// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/device_bench.h"

namespace ak::test {

/// How an evaluation must end.
struct Verdict {
  Status status = Status::ok;
  std::string message = "";  ///< part of the outcome's message
};

/// A kernel for TinyProblem that is wrong on purpose, and the outcome it must earn.
struct Planted {
  std::string name;
  std::string source;
  Verdict gpu;  ///< ok: a GPU does not notice, or not every time
  Verdict emulator;
  std::string plan = elementwise_plan("k");
};
[[nodiscard]] std::vector<Planted> planted_kernels();

/// Body of a correct kernel.
inline const std::string kCorrectBody = "if (i < n) c[i] = a[i] + b[i];";

/// Evaluates the planted kernel and an honest one after it.
void check_planted(DeviceBench& bench, const Planted& planted, const Verdict& expected);

}  // namespace ak::test
