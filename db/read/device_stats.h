// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/store.h"

namespace ak::db {

// What `alphakernel compare` reads of two devices. All throw Error(database). A "cost" is a GPU time or, on the CPU
// device, an estimated cost, in nanoseconds: the caller looks at the kind of device before it compares two.

/// A device by what users call it.
struct DeviceName {
  std::string kind, name;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
/// Those that evaluated something.
[[nodiscard]] std::vector<DeviceName> device_names(const std::filesystem::path& file);

/// Two numbers of one thing, by name.
struct MatchedPair {
  std::string definition, what;
  double first_ns = 0, second_ns = 0;
};

/// The medians of the same variant on the same shape on both devices: the mean over evaluations that passed.
[[nodiscard]] std::vector<MatchedPair> device_pairs(const std::filesystem::path& file,
                                                    const DeviceName& first, const DeviceName& second);

/// Evaluations of one device: variants, those that passed, definitions.
struct DeviceStats {
  std::int64_t searches = 0, definitions = 0, variants = 0, passed = 0, evaluations = 0;
};
[[nodiscard]] DeviceStats device_stats(const std::filesystem::path& file, const DeviceName& device);

}  // namespace ak::db
