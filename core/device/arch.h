// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace ak {

/// A compilation target: sm_80, sm_90a, sm_100f, ...
struct Arch {
  int major = 0, minor = 0;
  char feature = 0;  ///< 0, 'a' (architecture-specific) or 'f' (family-specific)

  [[nodiscard]] std::string sm() const;  ///< "sm_90a"
  [[nodiscard]] int number() const { return major * 10 + minor; }
  friend bool operator==(const Arch&, const Arch&) = default;
};

/// Accepts sm_NN[a|f], compute_NN, NN, families (ampere, ada, hopper, blackwell) and products (a100, h200,
/// rtx4090, b200, rtx_pro_6000, thor, ...; product names give the most specific target) by their names in the
/// shipped device catalogue. `native` is resolved by the caller. Errors suggest the nearest known name.
[[nodiscard]] Result<Arch> parse_arch(std::string_view text);

/// "90a", with or without "sm_" or "compute_" before it; nothing when it is none. Whether there is such a
/// target is not asked.
[[nodiscard]] std::optional<Arch> parse_sm(std::string_view text);

/// Lower case, without the separators that people write in different ways ("RTX
/// 4090", "rtx-4090", "rtx4090").
[[nodiscard]] std::string plain_name(std::string_view text);

/// True when a device of compute capability `device` can load a cubin built for `target`: same major, minor
/// not older, and exactly equal for an 'a' target (CUDA C++ Programming Guide, binary compatibility).
[[nodiscard]] bool can_load(const Arch& device, const Arch& target);

/// Per-SM limits that occupancy and resource checks need, per compute capability, from the device catalogue.
struct ArchLimits {
  int number;  ///< 80, 90, ...
  int max_threads_per_sm;
  int max_blocks_per_sm;
  int registers_per_sm;
  int shared_bytes_per_sm;
  int shared_bytes_per_block;  ///< opt-in maximum, dynamic
  int max_registers_per_thread;
};
[[nodiscard]] std::optional<ArchLimits> limits(const Arch& arch);

/// Names that parse_arch knows in addition to sm_NN, for --help and suggestions.
[[nodiscard]] std::vector<std::string> arch_names();

}  // namespace ak
