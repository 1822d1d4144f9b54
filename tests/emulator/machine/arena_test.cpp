// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/arena.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

namespace ak::emulator {
namespace {

constexpr std::uint64_t kMegabyte = 1u << 20;

TEST_CASE("an allocation is aligned, named, and backed by memory", "[arena]") {
  Arena arena(kMegabyte);
  const auto address = arena.allocate(1000, "input 'x'");
  REQUIRE(address);
  CHECK(*address % 512 == 0);
  REQUIRE(arena.host(*address, 1000) != nullptr);
  std::memset(arena.host(*address, 1000), 7, 1000);
  const Region* region = arena.find(*address + 999);
  REQUIRE(region != nullptr);
  CHECK(region->name == "input 'x'");
  CHECK(region->bytes == 1000);
  CHECK(arena.find(*address + 1000) == nullptr);
  CHECK(arena.find(*address - 1) == nullptr);
}

TEST_CASE("what lies outside the arena has no host memory", "[arena]") {
  Arena arena(kMegabyte);
  REQUIRE(arena.allocate(4096));
  CHECK(arena.host(0, 1) == nullptr);
  CHECK(arena.host(kGlobalBase - 1, 1) == nullptr);
  CHECK(arena.host(kGlobalBase + arena.used(), 1) == nullptr);
  CHECK(arena.host(kGlobalBase + arena.used() - 4, 8) == nullptr);
  CHECK(arena.host(kGlobalBase, ~std::uint64_t{0}) == nullptr);
  CHECK(arena.find(kSharedWindow) == nullptr);
}

TEST_CASE("the largest allocation that is promised succeeds and a larger one does not", "[arena]") {
  Arena arena(kMegabyte);
  const std::uint64_t most = arena.free_bytes();
  CHECK(most > kMegabyte / 2);
  CHECK_FALSE(arena.allocate(most + 512));
  CHECK_FALSE(arena.allocate(~std::uint64_t{0}));
  CHECK(arena.allocate(most));
  CHECK(arena.free_bytes() == 0);
}

TEST_CASE("a region inside an allocation leaves guard bands out of bounds", "[arena]") {
  Arena arena(kMegabyte);
  const std::uint64_t address = *arena.allocate(4096);
  arena.set_region(address + 1024, 1000, "output 'y'");
  CHECK(arena.find(address) == nullptr);
  CHECK(arena.find(address + 1024)->name == "output 'y'");
  CHECK(arena.find(address + 2024) == nullptr);
  CHECK(arena.nearest(address + 2030)->name == "output 'y'");
  CHECK(arena.nearest(address + 1000)->name == "output 'y'");
  CHECK(arena.nearest(address + 1000, 20) == nullptr);
  arena.set_region(address + 2304, 256, "input 'x'", true);
  CHECK(arena.find(address + 2304)->read_only);
  CHECK(arena.find(address + 1024)->name == "output 'y'");
}

TEST_CASE("regions that share a granule are distinguished", "[arena]") {
  Arena arena(kMegabyte);
  const std::uint64_t address = *arena.allocate(4096);
  arena.set_region(address + 1024, 100, "a");
  arena.set_region(address + 1124, 100, "b");
  arena.set_region(address + 1224, 100, "c");
  CHECK(arena.find(address + 1100)->name == "a");
  CHECK(arena.find(address + 1124)->name == "b");
  CHECK(arena.find(address + 1224)->name == "c");
}

TEST_CASE("mapping follows the allocation and its regions", "[arena]") {
  Arena arena(kMegabyte);
  const std::uint64_t address = *arena.allocate(4096), other = *arena.allocate(4096);
  arena.set_mapped(address, false);
  CHECK_FALSE(arena.find(address)->mapped);
  arena.set_region(address + 512, 512, "hidden");
  CHECK_FALSE(arena.find(address + 512)->mapped);
  arena.set_mapped(address, true);
  CHECK(arena.find(address + 512)->mapped);
  CHECK(arena.find(other)->mapped);
}

TEST_CASE("released memory is reused, merged, and given back", "[arena]") {
  Arena arena(kMegabyte);
  std::vector<std::uint64_t> addresses;
  while (const auto address = arena.allocate(60'000)) addresses.push_back(*address);
  REQUIRE(addresses.size() > 10);
  CHECK_FALSE(arena.allocate(100'000));
  std::memset(arena.host(addresses[3], 60'000), 1, 60'000);
  CHECK(arena.release(addresses[3]));
  CHECK_FALSE(arena.release(addresses[3]));
  CHECK(arena.release(addresses[5]));
  CHECK(arena.release(addresses[4]));
  CHECK(arena.find(addresses[4]) == nullptr);
  const auto merged = arena.allocate(150'000);
  REQUIRE(merged);
  CHECK(*merged == addresses[3]);
  CHECK_FALSE(arena.release(addresses[3] + 1));
}

TEST_CASE("what has been written is known by the byte", "[arena]") {
  Arena arena(kMegabyte);
  CHECK(arena.initialized() == nullptr);
  arena.track_initialized(true);
  const std::uint64_t address = *arena.allocate(40'000);
  const auto count = [&] {
    std::size_t written = 0;
    for (std::uint64_t i = 0; i < 40'000; ++i) written += arena.initialized()[address - kGlobalBase + i];
    return written;
  };
  CHECK(count() == 0);
  arena.mark_initialized(address, 40'000, true);
  CHECK(count() == 40'000);
  arena.mark_initialized(address + 100, 30'001, false);
  CHECK(count() == 40'000 - 30'001);
  CHECK(arena.initialized()[address - kGlobalBase + 99] == 1);
  CHECK(arena.initialized()[address - kGlobalBase + 30'101] == 1);
  REQUIRE(arena.release(address));
  REQUIRE(arena.allocate(40'000) == address);
  CHECK(count() == 0);
}

struct Shadow {
  std::uint64_t bytes;
  unsigned char value;
};

void check_all(const Arena& arena, const std::map<std::uint64_t, Shadow>& live) {
  std::uint64_t end = kGlobalBase;
  for (const auto& [address, shadow] : live) {
    REQUIRE(address > end);  // apart from the one before
    end = address + shadow.bytes;
    const std::byte* memory = arena.host(address, shadow.bytes);
    REQUIRE(memory != nullptr);
    REQUIRE(memory[0] == std::byte{shadow.value});
    REQUIRE(memory[shadow.bytes - 1] == std::byte{shadow.value});
    for (const std::uint64_t inside : {address, address + shadow.bytes / 2, end - 1}) {
      const Region* region = arena.find(inside);
      REQUIRE(region != nullptr);
      REQUIRE(region->address == address);
      REQUIRE(region->bytes == shadow.bytes);
    }
    REQUIRE(arena.find(end) == nullptr);
    REQUIRE(arena.find(address - 1) == nullptr);
  }
}

TEST_CASE("a read-only region is known to be written until the host marks it", "[arena]") {
  Arena arena(kMegabyte);
  arena.track_initialized(true);
  const std::uint64_t address = *arena.allocate(1000);
  arena.set_region(address, 900, "input 'x'", true);
  const auto written = [&] { return arena.all_written(*arena.find(address)); };
  arena.mark_initialized(address, 899, true);
  CHECK_FALSE(written());
  arena.mark_initialized(address + 899, 101, true);
  CHECK(written());
  arena.mark_initialized(address + 900, 100, false);
  CHECK(written());
  arena.mark_initialized(address + 450, 1, false);
  CHECK_FALSE(written());
  arena.mark_initialized(address, 1000, true);
  CHECK(written());
  arena.track_initialized(false);
  arena.track_initialized(true);
  CHECK_FALSE(written());
}

TEST_CASE("random allocations never overlap and are always found", "[arena]") {
  std::mt19937 random(7);
  Arena arena(8 * kMegabyte);
  arena.track_initialized(true);
  std::map<std::uint64_t, Shadow> live;
  for (int step = 0; step < 2000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      const std::uint64_t bytes = 1 + random() % (random() % 8 == 0 ? 300'000 : 3000);
      const auto address = arena.allocate(bytes);
      if (!address) continue;
      const auto value = static_cast<unsigned char>(random());
      REQUIRE(std::count(arena.initialized() + (*address - kGlobalBase),
                         arena.initialized() + (*address - kGlobalBase) + bytes,
                         std::uint8_t{0}) == static_cast<std::ptrdiff_t>(bytes));
      std::memset(arena.host(*address, bytes), value, bytes);
      arena.mark_initialized(*address, bytes, true);
      live[*address] = {bytes, value};
    } else {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      REQUIRE(arena.release(victim->first));
      live.erase(victim);
    }
    if (step % 50 == 0) check_all(arena, live);
  }
  check_all(arena, live);
  while (!live.empty()) {
    REQUIRE(arena.release(live.begin()->first));
    live.erase(live.begin());
  }
  CHECK(arena.free_bytes() > 7 * kMegabyte);
}

}  // namespace
}  // namespace ak::emulator
