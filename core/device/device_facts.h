// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/device/arch.h"
#include "core/plan/expression.h"
#include "core/text/json.h"
#include "core/units.h"

namespace ak {

enum class DeviceKind : std::uint8_t { cuda, emulator, none };
[[nodiscard]] std::string_view to_string(DeviceKind kind);

/// What is known of a device. All sizes in bytes, all rates in the unit of the name.
struct DeviceFacts {
  DeviceKind kind = DeviceKind::none;
  std::string name;  ///< "NVIDIA H200"; for DeviceKind::none the target arch
  std::string uuid;  ///< "GPU-xxxxxxxx-..." or empty
  int ordinal = 0;
  Arch arch;  ///< compute capability of the device, feature 'a' where it has one
  int sm_count = 0;
  int max_threads_per_sm = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t shared_bytes_per_block = 0;  ///< opt-in maximum
  int clock_mhz = 0;
  int memory_clock_mhz = 0;
  int memory_bus_bits = 0;
  int driver_version = 0;  ///< as cuDriverGetVersion gives it: 13000

  /// Data-sheet style bandwidth from memory clock and bus width (double data rate); none() when unknown.
  [[nodiscard]] Bandwidth peak_bandwidth() const;
};

/// Times of the two may be compared: name, architecture, SMs, L2 and memory are the same. Clocks and power limits differ between
/// GPUs of a model, and are stored.
[[nodiscard]] bool same_model(const DeviceFacts& one, const DeviceFacts& other);

/// SM_COUNT, L2_BYTES, SHARED_BYTES_PER_BLOCK and ARCH for launch plans that run on `device` as
/// code for `target`.
[[nodiscard]] Environment device_environment(const DeviceFacts& device, const Arch& target);

[[nodiscard]] Json to_json(const DeviceFacts& facts);
[[nodiscard]] DeviceFacts device_facts_from_json(const Json& json);

}  // namespace ak
