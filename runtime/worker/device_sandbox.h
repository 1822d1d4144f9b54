// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/process/sandbox.h"

namespace ak::runtime {

/// What a device worker may open once its device is up. On a GPU: what the driver, its lazily loaded parts
/// and the vendor's libraries need (the tables in the source); on the CPU device: nothing.
/// @param scratch the only folder that may be written; empty: none.
[[nodiscard]] Permissions device_permissions(bool gpu, const std::string& scratch);

/// What a program needs that loads libraries of the system; with `gpu` the driver's nodes, too.
[[nodiscard]] Permissions library_permissions(bool gpu);

}  // namespace ak::runtime
