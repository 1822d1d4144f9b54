// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ak::runtime::test {

/// Serves the protocol as a worker that a candidate has taken over: honest until its first task, then anything.
/// @param arguments "--hostile", a folder, a seed, "--role", "compile" or "device". In the folder the file "started"
/// grows by a byte with every worker, so that each does something else.
int serve_hostile_worker(const std::vector<std::string>& arguments);

}  // namespace ak::runtime::test
