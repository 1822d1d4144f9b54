// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "tests/emulator/differential/differential_case.h"

namespace ak::emulator::differential {

/// What a GPU answered to the cases of a suite, by key_of(). Empty: its driver refused the kernel.
using Answers = std::map<std::uint64_t, std::vector<std::byte>>;

/// What is kept of a kernel's output: all of it, or a hash of each row (Case::hashed_row).
[[nodiscard]] std::vector<std::byte> kept(const Case& one, const std::vector<std::byte>& output);

/// "DIR/<suite>.answers".
[[nodiscard]] std::filesystem::path answers_path(const std::filesystem::path& folder,
                                                 const std::string& suite);
/// Throws Error(environment) when the file cannot be written.
void write_answers(const std::filesystem::path& path, const Answers& answers);
/// The Error says what is wrong with the file, and how to record it again.
[[nodiscard]] Result<Answers> read_answers(const std::filesystem::path& path);

}  // namespace ak::emulator::differential
