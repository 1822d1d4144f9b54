// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/tuning/measured_space.h"

namespace ak::app {

/// Reads results of another tuner, or of a search of our own database (the latest with a timed evaluation
/// unless named). Throws Error naming the file.
[[nodiscard]] MeasuredSpace load_space(const std::filesystem::path& file,
                                       std::optional<std::int64_t> search = std::nullopt);

/// The definition in a T1 file, packed or not; nothing where the file is JSON of another kind. Throws
/// Error(bad_input) naming the file and what is wrong with it.
[[nodiscard]] std::optional<SpaceDefinition> load_definition(const std::filesystem::path& file);

/// As TunableSpace::build. Throws Error(bad_input) with the constraints that contradict each other where the
/// space has no points.
[[nodiscard]] TunableSpace build_space(const SpaceDefinition& definition, const std::string& name);

/// The files named, and of folders the files in them that hold results (*.json, .json.gz, .json.xz), in
/// order of their names.
[[nodiscard]] std::vector<std::filesystem::path> space_files(const std::vector<std::string>& paths);

/// File name without its suffixes.
[[nodiscard]] std::string space_name(const std::filesystem::path& file);

}  // namespace ak::app
