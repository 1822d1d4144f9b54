// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_facts.h"

#include <array>
#include <tuple>

#include "core/error.h"

namespace ak {
namespace {

// In the order of DeviceKind.
constexpr std::array<std::string_view, 3> kFactKinds{"cuda", "emulator", "none"};

DeviceKind parse_kind(const std::string& name) {
  for (std::size_t i = 0; i < kFactKinds.size(); ++i) {
    if (kFactKinds[i] == name) return static_cast<DeviceKind>(i);
  }
  fail(ExitCode::bad_input, "device facts: kind '{}' is none of cuda, emulator, none", name);
}

Arch parse_arch_field(const std::string& text) {
  if (text.empty()) return {};
  const Result<Arch> arch = parse_arch(text);
  if (!arch) fail(ExitCode::bad_input, "device facts: {}", arch.error().message);
  return *arch;
}

DeviceFacts read(const Json& json) {
  DeviceFacts facts;
  facts.kind = parse_kind(json.at("kind").get<std::string>());
  facts.name = json.at("name").get<std::string>();
  facts.uuid = json.at("uuid").get<std::string>();
  facts.arch = parse_arch_field(json.at("arch").get<std::string>());
  json.at("ordinal").get_to(facts.ordinal);
  json.at("sm_count").get_to(facts.sm_count);
  json.at("max_threads_per_sm").get_to(facts.max_threads_per_sm);
  json.at("l2_bytes").get_to(facts.l2_bytes);
  json.at("memory_bytes").get_to(facts.memory_bytes);
  json.at("shared_bytes_per_block").get_to(facts.shared_bytes_per_block);
  json.at("clock_mhz").get_to(facts.clock_mhz);
  json.at("memory_clock_mhz").get_to(facts.memory_clock_mhz);
  json.at("memory_bus_bits").get_to(facts.memory_bus_bits);
  json.at("driver_version").get_to(facts.driver_version);
  return facts;
}

auto model_of(const DeviceFacts& device) {
  return std::tie(device.kind, device.name, device.arch, device.sm_count, device.l2_bytes,
                  device.memory_bytes);
}

}  // namespace

bool same_model(const DeviceFacts& one, const DeviceFacts& other) { return model_of(one) == model_of(other); }

std::string_view to_string(DeviceKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  AK_ASSERT(index < kFactKinds.size(), "every DeviceKind has its name in kFactKinds");
  return kFactKinds[index];
}

Bandwidth DeviceFacts::peak_bandwidth() const {
  constexpr double kTransfersPerClock = 2, kBitsPerByte = 8, kMbPerGb = 1000;
  return Bandwidth(kTransfersPerClock * memory_clock_mhz * memory_bus_bits / kBitsPerByte / kMbPerGb);
}

Environment device_environment(const DeviceFacts& device, const Arch& target) {
  return {{"SM_COUNT", std::int64_t{device.sm_count}},
          {"L2_BYTES", device.l2_bytes},
          {"SHARED_BYTES_PER_BLOCK", device.shared_bytes_per_block},
          {"ARCH", std::int64_t{target.number()}}};
}

Json to_json(const DeviceFacts& facts) {
  return {{"kind", to_string(facts.kind)},
          {"name", facts.name},
          {"uuid", facts.uuid},
          {"ordinal", facts.ordinal},
          {"arch", facts.arch.major == 0 ? std::string() : facts.arch.sm()},
          {"sm_count", facts.sm_count},
          {"max_threads_per_sm", facts.max_threads_per_sm},
          {"l2_bytes", facts.l2_bytes},
          {"memory_bytes", facts.memory_bytes},
          {"shared_bytes_per_block", facts.shared_bytes_per_block},
          {"clock_mhz", facts.clock_mhz},
          {"memory_clock_mhz", facts.memory_clock_mhz},
          {"memory_bus_bits", facts.memory_bus_bits},
          {"driver_version", facts.driver_version}};
}

DeviceFacts device_facts_from_json(const Json& json) {
  try {
    return read(json);
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "device facts: {}", error.what());
  }
}

}  // namespace ak
