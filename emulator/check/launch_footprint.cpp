// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/launch_footprint.h"

#include <algorithm>

namespace ak::emulator {

/// Calls `visit(page number, first bit, last bit + 1)` for the part of a range in each page.
template <class Visit>
void LaunchFootprint::for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit visit) {
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t page = at / kPageBytes, stop = std::min(end, (page + 1) * kPageBytes);
    visit(page, at % kPageBytes, stop - page * kPageBytes);
    at = stop;
  }
}

const LaunchFootprint::Page* LaunchFootprint::find(const Bytes& bytes, std::uint64_t page) {
  const auto found = bytes.find(page);
  return found == bytes.end() ? nullptr : found->second.get();
}

LaunchFootprint::Page& LaunchFootprint::page_of(Bytes& bytes, std::uint64_t page) {
  auto& found = bytes[page];
  if (found == nullptr) found = std::make_unique<Page>();
  return *found;
}

void LaunchFootprint::add(std::uint64_t offset, std::uint64_t bytes, bool writes) {
  for_each_page(offset, bytes, [&](std::uint64_t number, std::uint64_t first, std::uint64_t end) {
    Page& page = page_of(writes ? written_ : read_, number);
    for (std::uint64_t bit = first; bit < end; ++bit) page.set(bit);
  });
}

void LaunchFootprint::add_input(std::uint64_t offset, std::uint64_t bytes) {
  for_each_page(offset, bytes, [&](std::uint64_t number, std::uint64_t first, std::uint64_t end) {
    const Page* const written = find(written_, number);
    Page& page = page_of(read_, number);
    for (std::uint64_t bit = first; bit < end; ++bit)
      if (written == nullptr || !written->test(bit)) page.set(bit);
  });
}

std::uint64_t LaunchFootprint::count_of(const Bytes& bytes, std::uint64_t offset, std::uint64_t count) {
  std::uint64_t touched = 0;
  for_each_page(offset, count, [&](std::uint64_t number, std::uint64_t first, std::uint64_t end) {
    const Page* const page = find(bytes, number);
    if (page == nullptr) return;
    for (std::uint64_t bit = first; bit < end; ++bit) touched += page->test(bit) ? 1 : 0;
  });
  return touched;
}

std::uint64_t LaunchFootprint::bytes_read(std::uint64_t offset, std::uint64_t bytes) const {
  return count_of(read_, offset, bytes);
}

std::uint64_t LaunchFootprint::bytes_written(std::uint64_t offset, std::uint64_t bytes) const {
  return count_of(written_, offset, bytes);
}

bool LaunchFootprint::meets(std::uint64_t offset, std::uint64_t bytes, bool writes) const {
  return count_of(written_, offset, bytes) > 0 || (writes && count_of(read_, offset, bytes) > 0);
}

}  // namespace ak::emulator
