// SPDX-License-Identifier: Apache-2.0
#include "core/device/arch.h"

#include <fmt/format.h>

#include <charconv>

#include "core/device/device_catalog.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

// The architecture-specific targets start with 9.0, the family-specific ones with 10.0 (PTX ISA, .target).
bool exists(const Arch& arch) {
  if (!limits(arch)) return false;
  return arch.feature == 0 || (arch.feature == 'a' && arch.major >= 9) ||
         (arch.feature == 'f' && arch.major >= 10);
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = arch_names();
  for (const DeviceEntry& entry : DeviceCatalog::shipped().entries()) {
    if (entry.is_product()) continue;
    for (const char feature : {'\0', 'a', 'f'}) {
      const Arch arch{entry.arch.major, entry.arch.minor, feature};
      if (exists(arch)) names.push_back(arch.sm());
    }
  }
  return names;
}

}  // namespace

std::string Arch::sm() const {
  return fmt::format("sm_{}{}", number(), feature == 0 ? std::string() : std::string(1, feature));
}

std::string plain_name(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

std::optional<Arch> parse_sm(std::string_view text) {
  const std::string plain = plain_name(text);
  std::string_view given = plain;
  for (const std::string_view prefix : {"sm", "compute"}) {
    if (given.starts_with(prefix)) given.remove_prefix(prefix.size());
  }
  int number = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view rest = given.substr(static_cast<std::size_t>(end - given.data()));
  if (rest.size() > 1 || number < 10 || number > 999) return std::nullopt;
  return Arch{number / 10, number % 10, rest.empty() ? '\0' : rest[0]};
}

Result<Arch> parse_arch(std::string_view text) {
  if (const std::optional<Arch> arch = parse_sm(text); arch && exists(*arch)) return *arch;
  if (const DeviceEntry* entry = DeviceCatalog::shipped().find(text)) return entry->arch;
  return InputError{
      fmt::format("unknown architecture '{}'; expected sm_NN, sm_NNa, sm_NNf or a product or family name{}",
                  sanitize(text, 64), did_you_mean(sanitize(text, 64), all_names()))};
}

bool can_load(const Arch& device, const Arch& target) {
  if (device.major != target.major) return false;
  return target.feature == 'a' ? device.minor == target.minor : device.minor >= target.minor;
}

std::optional<ArchLimits> limits(const Arch& arch) {
  const DeviceEntry* entry = DeviceCatalog::shipped().architecture(arch);
  if (entry == nullptr) return std::nullopt;
  const auto property = [&](std::string_view name) {
    return static_cast<int>(entry->value(name).value_or(0));
  };
  return ArchLimits{.number = arch.number(),
                    .max_threads_per_sm = property("max_threads_per_sm"),
                    .max_blocks_per_sm = property("max_blocks_per_sm"),
                    .registers_per_sm = property("registers_per_sm"),
                    .shared_bytes_per_sm = property("shared_bytes_per_sm"),
                    .shared_bytes_per_block = property("shared_bytes_per_block"),
                    .max_registers_per_thread = property("max_registers_per_thread")};
}

std::vector<std::string> arch_names() {
  std::vector<std::string> names;
  for (const DeviceEntry& entry : DeviceCatalog::shipped().entries())
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  return names;
}

}  // namespace ak
