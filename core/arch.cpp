// SPDX-License-Identifier: Apache-2.0
#include "core/arch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/suggest.h"

namespace ak {
namespace {

struct NamedArch {
  std::string_view name;
  Arch arch;
};

// Families mean the data-centre part that most people have in mind. Products: compute capability of NVIDIA's
// data sheets ("CUDA GPU Compute Capability"), with feature 'a' from 9.0 on, where it exists.
constexpr std::array kNames{
    NamedArch{"turing", {7, 5}},
    NamedArch{"ampere", {8, 0}},
    NamedArch{"ada", {8, 9}},
    NamedArch{"hopper", {9, 0, 'a'}},
    NamedArch{"blackwell", {10, 0, 'a'}},
    NamedArch{"t4", {7, 5}},
    NamedArch{"a100", {8, 0}},
    NamedArch{"a10", {8, 6}},
    NamedArch{"a40", {8, 6}},
    NamedArch{"rtx3090", {8, 6}},
    NamedArch{"orin", {8, 7}},
    NamedArch{"l4", {8, 9}},
    NamedArch{"l40", {8, 9}},
    NamedArch{"l40s", {8, 9}},
    NamedArch{"rtx4090", {8, 9}},
    NamedArch{"h100", {9, 0, 'a'}},
    NamedArch{"h200", {9, 0, 'a'}},
    NamedArch{"gh200", {9, 0, 'a'}},
    NamedArch{"h20", {9, 0, 'a'}},
    NamedArch{"b200", {10, 0, 'a'}},
    NamedArch{"gb200", {10, 0, 'a'}},
    NamedArch{"b300", {10, 3, 'a'}},
    NamedArch{"gb300", {10, 3, 'a'}},
    NamedArch{"thor", {11, 0, 'a'}},
    NamedArch{"rtx5090", {12, 0, 'a'}},
    NamedArch{"rtx_pro_6000", {12, 0, 'a'}},
    NamedArch{"rtx_pro_6000_max_q", {12, 0, 'a'}},
    NamedArch{"gb10", {12, 1, 'a'}},
    NamedArch{"dgx_spark", {12, 1, 'a'}},
};

constexpr int kKiB = 1024;
// Threads, blocks, registers and shared memory per SM; shared memory per block is that of the SM less the 1
// KiB the driver reserves per block from 8.0 on; registers per thread. Thread, block and memory figures agree
// with cuda_occupancy.h of the toolkit, which occupancy_test compares with.
constexpr std::array kLimits{
    ArchLimits{75, 1024, 16, 64 * kKiB, 64 * kKiB, 64 * kKiB, 255},
    ArchLimits{80, 2048, 32, 64 * kKiB, 164 * kKiB, 163 * kKiB, 255},
    ArchLimits{86, 1536, 16, 64 * kKiB, 100 * kKiB, 99 * kKiB, 255},
    ArchLimits{87, 1536, 16, 64 * kKiB, 164 * kKiB, 163 * kKiB, 255},
    ArchLimits{88, 1536, 16, 64 * kKiB, 100 * kKiB, 99 * kKiB, 255},
    ArchLimits{89, 1536, 24, 64 * kKiB, 100 * kKiB, 99 * kKiB, 255},
    ArchLimits{90, 2048, 32, 64 * kKiB, 228 * kKiB, 227 * kKiB, 255},
    ArchLimits{100, 2048, 32, 64 * kKiB, 228 * kKiB, 227 * kKiB, 255},
    ArchLimits{103, 2048, 32, 64 * kKiB, 228 * kKiB, 227 * kKiB, 255},
    ArchLimits{110, 1536, 24, 64 * kKiB, 228 * kKiB, 227 * kKiB, 255},
    ArchLimits{120, 1536, 24, 64 * kKiB, 100 * kKiB, 99 * kKiB, 255},
    ArchLimits{121, 1536, 24, 64 * kKiB, 100 * kKiB, 99 * kKiB, 255},
};

// Lower case, without the separators that people write in different ways ("RTX 4090", "rtx-4090", "rtx4090").
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

// "90a", with or without "sm" or "compute" before it.
std::optional<Arch> parse_number(std::string_view text) {
  for (const std::string_view prefix : {"sm", "compute"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (rest.size() > 1 || number < 10 || number > 999) return std::nullopt;
  return Arch{number / 10, number % 10, rest.empty() ? '\0' : rest[0]};
}

// The architecture-specific targets start with 9.0, the family-specific ones with 10.0 (PTX ISA, .target).
bool exists(const Arch& arch) {
  if (!limits(arch)) return false;
  return arch.feature == 0 || (arch.feature == 'a' && arch.major >= 9) ||
         (arch.feature == 'f' && arch.major >= 10);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = arch_names();
  for (const ArchLimits& entry : kLimits) {
    for (const char feature : {'\0', 'a', 'f'}) {
      const Arch arch{entry.number / 10, entry.number % 10, feature};
      if (exists(arch)) names.push_back(arch.sm());
    }
  }
  return names;
}

}  // namespace

std::string Arch::sm() const {
  return fmt::format("sm_{}{}", number(), feature == 0 ? std::string() : std::string(1, feature));
}

Result<Arch> parse_arch(std::string_view text) {
  const std::string given = plain(text);
  for (const NamedArch& entry : kNames) {
    if (plain(entry.name) == given) return entry.arch;
  }
  if (const std::optional<Arch> arch = parse_number(given); arch && exists(*arch)) return *arch;
  return Complaint{
      fmt::format("unknown architecture '{}'; expected sm_NN, sm_NNa, sm_NNf or a product or family name{}",
                  sanitize(text, 64), did_you_mean(sanitize(text, 64), all_names()))};
}

bool can_load(const Arch& device, const Arch& target) {
  if (device.major != target.major) return false;
  return target.feature == 'a' ? device.minor == target.minor : device.minor >= target.minor;
}

std::optional<ArchLimits> limits(const Arch& arch) {
  for (const ArchLimits& entry : kLimits) {
    if (entry.number == arch.number() && arch.minor < 10) return entry;
  }
  return std::nullopt;
}

std::vector<std::string> arch_names() {
  std::vector<std::string> names;
  for (const NamedArch& entry : kNames) names.emplace_back(entry.name);
  return names;
}

}  // namespace ak
