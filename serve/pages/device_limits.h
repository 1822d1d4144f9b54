// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "db/read/reader.h"

namespace ak::pages {

/// Gives the reader's SQL the table `device_limits(definition, device_id, label, peak_gbps, peak_tflops)`:
/// what a device can do at most for a definition, for every pair that has a search. The bandwidth is that of
/// the device memory; the operations are those of the fastest unit that takes the type of an input, at the
/// highest clock (core/device/floor.h). NULL where not known, as for the CPU emulator. `definition` is the
/// row of definitions.
void keep_device_limits(db::Reader& reader);

}  // namespace ak::pages
