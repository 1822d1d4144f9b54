// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/device/device_facts.h"

namespace ak::app {

/// A GPU that is not here, as someone named it.
struct NamedProduct {
  DeviceFacts facts;  ///< nominal, from the device catalogue, the user's own devices among them
  bool is_named =
      false;  ///< it has an entry: else `facts` are those of the product that stands for its architecture
  bool stands_in = false;  ///< a product was named of which nothing else is known than its architecture
};

/// That the figures of `device` are taken for those of a product without an entry.
[[nodiscard]] std::string stand_in_note(const std::string& name, const DeviceFacts& device);

/// The product of that name or, of an architecture or a product without an entry ("sm_90a", "h20"), the one that stands
/// for its architecture. Throws Error(usage) for a name that nobody knows, or of which no figures are known.
[[nodiscard]] NamedProduct named_product(const std::string& name);

}  // namespace ak::app
