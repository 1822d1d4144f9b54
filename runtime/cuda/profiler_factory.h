// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace ak::runtime {

class LaunchProfiler;

/// Makes one for the calling thread's context, on device `ordinal`. Null where a program has none.
using MakeLaunchProfiler = std::unique_ptr<LaunchProfiler> (*)(int ordinal);

}  // namespace ak::runtime
