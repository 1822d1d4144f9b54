// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/error.h"

namespace ak::emulator {
namespace {

constexpr std::uint64_t kAlignment = 512;  // the driver's allocations have no less
// Between allocations, so that running over the end by a row of a small matrix does not land in a neighbour
// (chosen; it costs addresses, not memory).
constexpr std::uint64_t kGuardBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

std::uint64_t page_bytes() {
  static const auto kBytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

void* reserve(std::uint64_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    fail(ExitCode::environment, "cannot reserve {} bytes of address space for emulated device memory: {}",
         bytes, std::strerror(errno));
  return memory;
}

/// Tells the system that whole pages in [from, from + bytes) are not needed; they read as zero afterwards.
void discard(void* from, std::uint64_t bytes) {
  const auto begin = round_up(reinterpret_cast<std::uintptr_t>(from), page_bytes());
  const auto end = (reinterpret_cast<std::uintptr_t>(from) + bytes) / page_bytes() * page_bytes();
  // Failing costs memory only.
  if (begin < end) static_cast<void>(madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED));
}

bool holds(const Region& region, std::uint64_t address) { return address - region.address < region.bytes; }

std::uint64_t distance(const Region& region, std::uint64_t address) {
  if (address < region.address) return region.address - address;
  return holds(region, address) ? 0 : address - (region.address + region.bytes);
}

}  // namespace

Arena::Arena(std::uint64_t capacity_bytes)
    : capacity_(round_up(std::max(capacity_bytes, page_bytes()), page_bytes())),
      used_(kGuardBytes),
      regions_(1) {
  memory_ = static_cast<std::byte*>(reserve(capacity_));
}

Arena::~Arena() {
  munmap(memory_, capacity_);
  if (initialized_ != nullptr) munmap(initialized_, capacity_);
}

// ---- allocations

// Best fit; what is left over stays free.
std::optional<std::uint64_t> Arena::take_free(std::uint64_t bytes) {
  const auto fit = free_.lower_bound(bytes);
  if (fit == free_.end()) return std::nullopt;
  const auto [found, address] = *fit;
  free_.erase(fit);
  if (found > bytes) free_.emplace(found - bytes, address + bytes);
  return address;
}

std::optional<std::uint64_t> Arena::allocate(std::uint64_t bytes, const std::string& name) {
  if (bytes == 0 || bytes > capacity_) return std::nullopt;
  const std::uint64_t reserved = round_up(bytes, kAlignment) + kGuardBytes;
  std::optional<std::uint64_t> address = take_free(reserved);
  if (!address) {
    if (reserved > capacity_ - used_) return std::nullopt;
    address = kGlobalBase + used_;
    used_ += reserved;
    region_of_granule_.resize(used_ / kRegionGranule);
  }
  allocations_[*address] = reserved;
  mark_initialized(*address, bytes, false);
  add_region({.address = *address, .bytes = bytes, .name = name});
  return address;
}

void Arena::give_back(std::uint64_t address, std::uint64_t bytes) {
  for (auto other = free_.begin(); other != free_.end();) {
    const bool below = other->second + other->first == address, above = address + bytes == other->second;
    if (below) address = other->second;
    if (below || above) bytes += other->first;
    other = below || above ? free_.erase(other) : std::next(other);
  }
  if (address + bytes == kGlobalBase + used_) {
    used_ -= bytes;
    region_of_granule_.resize(used_ / kRegionGranule);
  } else {
    free_.emplace(bytes, address);
  }
}

bool Arena::release(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const std::uint64_t bytes = found->second;
  allocations_.erase(found);
  remove_regions(address, bytes);
  mark_initialized(address, bytes, false);
  discard(memory_ + (address - kGlobalBase), bytes);
  give_back(address, bytes);
  return true;
}

std::uint64_t Arena::free_bytes() const noexcept {
  std::uint64_t largest = capacity_ - used_;
  if (!free_.empty()) largest = std::max(largest, free_.rbegin()->first);
  return largest < kGuardBytes ? 0 : (largest - kGuardBytes) / kAlignment * kAlignment;
}

Arena::Allocation Arena::allocation_of(std::uint64_t address) const {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  --after;
  return address - after->first < after->second ? after : allocations_.end();
}

// ---- regions

void Arena::add_region(Region region) {
  if (spare_regions_.empty()) {
    spare_regions_.push_back(static_cast<std::uint32_t>(regions_.size()));
    regions_.emplace_back();
  }
  const std::uint32_t index = spare_regions_.back();
  spare_regions_.pop_back();
  const std::uint64_t first = (region.address - kGlobalBase) / kRegionGranule;
  const std::uint64_t last = (region.address + region.bytes - 1 - kGlobalBase) / kRegionGranule;
  std::fill(region_of_granule_.begin() + static_cast<std::ptrdiff_t>(first),
            region_of_granule_.begin() + static_cast<std::ptrdiff_t>(last) + 1, index);
  regions_by_address_[region.address] = index;
  regions_[index] = std::move(region);
}

void Arena::remove_regions(std::uint64_t address, std::uint64_t bytes) {
  auto at = regions_by_address_.lower_bound(address);
  if (at != regions_by_address_.begin() && holds(regions_[std::prev(at)->second], address)) --at;
  while (at != regions_by_address_.end() && at->first < address + bytes) {
    const std::uint32_t index = at->second;
    Region& region = regions_[index];
    const std::uint64_t first = (region.address - kGlobalBase) / kRegionGranule;
    const std::uint64_t last = (region.address + region.bytes - 1 - kGlobalBase) / kRegionGranule;
    // A neighbour may share the granule at either end and has it then.
    for (std::uint64_t granule = first; granule <= last; ++granule) {
      if (region_of_granule_[granule] == index) region_of_granule_[granule] = 0;
    }
    region = {};
    spare_regions_.push_back(index);
    at = regions_by_address_.erase(at);
  }
}

void Arena::set_region(std::uint64_t address, std::uint64_t bytes, const std::string& name, bool read_only) {
  const auto allocation = allocation_of(address);
  AK_ASSERT(bytes > 0 && allocation != allocations_.end() &&
                bytes <= allocation->second - (address - allocation->first),
            "a region lies inside an allocation");
  const auto before = regions_by_address_.lower_bound(allocation->first);
  const bool mapped = before == regions_by_address_.end() ||
                      before->first >= allocation->first + allocation->second ||
                      regions_[before->second].mapped;
  remove_regions(address, bytes);
  add_region({.address = address, .bytes = bytes, .name = name, .read_only = read_only, .mapped = mapped});
}

void Arena::set_mapped(std::uint64_t address, bool mapped) {
  const auto allocation = allocation_of(address);
  AK_ASSERT(allocation != allocations_.end(), "only allocations are mapped");
  auto at = regions_by_address_.lower_bound(allocation->first);
  for (; at != regions_by_address_.end() && at->first < allocation->first + allocation->second; ++at)
    regions_[at->second].mapped = mapped;
}

const Region* Arena::find(std::uint64_t address) const noexcept {
  const std::uint64_t offset = address - kGlobalBase;
  if (offset >= used_) return nullptr;
  const std::uint32_t index = region_of_granule_[offset / kRegionGranule];
  if (index != 0 && holds(regions_[index], address)) return &regions_[index];
  // Regions that are not multiples of the granule may share one.
  const auto after = regions_by_address_.upper_bound(address);
  if (after == regions_by_address_.begin()) return nullptr;
  const Region& below = regions_[std::prev(after)->second];
  return holds(below, address) ? &below : nullptr;
}

const Region* Arena::nearest(std::uint64_t address, std::uint64_t reach) const noexcept {
  const auto after = regions_by_address_.upper_bound(address);
  const Region* best = nullptr;
  std::uint64_t least = reach;
  const auto consider = [&](const Region& region) {
    const std::uint64_t far = distance(region, address);
    if (far > least || (best != nullptr && far == least)) return;
    best = &region;
    least = far;
  };
  if (after != regions_by_address_.begin()) consider(regions_[std::prev(after)->second]);
  if (after != regions_by_address_.end()) consider(regions_[after->second]);
  return best;
}

// ---- what has been written

void Arena::track_initialized(bool on) {
  if (on == (initialized_ != nullptr)) return;
  for (Region& region : regions_) region.written.reset();
  if (on) {
    initialized_ = static_cast<std::uint8_t*>(reserve(capacity_));
  } else {
    munmap(initialized_, capacity_);
    initialized_ = nullptr;
  }
}

bool Arena::all_written(const Region& region) noexcept {
  AK_ASSERT(region.read_only && initialized_ != nullptr, "kernels write to the others unnoticed");
  std::optional<bool>& written = regions_[static_cast<std::size_t>(&region - regions_.data())].written;
  if (!written)
    written = std::memchr(initialized_ + (region.address - kGlobalBase), 0, region.bytes) == nullptr;
  return *written;
}

void Arena::mark_initialized(std::uint64_t address, std::uint64_t bytes, bool initialized) noexcept {
  if (initialized_ == nullptr || host(address, bytes) == nullptr) return;
  for (Region& region : regions_) {
    if (address < region.address + region.bytes && region.address < address + bytes) region.written.reset();
  }
  std::uint8_t* states = initialized_ + (address - kGlobalBase);
  if (initialized) {
    std::memset(states, 1, bytes);
    return;
  }
  // Whole pages become zero by being given back: forgetting a large buffer touches nothing.
  const std::uint64_t first =
      std::min(bytes, round_up(address - kGlobalBase, page_bytes()) - (address - kGlobalBase));
  const std::uint64_t last = std::min(bytes - first, (address - kGlobalBase + bytes) % page_bytes());
  std::memset(states, 0, first);
  discard(states + first, bytes - first - last);
  std::memset(states + (bytes - last), 0, last);
}

}  // namespace ak::emulator
