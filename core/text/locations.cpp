// SPDX-License-Identifier: Apache-2.0
#include "core/text/locations.h"

#include <mutex>
#include <utility>

namespace ak {
namespace {

std::mutex& location_mutex() {
  static std::mutex mutex;
  return mutex;
}

Locations& stored_locations() {
  static Locations stored;
  return stored;
}

}  // namespace

void set_locations(Locations locations) {
  const std::scoped_lock lock(location_mutex());
  stored_locations() = std::move(locations);
}

Locations locations() {
  const std::scoped_lock lock(location_mutex());
  return stored_locations();
}

std::filesystem::path program_file() {
  std::filesystem::path named = locations().program;
  if (!named.empty()) return named;
  std::error_code unreadable;
  return std::filesystem::read_symlink("/proc/self/exe", unreadable);
}

}  // namespace ak
