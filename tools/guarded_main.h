// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace ak::tools {

/// What a program's main() returns: the exit code of `body`, or the documented one of what it throws, with
/// the message on stderr. Output that could not be written is not a success.
[[nodiscard]] int guarded_main(const std::function<int()>& body);

}  // namespace ak::tools
