// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/kernel_library/package_plan.h"

namespace ak::tools {

/// "  mlp_down: gemm dtype=bfloat16", a line an operator.
[[nodiscard]] std::string entries_text(const std::vector<app::PackageEntry>& entries);

/// Writes the manifest of the session that tunes them beside the folder of the package: "dist.tune.json".
std::string write_tuning_manifest(const std::string& package, const app::TuningOrder& order);

/// Runs it as `alphakernel session start` does; it can be resumed by itself. A session that ends otherwise than well says so
/// on stderr: what it found is used.
void run_tuning_session(const std::string& manifest, const std::filesystem::path& database);

}  // namespace ak::tools
