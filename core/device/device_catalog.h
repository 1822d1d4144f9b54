// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/arch.h"
#include "core/device/device_facts.h"
#include "core/text/json.h"

namespace ak {

/// A figure that an entry can hold.
struct DevicePropertyInfo {
  std::string_view name, unit, meaning;
};
/// All of them, in the order in which they are shown. docs/devices.md explains the groups.
[[nodiscard]] std::span<const DevicePropertyInfo> device_properties();

/// One figure of a device and who says so.
struct DeviceProperty {
  std::optional<double> value;  ///< nothing: not known, and `source` says why
  std::string source;
};

/// A product, or an architecture: what all its products have in common.
struct DeviceEntry {
  std::string name;                  ///< as the driver names a product: "NVIDIA H200"; "sm_90"
  std::vector<std::string> aliases;  ///< as people name it
  Arch arch;                         ///< the most specific target
  std::string nominal;               ///< of an architecture: the product that stands for it, else empty
  std::map<std::string, DeviceProperty, std::less<>>
      properties;  ///< a product's over those of its architecture

  [[nodiscard]] bool is_product() const { return name != Arch{arch.major, arch.minor}.sm(); }
  [[nodiscard]] std::optional<double> value(std::string_view property) const;
  [[nodiscard]] bool has(std::string_view feature) const;  ///< "wgmma", "tma", ...
};

/// What is known of devices before anything runs on them, every figure with its source: data sheets and
/// measured ceilings. Immutable, so it may be shared between threads.
class DeviceCatalog {
 public:
  /// The entries that come with the program (core/device/catalog/, compiled in). Loaded at the first call.
  [[nodiscard]] static const DeviceCatalog& shipped();
  /// The shipped entries and above them those of the files *.json of `folder`, in order of names: one of a
  /// known name replaces the figures that it has, another one is new. A folder that is missing adds
  /// nothing. Throws Error(bad_input) naming file and key.
  [[nodiscard]] static DeviceCatalog with_folder(const std::filesystem::path& folder);

  /// Architectures, then products, by architecture and name.
  [[nodiscard]] const std::vector<DeviceEntry>& entries() const { return entries_; }
  /// By name or alias, whatever its case and separators; null where there is none.
  [[nodiscard]] const DeviceEntry* find(std::string_view name) const;
  /// The architecture's entry; null where there is none.
  [[nodiscard]] const DeviceEntry* architecture(const Arch& arch) const;
  /// The device's product, else its architecture; null where neither is known.
  [[nodiscard]] const DeviceEntry* of(const DeviceFacts& device) const;
  /// The product that stands for an architecture, or for the newest older one that has such a product; null
  /// for one older than all.
  [[nodiscard]] const DeviceEntry* nominal(const Arch& arch) const;

 private:
  explicit DeviceCatalog(std::vector<DeviceEntry> own);
  static void add_text(std::vector<DeviceEntry>& own, std::string_view text, const std::string& file);

  std::vector<DeviceEntry> entries_;
};

/// The entry in the form of its file, but with all its figures, for programs and as a start for a user's own.
[[nodiscard]] Json to_json(const DeviceEntry& entry);

}  // namespace ak
