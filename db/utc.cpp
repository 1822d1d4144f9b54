// SPDX-License-Identifier: Apache-2.0
#include "db/utc.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace ak::db {

std::string utc(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::time_t{ms / 1000}), ms % 1000);
}

}  // namespace ak::db
