// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/launch_footprint.h"

namespace ak::emulator {

void LaunchFootprint::add(std::uint64_t offset, std::uint64_t bytes, bool writes) {
  Bytes& known = writes ? written_ : read_;
  for (std::uint64_t at = offset; at < offset + bytes; ++at) {
    auto& page = known[at / kPageBytes];
    if (page == nullptr) page = std::make_unique<Page>();
    page->set(at % kPageBytes);
  }
}

bool LaunchFootprint::any(const Bytes& bytes, std::uint64_t offset, std::uint64_t count) {
  for (std::uint64_t at = offset; at < offset + count; ++at) {
    const auto page = bytes.find(at / kPageBytes);
    if (page != bytes.end() && page->second->test(at % kPageBytes)) return true;
  }
  return false;
}

bool LaunchFootprint::meets(std::uint64_t offset, std::uint64_t bytes, bool writes) const {
  return any(written_, offset, bytes) || (writes && any(read_, offset, bytes));
}

}  // namespace ak::emulator
