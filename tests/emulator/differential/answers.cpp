// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/differential/answers.h"

#include <fmt/format.h>

#include <fstream>

#include "core/error.h"

namespace ak::emulator::differential {
namespace {

// File: magic, number of cases, then of each case its key, the number of its bytes, and those; little-endian.
constexpr std::uint64_t kMagic = 0x31535752414B41ull;  // "AKARWS1"

void put(std::ofstream& file, std::uint64_t value) {
  file.write(reinterpret_cast<const char*>(&value), sizeof value);
}

bool get(std::ifstream& file, std::uint64_t& value) {
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
}

bool get_all(std::ifstream& file, Answers& answers) {
  constexpr std::uint64_t kMax = 1u << 20;  // bytes of a case; more is not an answers file
  std::uint64_t magic = 0, count = 0, key = 0, bytes = 0;
  if (!get(file, magic) || magic != kMagic || !get(file, count)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!get(file, key) || !get(file, bytes) || bytes > kMax) return false;
    std::vector<std::byte> answer(bytes);
    if (!file.read(reinterpret_cast<char*>(answer.data()), static_cast<std::streamsize>(bytes))) return false;
    answers[key] = std::move(answer);
  }
  return true;
}

}  // namespace

std::vector<std::byte> kept(const Case& one, const std::vector<std::byte>& output) {
  if (one.hashed_row == 0) return output;
  const std::size_t row = std::size_t{one.hashed_row} * static_cast<std::size_t>(bytes(one.result));
  std::vector<std::byte> hashes;
  for (std::size_t at = 0; at < output.size(); at += row) {
    const std::uint64_t hash = hash_of(std::span(output).subspan(at, row));
    const auto folded = static_cast<std::uint32_t>(hash ^ hash >> 32);
    const auto* first = reinterpret_cast<const std::byte*>(&folded);
    hashes.insert(hashes.end(), first, first + sizeof folded);
  }
  return hashes;
}

std::filesystem::path answers_path(const std::filesystem::path& folder, const std::string& suite) {
  return folder / (suite + ".answers");
}

void write_answers(const std::filesystem::path& path, const Answers& answers) {
  std::ofstream file(path, std::ios::binary);
  put(file, kMagic);
  put(file, answers.size());
  for (const auto& [key, answer] : answers) {
    put(file, key);
    put(file, answer.size());
    file.write(reinterpret_cast<const char*>(answer.data()), static_cast<std::streamsize>(answer.size()));
  }
  file.flush();
  if (!file) fail(ExitCode::environment, "cannot write {}", path.string());
}

Result<Answers> read_answers(const std::filesystem::path& path) {
  constexpr const char* kAgain = "record it on a machine with a GPU: scripts/measure/record_differential.sh";
  std::ifstream file(path, std::ios::binary);
  if (!file) return InputError{fmt::format("no recorded answers {}; {}", path.string(), kAgain)};
  Answers answers;
  if (!get_all(file, answers)) return InputError{fmt::format("{} is damaged; {}", path.string(), kAgain)};
  return answers;
}

}  // namespace ak::emulator::differential
