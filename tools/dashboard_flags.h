// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/setup/arguments.h"

namespace ak::tools {

/// What `alphakernel dashboard` takes.
struct DashboardFlags {
  std::string database, metrics_token;
  std::uint16_t port = 0;  ///< 0: any that is free
  double seconds = 5;      ///< limit of a page's query
  bool open = false, json = false;
};

/// Nothing when --help or --version was asked for and has been printed. Throws Error(usage).
[[nodiscard]] std::optional<DashboardFlags> dashboard_flags(const app::Arguments& arguments);

}  // namespace ak::tools
