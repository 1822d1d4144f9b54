// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/outcome.h"
#include "core/result.h"
#include "tests/emulator/differential/differential_case.h"

namespace ak::emulator::differential {

/// Output of the kernel on the CPU device for `inputs`, the case's own or others. Errors: Status::unsupported
/// for an instruction it does not cover, else what is wrong with the kernel or the first fault found in it.
[[nodiscard]] Result<std::vector<std::byte>, Outcome> emulate(const Case& one,
                                                              const std::vector<std::uint64_t>& inputs);

}  // namespace ak::emulator::differential
