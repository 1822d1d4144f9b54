// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/checker.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>

#include "emulator/check/async_checker.h"

namespace ak::emulator {
namespace {

constexpr std::uint32_t kSharedBytes = 8192;
constexpr Index kLoad = 0, kStore = 1, kAtomic = 2, kVolatileLoad = 3, kVolatileStore = 4, kCopy = 5;

Program program_with_ops() {
  Program program;
  program.code.resize(8);
  program.facts.resize(8);
  for (Index i = 0; i < 8; ++i) program.facts[i].ptx_line = static_cast<int>(i) + 1;
  program.facts[kAtomic].kind = InstructionClass::atomic;
  program.facts[kVolatileLoad].kind = InstructionClass::shared_load;
  program.facts[kVolatileStore].kind = InstructionClass::shared_store;
  program.local_bytes = 64;
  program.static_shared_bytes = 4096;
  program.dynamic_shared_offset = 4096;
  program.shared_symbols = {{"head", 0}, {"_ZZ7softmaxPfE4tile", 1024}};
  return program;
}

/// A launch of blocks of 256 threads, whose accesses a test makes up.
class World {
 public:
  explicit World(std::uint32_t blocks = 1)
      : program_(program_with_ops()), arena_(16u << 20), findings_(program_) {
    arena_.track_initialized(true);
    launch_.grid = {blocks, 1, 1};
    launch_.block = {256, 1, 1};
    launch_.dynamic_shared_bytes = kSharedBytes - 4096;
    checker_ = std::make_unique<Checker>(launch_);
    launch_.checker = checker_.get();
    blocks_.resize(blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) start(i);
  }

  void start(std::uint32_t index) {
    Block& block = blocks_[index];
    block.linear = index;
    block.id = {index, 0, 0};
    block.cluster = {&block};
    block.shared_bytes = kSharedBytes;
    block.shared_written.assign(kSharedBytes, 0);
    block.threads = block.live_threads = 256;
    block.warps.resize(8);
    for (std::uint32_t w = 0; w < 8; ++w) {
      Warp& warp = block.warps[w];
      warp.index = w;
      warp.block = &block;
      warp.launch = &launch_;
      warp.mask = warp.live = warp.lanes = kAllLanes;
      warp.storage.assign(kLanes * 64, std::byte{0});
      warp.local_written = reinterpret_cast<std::uint8_t*>(warp.storage.data());
    }
    checker_->block_started(block);
  }

  Warp& warp(std::uint32_t index, std::uint32_t block = 0) { return blocks_[block].warps[index]; }
  Block& block(std::uint32_t index = 0) { return blocks_[index]; }
  Arena& arena() { return arena_; }
  Checker& checker() { return *checker_; }
  Launch& launch() { return launch_; }
  const Program& program() const { return program_; }
  const std::vector<Finding>& found() const { return findings_.all(); }
  bool clean() const { return findings_.empty(); }
  const Op& op(Index index) const { return program_.code[index]; }

  std::uint64_t buffer(std::uint64_t bytes, const std::string& name, bool initialized = true) {
    const std::uint64_t address = *arena_.allocate(bytes, name);
    arena_.mark_initialized(address, bytes, initialized);
    return address;
  }
  void write_all_shared() { blocks_[0].shared_written.assign(kSharedBytes, 1); }

  using AddressOf = std::function<std::uint64_t(std::uint64_t lane)>;
  std::uint32_t access(Warp& of, Index op_index, Space space, const AddressOf& address, AccessKind kind,
                       std::uint32_t bytes = 4, std::uint32_t mask = kAllLanes) {
    std::uint64_t addresses[kLanes] = {};
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) addresses[lane] = address(lane);
    return checker_->access(of, op(op_index), space, addresses, mask, bytes, kind);
  }
  std::uint32_t read(std::uint32_t w, const AddressOf& offset, std::uint32_t bytes = 4,
                     std::uint32_t mask = kAllLanes) {
    return access(warp(w), kLoad, Space::shared, offset, AccessKind::read, bytes, mask);
  }
  std::uint32_t write(std::uint32_t w, const AddressOf& offset, std::uint32_t bytes = 4,
                      std::uint32_t mask = kAllLanes) {
    return access(warp(w), kStore, Space::shared, offset, AccessKind::write, bytes, mask);
  }
  void strong(std::uint32_t w, Index op_index, std::uint64_t offset, std::uint32_t mask = 1) {
    access(
        warp(w), op_index, Space::shared, [=](std::uint64_t) { return offset; }, AccessKind::atomic, 4, mask);
  }
  void barrier(std::vector<std::uint32_t> warps = {0, 1, 2, 3, 4, 5, 6, 7}) {
    std::vector<std::uint32_t> lanes(8);
    for (const std::uint32_t w : warps) lanes[w] = kAllLanes;
    checker_->barrier_joined(blocks_[0], lanes);
  }

 private:
  Program program_;
  Arena arena_;
  Findings findings_;
  Counters counters_;
  Launch launch_{.program = program_,
                 .arena = arena_,
                 .options = {},
                 .parameters = {},
                 .findings = findings_,
                 .counters = counters_,
                 .print = {},
                 .device = {}};
  std::unique_ptr<Checker> checker_;
  std::vector<Block> blocks_;
};

World::AddressOf consecutive(std::uint64_t first, std::uint64_t stride = 4) {
  return [=](std::uint64_t lane) { return first + lane * stride; };
}
World::AddressOf same(std::uint64_t address) {
  return [=](std::uint64_t) { return address; };
}

// ---- bounds

TEST_CASE("accesses inside a buffer continue without a finding", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(4096, "input 'x'");
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u, 32u}) {
    CHECK(world.access(world.warp(0), kLoad, Space::global, consecutive(x, bytes), AccessKind::read, bytes) ==
          kAllLanes);
  }
  CHECK(world.access(world.warp(0), kLoad, Space::global, consecutive(x), AccessKind::read, 4, 0xFF) == 0xFF);
  CHECK(world.clean());
}

TEST_CASE("lanes beyond the end are stopped and the buffer is named", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(4096, "input 'x'");
  const std::uint32_t fine =
      world.access(world.warp(0), kLoad, Space::global, consecutive(x + 4096 - 64), AccessKind::read);
  CHECK(fine == 0xFFFF);
  REQUIRE(world.found().size() == 1);
  const Finding& finding = world.found().front();
  CHECK(finding.kind == FaultKind::out_of_bounds);
  CHECK(finding.buffer == "input 'x'");
  CHECK(finding.byte_offset == 4096);
  CHECK(finding.buffer_bytes == 4096);
  CHECK(finding.access_bytes == 4);
  CHECK(finding.times == 16);
  CHECK(finding.first.thread == std::array<std::uint32_t, 3>{16, 0, 0});
  CHECK_FALSE(finding.first.write);
  CHECK(describe(world.program(), finding) ==
        "PTX line 1 (): out-of-bounds read: thread (16,0,0) of block (0,0,0) reads 4 bytes at byte 4096 of "
        "input 'x', which is 4096 bytes long (0 bytes past its end); this happened 16 times");
}

TEST_CASE("an access that straddles a region's end is out of bounds", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(4096, "x");
  world.arena().set_region(x + 512, 1000, "row");
  const auto at = [&](std::uint64_t address) {
    return world.access(world.warp(0), kStore, Space::global, same(address), AccessKind::write, 16, 1) == 1;
  };
  CHECK(at(x + 512 + 976));
  CHECK_FALSE(at(x + 512 + 992));  // bytes 992 ... 1007 of 1000
  CHECK_FALSE(at(x + 512 - 16));   // the guard band before
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().buffer == "row");
  CHECK(world.found().front().times == 2);
}

TEST_CASE("wild, null, unmapped and shared addresses are stopped as global ones", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(4096, "x");
  const auto at = [&](Index op, std::uint64_t address) {
    return world.access(world.warp(0), op, Space::global, same(address), AccessKind::read, 4, 1);
  };
  CHECK(at(0, 0) == 0);
  CHECK(at(1, ~3ull) == 0);
  CHECK(at(2, kSharedWindow + 64) == 0);
  world.arena().set_mapped(x, false);
  CHECK(at(3, x) == 0);
  REQUIRE(world.found().size() == 4);
  CHECK(world.found()[0].detail == "a null pointer");
  CHECK(world.found()[1].kind == FaultKind::out_of_bounds);
  CHECK(world.found()[2].kind == FaultKind::wrong_space);
  CHECK(world.found()[3].detail == "this memory is not mapped");
}

TEST_CASE("a misaligned access is stopped even when it lies inside", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(4096, "x");
  CHECK(world.access(world.warp(0), kLoad, Space::global, same(x + 4), AccessKind::read, 8, 1) == 0);
  CHECK(world.write(0, same(2), 4, 1) == 0);
  REQUIRE(world.found().size() == 2);
  CHECK(world.found()[0].kind == FaultKind::misaligned);
  CHECK(world.found()[1].kind == FaultKind::misaligned);
}

TEST_CASE("read-only regions and parameters must not be written", "[checker]") {
  World world(2);
  world.launch().parameters.resize(16);
  const std::uint64_t x = world.buffer(4096, "x");
  world.arena().set_region(x, 4096, "input 'x'", true);
  CHECK(world.access(world.warp(0), kLoad, Space::global, consecutive(x), AccessKind::read) == kAllLanes);
  CHECK(world.clean());
  CHECK(world.access(world.warp(0), kStore, Space::global, consecutive(x), AccessKind::write) == 0);
  CHECK(world.access(world.warp(0), kLoad, Space::param, same(8), AccessKind::read, 8) == kAllLanes);
  CHECK(world.access(world.warp(0), kCopy, Space::param, same(8), AccessKind::write, 8) == 0);
  REQUIRE(world.found().size() == 2);
  CHECK(world.found()[0].kind == FaultKind::read_only);
  CHECK(world.found()[0].times == 32);
  CHECK(world.found()[1].kind == FaultKind::read_only);
}

TEST_CASE("shared memory faults name the array", "[checker]") {
  World world;
  world.write_all_shared();
  CHECK(world.read(0, same(kSharedBytes), 4, 1) == 0);
  CHECK(world.found().front().buffer == "dynamic shared memory");
  CHECK(world.found().front().byte_offset == 4096);
  world.block().shared_written.assign(kSharedBytes, 0);
  world.access(world.warp(0), kStore, Space::shared, same(1032), AccessKind::read, 4, 1);
  REQUIRE(world.found().size() == 2);
  CHECK(world.found()[1].kind == FaultKind::uninitialized_read);
  CHECK(world.found()[1].buffer == "shared 'tile'");
  CHECK(world.found()[1].byte_offset == 8);
  CHECK(world.found()[1].buffer_bytes == 3072);
}

TEST_CASE("ranges are judged as a whole", "[checker]") {
  World world;
  const std::uint64_t x = world.buffer(1000, "x");
  Checker& checker = world.checker();
  Warp& warp = world.warp(0);
  CHECK(checker.access_range(warp, world.op(0), Space::global, x, 3, 1000, AccessKind::read));
  CHECK(world.clean());
  CHECK_FALSE(checker.access_range(warp, world.op(0), Space::global, x + 8, 3, 1000, AccessKind::read));
  CHECK_FALSE(checker.access_range(warp, world.op(1), Space::shared, 8000, 3, 256, AccessKind::write));
  CHECK(checker.access_range(warp, world.op(2), Space::none, kSharedWindow + 64, 3, 256, AccessKind::write));
  REQUIRE(world.found().size() == 2);
  CHECK(world.found()[0].first.thread[0] == 3);
}

// ---- what has been written

TEST_CASE("reading what nothing has written is a finding by the byte", "[checker]") {
  World world;
  const std::uint64_t y = world.buffer(256, "output 'y'", false);
  const auto store = [&](std::uint64_t address, std::uint32_t bytes) {
    world.access(world.warp(0), kStore, Space::global, same(address), AccessKind::write, bytes, 1);
  };
  const auto load = [&](Index op, std::uint64_t address, std::uint32_t bytes) {
    return world.access(world.warp(0), op, Space::global, same(address), AccessKind::read, bytes, 1);
  };
  store(y, 2);
  CHECK(load(kLoad, y, 2) == 1);
  CHECK(world.clean());
  CHECK(load(kLoad, y, 4) == 1);  // it may continue
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::uninitialized_read);
  store(y + 2, 2);
  CHECK(load(kStore, y, 4) == 1);
  CHECK(world.found().size() == 1);
}

TEST_CASE("shared and local memory begin unwritten, atomics read", "[checker]") {
  World world;
  world.write(0, consecutive(0));
  world.read(0, consecutive(0));
  const auto local = [&](Index op, AccessKind kind, std::uint32_t mask) {
    return world.access(world.warp(1), op, Space::local, same(8), kind, 8, mask);
  };
  CHECK(local(kStore, AccessKind::write, 0xF0) == 0xF0);
  CHECK(local(kLoad, AccessKind::read, 0x30) == 0x30);
  CHECK(world.clean());
  local(kLoad, AccessKind::read, 0x31);
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().buffer == "local memory");
  CHECK(world.found().front().times == 1);
  world.strong(0, kAtomic, 2048);
  world.strong(0, kVolatileStore, 2052);
  CHECK(world.found().size() == 2);
  CHECK(world.found()[1].first.op == kAtomic);
  CHECK(world.access(world.warp(1), kCopy, Space::local, same(60), AccessKind::write, 8, 1) == 0);
}

// ---- races in shared memory

TEST_CASE("a missing barrier between warps is a race that names both sides", "[checker]") {
  World world;
  world.write(1, consecutive(1024));
  world.read(0, consecutive(1024));
  REQUIRE(world.found().size() == 1);
  const Finding& race = world.found().front();
  CHECK(race.kind == FaultKind::shared_race);
  CHECK(race.times == 32);
  REQUIRE(race.other);
  CHECK(race.other->write);
  CHECK(race.other->op == kStore);
  CHECK(race.other->thread == std::array<std::uint32_t, 3>{32, 0, 0});
  CHECK(race.buffer == "shared 'tile'");
  CHECK_THAT(describe(world.program(), race),
             Catch::Contains("that thread (32,0,0) writes at PTX line 2 with no"));
}

TEST_CASE("barriers order what is before and after them", "[checker]") {
  World world;
  world.write_all_shared();
  for (int step = 0; step < 3; ++step) {
    for (std::uint32_t w = 0; w < 8; ++w) world.write(w, consecutive(128 * w));
    world.barrier();
    for (std::uint32_t w = 0; w < 8; ++w) {
      for (std::uint32_t other = 0; other < 8; ++other) world.read(w, consecutive(128 * other));
      world.read(w, [&](std::uint64_t lane) { return (lane * 68 + w * 4) % 1024; });
      world.read(w, same(64));
    }
    world.barrier();
  }
  CHECK(world.clean());
  world.read(5, consecutive(0));
  world.write(0, consecutive(0));
  REQUIRE(world.found().size() == 1);
  CHECK_FALSE(world.found().front().other->write);
  CHECK(world.found().front().other->thread[0] == 160);
}

TEST_CASE("a write after the second last reader is found though the writer read last", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(3, consecutive(0));
  world.read(0, consecutive(0));
  world.write(0, consecutive(0));
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().other->thread[0] == 96);
}

TEST_CASE("a barrier of some warps orders only them", "[checker]") {
  World world;
  world.write(0, consecutive(0));
  world.barrier({0, 1});
  world.read(1, consecutive(0));
  CHECK(world.clean());
  world.read(2, consecutive(0));
  CHECK(world.found().size() == 1);
}

TEST_CASE("lanes of one warp need a warp barrier, a lane by itself does not", "[checker]") {
  World world;
  world.write(0, consecutive(0));
  world.read(0, consecutive(0));
  world.write(0, consecutive(0));
  world.checker().warp_synced(world.warp(0), kAllLanes);
  world.read(0, [](std::uint64_t lane) { return (lane ^ 1) * 4; });
  CHECK(world.clean());
  world.write(0, consecutive(0));
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().other->thread[0] == 1);
}

TEST_CASE("a barrier of some lanes orders them, and what they have seen, but no others", "[checker]") {
  const auto neighbour = [](std::uint64_t lane) { return (lane ^ 1) * 4; };
  World world;
  world.write(0, consecutive(0));
  world.checker().warp_synced(world.warp(0), 0x000000FFu);
  world.read(0, neighbour, 4, 0x000000FFu);
  world.checker().warp_synced(world.warp(0), 0x00000180u);
  world.read(0, same(0), 4, 0x00000100u);  // lane 8 met lane 7, which had met lane 0
  CHECK(world.clean());
  world.read(0, neighbour, 4, 0x00000C00u);
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().first.thread[0] == 10);
  CHECK(world.found().front().other->thread[0] == 11);
}

TEST_CASE("threads of a block race in global memory as they do in shared memory", "[checker]") {
  for (const bool meet : {false, true}) {
    World world;
    const std::uint64_t x = world.buffer(4096, "workspace 'w'");
    world.access(world.warp(0), kStore, Space::global, consecutive(x), AccessKind::write);
    world.access(world.warp(0), kLoad, Space::global, consecutive(x), AccessKind::read);
    if (meet) world.barrier();
    world.access(world.warp(3), kLoad, Space::global, consecutive(x), AccessKind::read);
    CHECK(world.clean() == meet);
    if (meet) continue;
    REQUIRE(world.found().size() == 1);
    CHECK(world.found().front().kind == FaultKind::global_race);
    CHECK(world.found().front().buffer == "workspace 'w'");
    CHECK(world.found().front().first.thread[0] == 96);
    CHECK(world.found().front().other->thread[0] == 0);
  }
}

TEST_CASE("a broadcast read conflicts with a later write of any lane", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, same(64));
  world.write(0, same(64), 4, 1);
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::shared_race);
}

TEST_CASE("lanes that use different bytes of a word do not race", "[checker]") {
  World world;
  world.write_all_shared();
  for (int i = 0; i < 3; ++i) {
    world.read(0, consecutive(0, 2), 2);
    world.write(0, consecutive(0, 2), 2);
    world.read(1, consecutive(64, 2), 2);
    world.write(1, consecutive(64, 2), 2);
  }
  world.write(2, consecutive(513, 4), 1);
  world.write(3, consecutive(514, 4), 1);
  CHECK(world.clean());
  world.write(4, consecutive(514, 4), 1);
  CHECK(world.found().size() == 1);
}

TEST_CASE("all lanes may write and then read one word", "[checker]") {
  World world;
  world.write(0, same(0));
  world.read(0, same(0));
  CHECK(world.clean());
}

TEST_CASE("atomics and volatile accesses do not race with each other but with plain ones", "[checker]") {
  World world;
  world.write_all_shared();
  world.strong(0, kAtomic, 0);
  world.strong(1, kAtomic, 0, kAllLanes);
  world.strong(2, kVolatileLoad, 0);
  world.strong(3, kVolatileStore, 0);
  world.read(4, same(8), 4, 1);
  world.strong(5, kVolatileLoad, 8);
  CHECK(world.clean());
  world.read(4, same(0), 4, 1);
  CHECK(world.found().size() == 1);
}

TEST_CASE("a fence and a flag order a producer and a consumer, a flag alone does not", "[checker]") {
  for (const bool fence : {true, false}) {
    World world;
    world.write_all_shared();
    world.write(0, consecutive(0));
    if (fence) world.checker().fenced(world.warp(0), false);
    world.strong(0, kVolatileStore, 512, kAllLanes);
    world.strong(1, kVolatileLoad, 512);
    if (fence) world.checker().fenced(world.warp(1), false);
    world.read(1, consecutive(0));
    CHECK(world.clean() == fence);
  }
}

TEST_CASE("a lane's flag publishes what that lane has fenced, and what it knew of others then", "[checker]") {
  enum Met { nothing, before_fence, behind_fence, four_lanes };
  const Met met = GENERATE(nothing, before_fence, behind_fence, four_lanes);
  World world;
  world.write_all_shared();
  Warp& warp = world.warp(0);
  world.write(0, consecutive(0));
  if (met == before_fence) world.checker().warp_synced(warp, kAllLanes);
  if (met == four_lanes) world.checker().warp_synced(warp, 0xFu);
  world.checker().fenced(warp, false);
  if (met == behind_fence) world.checker().warp_synced(warp, kAllLanes);
  world.strong(0, kVolatileStore, 512);
  world.strong(1, kVolatileLoad, 512);
  world.read(1, consecutive(0), 4, 0x1u);
  CHECK(world.clean());
  world.read(1, consecutive(0), 4, 0x8u);
  CHECK(world.clean() == (met != nothing));
  world.read(1, consecutive(0), 4, 0x10u);
  CHECK(world.clean() == (met == before_fence || met == behind_fence));
}

TEST_CASE("neither a fence nor an arrival orders the lanes of a warp", "[checker]") {
  World world;
  world.write_all_shared();
  world.write(0, consecutive(0));
  SECTION("a fence") { world.checker().fenced(world.warp(0), false); }
  SECTION("an arrival of one lane") { world.checker().released(world.warp(0), world.block(), 4000, 1u); }
  SECTION("a proxy fence") { world.checker().async().proxy_fenced(world.warp(0), false); }
  world.read(0, consecutive(0));
  CHECK(world.clean());
  world.read(0, consecutive(0), 4, 0x2u);
  CHECK(world.clean());
  world.read(0, [](std::uint64_t lane) { return (31 - lane) * 4; });
  CHECK(world.found().size() == 1);
}

TEST_CASE("an mbarrier orders who arrives before who waits", "[checker]") {
  World world;
  world.write_all_shared();
  Checker& checker = world.checker();
  world.write(0, consecutive(0));
  checker.released(world.warp(0), world.block(), 4000, kAllLanes);
  checker.acquired(world.warp(1), world.block(), 4000);
  world.read(1, consecutive(0));
  CHECK(world.clean());
  world.write(0, consecutive(256));  // after its arrival
  checker.acquired(world.warp(2), world.block(), 4000);
  world.read(2, consecutive(256));
  CHECK(world.found().size() == 1);
}

/// Lanes of a warp arrive at an mbarrier, by one instruction; another warp has waited for it.
void arrive(World& world, std::uint32_t warp, std::uint32_t lanes, std::uint32_t barrier = 4000) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    world.checker().released(world.warp(warp), world.block(), barrier, lanes);
}
void wait(World& world, std::uint32_t warp, std::uint32_t barrier = 4000) {
  world.checker().acquired(world.warp(warp), world.block(), barrier);
}
constexpr std::uint32_t kFirstLane = 1u;

TEST_CASE("an arrival of one lane says nothing of what the others of its warp have read", "[checker]") {
  World world;
  world.write_all_shared();
  const bool broadcast = GENERATE(false, true);
  CAPTURE(broadcast);
  world.read(0, broadcast ? same(0) : consecutive(0));
  arrive(world, 0, kFirstLane);
  wait(world, 1);
  world.write(1, same(0), 4, kFirstLane);
  CHECK(world.clean() != broadcast);  // lane 0 has read that word alone, or each lane has
  world.write(1, consecutive(0));
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::shared_race);
  CHECK(world.found().front().other->op == kLoad);
  CHECK(world.found().front().other->thread[0] == (broadcast ? 31 : 1));
}

TEST_CASE("an arrival of one lane says nothing of what the others have written", "[checker]") {
  World world;
  world.write(0, consecutive(0));
  arrive(world, 0, kFirstLane);
  wait(world, 1);
  world.read(1, same(0), 4, kFirstLane);
  CHECK(world.clean());
  world.read(1, consecutive(0));
  CHECK(world.found().size() == 1);
}

TEST_CASE("an arrival of one lane releases what its warp did before it met", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, consecutive(0));
  SECTION("at a warp barrier") { world.checker().warp_synced(world.warp(0), kAllLanes); }
  SECTION("at a barrier of the block") { world.barrier({0, 2}); }
  SECTION("at a warp barrier of all that have not exited") {
    world.warp(0).live = 0xFFu;
    world.checker().warp_synced(world.warp(0), 0xFFu);
  }
  SECTION("at an mbarrier where all arrived and one waited") {
    arrive(world, 0, kAllLanes, 4008);
    wait(world, 0, 4008);
  }
  arrive(world, 0, kFirstLane);
  wait(world, 1);
  world.write(1, consecutive(0));
  CHECK(world.clean());
}

TEST_CASE("lanes that arrive by themselves release what each of them did", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, consecutive(0));
  world.read(0, same(512));
  SECTION("together") { arrive(world, 0, kAllLanes); }
  SECTION("one after the other") {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) arrive(world, 0, 1u << lane);
  }
  SECTION("in two branches") {
    arrive(world, 0, 0x0000FFFFu);
    arrive(world, 0, 0xFFFF0000u);
  }
  wait(world, 1);
  world.write(1, consecutive(0));
  world.write(1, same(512), 4, kFirstLane);
  CHECK(world.clean());
}

TEST_CASE("some lanes that read one word and arrive release that", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, same(0), 4, 0xFFu);
  world.read(0, consecutive(64, 1), 1, 0xFFu);  // each lane a byte
  arrive(world, 0, 0xFFu);
  wait(world, 1);
  world.write(1, same(0), 4, kFirstLane);
  world.write(1, consecutive(64), 4, 0x3u);
  CHECK(world.clean());
}

TEST_CASE("an arrival of one lane releases what lanes did that it has met", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, consecutive(0));
  world.checker().warp_synced(world.warp(0), 0x000000F0u);
  world.checker().warp_synced(world.warp(0), 0x0000001Fu);  // lane 4 has met 5 to 7
  arrive(world, 0, kFirstLane);
  wait(world, 1);
  world.write(1, consecutive(0), 4, 0xFFu);
  CHECK(world.clean());
  world.write(1, consecutive(0), 4, 0x100u);
  CHECK(world.found().size() == 1);
}

TEST_CASE("what single lanes released is passed on by who waited for it, and by barriers", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(0, consecutive(0));
  arrive(world, 0, 0x3u);
  wait(world, 1);
  SECTION("by all lanes") { arrive(world, 1, kAllLanes, 4008); }
  SECTION("by one lane") { arrive(world, 1, 0x80u, 4008); }
  SECTION("by a barrier") {
    world.barrier({1, 3});
    arrive(world, 3, kFirstLane, 4008);
  }
  wait(world, 2, 4008);
  world.write(2, consecutive(0), 4, 0x3u);
  CHECK(world.clean());
  world.write(2, consecutive(0), 4, 0x4u);
  CHECK(world.found().size() == 1);
}

TEST_CASE("of several warps each lane that arrives releases its own", "[checker]") {
  World world;
  world.write_all_shared();
  for (const std::uint32_t warp : {0u, 2u, 3u}) world.read(warp, consecutive(warp * 128));
  arrive(world, 0, 0x1u);
  arrive(world, 3, 0x2u);
  arrive(world, 2, 0x4u);
  wait(world, 1);
  world.write(1, consecutive(0), 4, 0x1u);
  world.write(1, consecutive(3 * 128), 4, 0x2u);
  world.write(1, consecutive(2 * 128), 4, 0x4u);
  CHECK(world.clean());
  world.write(1, consecutive(3 * 128), 4, 0x1u);
  CHECK(world.found().size() == 1);
}

TEST_CASE("an operand of wgmma is released by any lane, once its warp has waited", "[checker]") {
  World world;
  world.write_all_shared();
  Warp& warp = world.warp(0);
  AsyncChecker& async = world.checker().async();
  const std::vector<Chunk> operand = chunks_of(0, 512);
  world.access(warp, kLoad, Space::shared, consecutive(0, 16), AccessKind::async_read, 16);
  async.begin_read(warp, world.op(kLoad), AsyncReader::kWholeWarp, operand);
  async.commit(warp, AsyncReader::kWholeWarp);
  arrive(world, 0, kFirstLane, 4008);  // of something else
  async.wait(warp, AsyncReader::kWholeWarp, 0);
  SECTION("nothing else reads it") {}
  SECTION("a lane reads it too, and its value decides what follows") { world.read(0, same(0), 4, 0x20u); }
  arrive(world, 0, 0x20u);
  wait(world, 1);
  world.write(1, consecutive(0, 16), 16);
  CHECK(world.clean());
}

TEST_CASE("the source of a bulk store is released by the thread that waited, not by another", "[checker]") {
  World world;
  world.write_all_shared();
  Warp& warp = world.warp(0);
  AsyncChecker& async = world.checker().async();
  const std::vector<Chunk> source = chunks_of(0, 512);
  CHECK(
      world.checker().access_range(warp, world.op(kLoad), Space::shared, 0, 3, 512, AccessKind::async_read));
  async.begin_read(warp, world.op(kLoad), 3, source);
  async.commit(warp, 3);
  arrive(world, 0, kFirstLane, 4008);
  async.wait(warp, 3, 0);
  const bool same_thread = GENERATE(true, false);
  arrive(world, 0, same_thread ? 0x8u : 0x10u);
  wait(world, 1);
  world.write(1, consecutive(0, 16), 16);
  CHECK(world.clean() == same_thread);
}

TEST_CASE("who hears from another block knows at most what its own has released to others", "[checker]") {
  const std::uint32_t released = GENERATE(0u, kFirstLane, kAllLanes);
  World world(2);
  world.write_all_shared();
  world.read(0, consecutive(0));
  if (released != 0) world.checker().released(world.warp(0), world.block(1), 4000, released);
  world.checker().released(world.warp(0, 1), world.block(0), 4000, kFirstLane);
  wait(world, 1);
  world.write(1, consecutive(0));
  CHECK(world.clean() == (released == kAllLanes));
}

TEST_CASE("an mbarrier that one lane initialised and published may be used", "[checker]") {
  World world;
  world.checker().async().mbarrier_initialised(world.warp(0), world.op(kStore), 0, {&world.block(), 4008});
  arrive(world, 0, kFirstLane);
  wait(world, 1);
  world.checker().async().mbarrier_used(world.warp(1), world.op(kLoad), 0, {&world.block(), 4008}, false);
  CHECK(world.clean());
}

TEST_CASE("a block's shared memory is free of the block before it", "[checker]") {
  World world;
  for (int block = 0; block < 3; ++block) {
    world.write(0, consecutive(0));
    world.access(world.warp(1), kCopy, Space::shared, consecutive(512, 16), AccessKind::async_write, 16);
    world.barrier();
    world.write(2, consecutive(1024));
    world.start(0);
    world.write(3, consecutive(0));
    world.write(4, consecutive(512));
    world.write(5, consecutive(1024));
    world.start(0);
  }
  CHECK(world.clean());
}

// ---- asynchronous copies

TEST_CASE("the destination of a copy is pending until its thread has waited", "[checker]") {
  World world;
  Checker& checker = world.checker();
  const auto issue = [&](std::uint64_t at) {
    world.access(world.warp(0), kCopy, Space::shared, consecutive(at, 16), AccessKind::async_write, 16);
  };
  const auto wait = [&](std::uint32_t at) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      checker.async_completed(world.warp(0), at + lane * 16, 16, static_cast<int>(lane));
  };
  issue(0);
  wait(0);
  world.read(0, consecutive(0, 16), 16);  // each lane its own copy
  world.barrier();
  world.read(1, consecutive(0));
  CHECK(world.clean());
  issue(1024);
  world.barrier();
  world.read(0, consecutive(1024, 16), 16);
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::async_pending);
  CHECK(world.found().front().other->op == kCopy);
  wait(1024);
  world.access(world.warp(1), kVolatileLoad, Space::shared, consecutive(1024), AccessKind::read);
  REQUIRE(world.found().size() == 2);
  CHECK(world.found()[1].kind == FaultKind::shared_race);
}

TEST_CASE("a copy into a buffer that another warp still reads is a race", "[checker]") {
  World world;
  world.write_all_shared();
  world.read(1, consecutive(0));
  world.access(world.warp(0), kCopy, Space::shared, consecutive(0, 16), AccessKind::async_write, 16);
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::shared_race);
}

TEST_CASE("what the copy engine has written is seen by who acquires, and by whom they meet", "[checker]") {
  World world;
  Checker& checker = world.checker();
  const auto load = [&] {
    CHECK(checker.access_range(world.warp(0), world.op(kCopy), Space::shared, 0, 0, 1024,
                               AccessKind::async_write));
    checker.async_completed(world.warp(0), 0, 1024, -1);
    checker.released(world.warp(0), world.block(), 4000, kAllLanes);
  };
  load();
  checker.acquired(world.warp(1), world.block(), 4000);
  world.read(1, consecutive(0, 16), 16);
  world.barrier({1, 2});
  world.read(2, consecutive(0));
  CHECK(world.clean());
  world.read(3, consecutive(0));
  REQUIRE(world.found().size() == 1);
  CHECK(world.found().front().kind == FaultKind::async_pending);
}

// ---- conflicts between blocks

std::uint32_t touch(World& world, std::uint32_t block, Index op, std::uint64_t address, AccessKind kind,
                    std::uint32_t bytes = 4, std::uint32_t mask = kAllLanes) {
  return world.access(world.warp(0, block), op, Space::global, consecutive(address, bytes), kind, bytes,
                      mask);
}

TEST_CASE("blocks that share no written bytes do not conflict", "[checker]") {
  World world(4);
  const std::uint64_t x = world.buffer(1 << 20, "x"), y = world.buffer(1 << 20, "y");
  for (std::uint32_t block = 0; block < 4; ++block) {
    for (std::uint64_t at = 0; at < 1 << 18; at += 128) {
      touch(world, block, kLoad, x + at, AccessKind::read);
      touch(world, block, kStore, y + block * (1 << 18) + at, AccessKind::write);
      touch(world, block, kLoad, y + block * (1 << 18) + at, AccessKind::read);
    }
    world.checker().warp_synced(world.warp(0, block), kAllLanes);
    touch(world, block, kStore, y + (1 << 19) * (block / 2) + 64 * (block % 2), AccessKind::read, 2);
  }
  CHECK(world.found().size() == 1);  // the last line: blocks 1 and 3 read what 0 and 2 wrote
}

TEST_CASE("two blocks that write one place conflict, and so do a reader and a writer", "[checker]") {
  for (const auto& [first, second] : {std::pair{AccessKind::write, AccessKind::write},
                                      {AccessKind::write, AccessKind::read},
                                      {AccessKind::read, AccessKind::write}}) {
    for (const std::uint32_t mask : {kAllLanes, 0xFF00u}) {
      World world(3);
      const std::uint64_t y = world.buffer(4096, "output 'y'");
      touch(world, 2, kLoad, y, first, 4, mask);
      touch(world, 0, kStore, y, second, 4, mask);
      REQUIRE(world.found().size() == 1);
      const Finding& conflict = world.found().front();
      CHECK(conflict.kind == FaultKind::global_conflict);
      CHECK(conflict.buffer == "output 'y'");
      REQUIRE(conflict.other);
      CHECK(conflict.other->block[0] == 2);
      CHECK_FALSE(conflict.other->thread_known);
      CHECK(conflict.other->write == (first == AccessKind::write));
    }
  }
}

TEST_CASE("reads by many blocks are no conflict until one of them writes", "[checker]") {
  World world(3);
  const std::uint64_t y = world.buffer(4096, "y");
  for (std::uint32_t block = 0; block < 3; ++block) touch(world, block, kLoad, y, AccessKind::read);
  CHECK(world.clean());
  touch(world, 0, kStore, y, AccessKind::write);
  CHECK(world.found().size() == 1);
}

TEST_CASE("blocks may write neighbouring halves of a word", "[checker]") {
  World world(2);
  const std::uint64_t y = world.buffer(4096, "y");
  touch(world, 0, kStore, y, AccessKind::write, 2, 1);
  touch(world, 1, kStore, y + 2, AccessKind::write, 2, 1);
  CHECK(world.clean());
}

TEST_CASE("blocks may update neighbouring halves of a word that each has read", "[checker]") {
  World world(3);
  const std::uint64_t y = world.buffer(4096, "y");
  touch(world, 0, kLoad, y, AccessKind::read, 2, 1);
  touch(world, 1, kLoad, y + 2, AccessKind::read, 2, 1);
  touch(world, 1, kStore, y + 2, AccessKind::write, 2, 1);
  touch(world, 0, kStore, y, AccessKind::write, 2, 1);
  CHECK(world.clean());
}

TEST_CASE("a half of a word that two blocks have read is not for either to write", "[checker]") {
  for (const std::uint32_t writer : {0u, 1u}) {
    World world(2);
    const std::uint64_t y = world.buffer(4096, "y");
    touch(world, 0, kLoad, y + 2, AccessKind::read, 2, 1);
    touch(world, 1, kLoad, y, AccessKind::read, 4, 1);
    touch(world, writer, kStore, y + 2, AccessKind::write, 2, 1);
    REQUIRE(world.found().size() == 1);
    CHECK(world.found().front().byte_offset == 2);
  }
}

TEST_CASE("atomics of different blocks do not conflict, with plain accesses they do", "[checker]") {
  World world(3);
  const std::uint64_t y = world.buffer(4096, "y");
  touch(world, 0, kAtomic, y, AccessKind::atomic);
  touch(world, 1, kAtomic, y, AccessKind::atomic);
  CHECK(world.clean());
  touch(world, 2, kLoad, y, AccessKind::read);
  CHECK(world.found().size() == 1);
}

TEST_CASE("the last block may read what others published with a fence and a counter", "[checker]") {
  const bool fence = GENERATE(true, false), meet = GENERATE(true, false), ends = GENERATE(true, false);
  World world(3);
  const std::uint64_t y = world.buffer(4096, "partial"), counter = world.buffer(4, "counter");
  for (std::uint32_t block = 0; block < 3; ++block) {
    touch(world, block, kStore, y + 128 * block, AccessKind::write);
    if (meet) world.checker().warp_synced(world.warp(0, block), kAllLanes);
    if (fence) world.checker().fenced(world.warp(0, block), true);
    touch(world, block, kAtomic, counter, AccessKind::atomic, 4, 1);
    if (ends && block < 2) world.checker().block_finished(world.block(block));
  }
  for (std::uint32_t block = 0; block < 3; ++block)
    touch(world, 2, kLoad, y + 128 * block, AccessKind::read, 4, fence ? 1 : kAllLanes);
  CHECK(world.clean() == fence);
  touch(world, 2, kLoad, y, AccessKind::read);
  CHECK(world.clean() == (fence && meet));
}

TEST_CASE("a release after the acquisition orders nothing", "[checker]") {
  World world(2);
  const std::uint64_t y = world.buffer(4096, "y");
  touch(world, 0, kStore, y, AccessKind::write);
  world.checker().fenced(world.warp(0, 1), true);
  world.checker().fenced(world.warp(0, 0), true);
  touch(world, 1, kLoad, y, AccessKind::read);
  CHECK(world.found().size() == 1);
}

// ---- clusters

TEST_CASE("blocks of a cluster reach each other's shared memory, within its bounds", "[checker]") {
  World world(2);
  const std::vector<Block*> cluster{&world.block(0), &world.block(1)};
  world.block(0).cluster = world.block(1).cluster = cluster;
  world.block(1).cluster_rank = 1;
  world.checker().cluster_joined(cluster);
  const std::uint64_t second = 2ull << kClusterRankShift;
  const auto at = [&](Index op, std::uint64_t address, AccessKind kind) {
    return world.access(world.warp(0), op, Space::shared_cluster, consecutive(address), kind);
  };
  CHECK(at(kStore, second + 256, AccessKind::write) == kAllLanes);
  CHECK(at(kStore, 256, AccessKind::write) == kAllLanes);
  world.checker().cluster_joined(cluster);
  CHECK(world.access(world.warp(3, 1), kLoad, Space::shared, consecutive(256), AccessKind::read) ==
        kAllLanes);
  CHECK(world.clean());
  CHECK(at(kLoad, second + kSharedBytes, AccessKind::read) == 0);
  CHECK(at(kStore, (3ull << kClusterRankShift), AccessKind::write) == 0);
  CHECK(world.found().size() == 2);
}

TEST_CASE("a block's shared memory is not there before its cluster has met, nor when it has ended",
          "[checker]") {
  for (const bool ended : {false, true}) {
    World world(2);
    const std::vector<Block*> cluster{&world.block(0), &world.block(1)};
    world.block(0).cluster = world.block(1).cluster = cluster;
    world.block(1).cluster_rank = 1;
    if (ended) {
      world.checker().cluster_joined(cluster);
      world.block(1).live_threads = 0;
    }
    static_cast<void>(world.access(world.warp(0), kStore, Space::shared_cluster,
                                   consecutive(2ull << kClusterRankShift), AccessKind::write));
    REQUIRE(world.found().size() == 1);
    CHECK(world.found().front().kind == FaultKind::cluster_lifetime);
  }
}

// ---- against a simple model

/// Exact happens-before over 4-byte words for barriers of any warps: every access is kept.
class Model {
 public:
  [[nodiscard]] bool races(std::uint32_t warp, int lane, std::uint64_t word, bool write) const {
    const auto found = events_.find(word);
    if (found == events_.end()) return false;
    bool races = false;
    for (const Event& event : found->second) {
      const bool same_thread = event.warp == warp && event.lane == lane;
      const std::uint64_t seen = event.warp == warp ? clock_[warp] - 1 : seen_[warp][event.warp];
      races |= (write || event.write) && !same_thread && event.clock > seen;
    }
    return races;
  }
  void record(std::uint32_t warp, int lane, std::uint64_t word, bool write) {
    events_[word].push_back({warp, lane, clock_[warp], write});
  }
  void barrier(const std::vector<std::uint32_t>& warps) {
    std::array<std::uint64_t, 8> joined{};
    for (const std::uint32_t w : warps) {
      for (std::size_t i = 0; i < 8; ++i) joined[i] = std::max(joined[i], seen_[w][i]);
      joined[w] = std::max(joined[w], clock_[w]);
    }
    for (const std::uint32_t w : warps) seen_[w] = joined, ++clock_[w];
  }

 private:
  struct Event {
    std::uint32_t warp;
    int lane;
    std::uint64_t clock;
    bool write;
  };
  std::map<std::uint64_t, std::vector<Event>> events_;
  std::array<std::array<std::uint64_t, 8>, 8> seen_{};
  std::array<std::uint64_t, 8> clock_{1, 1, 1, 1, 1, 1, 1, 1};
};

/// Returns findings' count of random accesses; `alarms` where the checker saw one the model does not know.
struct Tally {
  int races = 0, found = 0, alarms = 0;
};

Tally compare(unsigned seed) {
  std::mt19937 random(seed);
  World world;
  world.write_all_shared();
  Model model;
  Tally tally;
  std::uint64_t before = 0;
  for (int step = 0; step < 400; ++step) {
    if (random() % 3 == 0) {
      std::vector<std::uint32_t> warps;
      const bool all = random() % 2 == 0;
      for (std::uint32_t w = 0; w < 8; ++w) {
        if (all || random() % 2 == 0) warps.push_back(w);
      }
      world.barrier(warps);
      model.barrier(warps);
      continue;
    }
    const auto warp = static_cast<std::uint32_t>(random() % 8);
    const auto mask = random() % 2 == 0 ? kAllLanes : static_cast<std::uint32_t>(random()) | 1u;
    const bool write = random() % 3 == 0;
    const std::uint64_t first = random() % 64, stride = random() % 3, salt = random();
    const auto word = [&](std::uint64_t lane) {
      return stride == 2 ? (lane * salt) % 128 : first + lane * stride;
    };
    bool races = false;
    // An instruction's own lanes do not race with each other: judge first, then record.
    const auto for_lanes = [&](auto body) {
      for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
        if ((mask >> lane & 1u) != 0) body(static_cast<int>(lane), word(lane));
      }
    };
    for_lanes([&](int lane, std::uint64_t at) { races |= model.races(warp, lane, at, write); });
    for_lanes([&](int lane, std::uint64_t at) { model.record(warp, lane, at, write); });
    const auto offset = [&](std::uint64_t lane) { return word(lane) * 4; };
    static_cast<void>(write ? world.write(warp, offset, 4, mask) : world.read(warp, offset, 4, mask));
    std::uint64_t after = 0;
    for (const Finding& finding : world.found()) after += finding.times;
    tally.races += races;
    tally.found += after != before;
    tally.alarms += after != before && !races;
    before = after;
  }
  return tally;
}

TEST_CASE("random accesses raise no false alarm and most races are found", "[checker]") {
  Tally all;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Tally tally = compare(seed);
    CHECK(tally.alarms == 0);
    all.races += tally.races;
    all.found += tally.found;
  }
  CHECK(all.races > 100);
  CHECK(all.found > all.races * 8 / 10);
}

TEST_CASE("enough distinct faults stop the launch", "[checker]") {
  World world;
  for (Index op = 0; op < 8; ++op)
    static_cast<void>(
        world.access(world.warp(0), op, Space::shared, same(kSharedBytes), AccessKind::read, 4, 1));
  CHECK(world.launch().stop);
}

}  // namespace
}  // namespace ak::emulator
