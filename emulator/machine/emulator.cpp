// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/emulator.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "emulator/check/checker.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/barriers.h"
#include "emulator/machine/call_chain.h"
#include "emulator/machine/interpreter.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/special_registers.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

// Long enough that switching costs nothing, short enough that a spinning warp wastes little (chosen).
constexpr std::uint64_t kQuantum = 4096;
// What fresh shared and local memory holds: a NaN of fp16, a large negative number in fp32.
constexpr int kPoison = 0xFE;
constexpr std::size_t kSharedAlignment = 1024;
constexpr std::size_t kStorageAlignment = 64;

std::byte* aligned(std::vector<std::byte>& storage, std::size_t bytes, std::size_t alignment) {
  storage.resize(bytes + alignment);
  const auto at = reinterpret_cast<std::uintptr_t>(storage.data());
  return storage.data() + ((at + alignment - 1) / alignment * alignment - at);
}

std::uint64_t product(const std::array<std::uint32_t, 3>& extent) {
  return std::uint64_t{extent[0]} * extent[1] * extent[2];
}

bool is_possible(const Program& program, const LaunchRequest& request) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (request.grid[i] == 0 || request.cluster[i] == 0 || request.grid[i] % request.cluster[i] != 0)
      return false;
  }
  const std::uint64_t threads = product(request.block), blocks = product(request.cluster);
  return threads >= 1 && threads <= 1024 && blocks <= 16 &&
         resident_bytes(program, request) <= kMaxResidentBytes;
}

/// Memory through which the blocks of a cooperative grid meet, if the program uses it: two words, its size
/// and a barrier (cooperative_groups/details/driver_abi.h of the toolkit). Address 0, which a kernel takes
/// for a launch that is not cooperative, when there is none or the arena is full.
class GridWorkspace {
 public:
  GridWorkspace(Arena& arena, bool wanted) : arena_(arena) {
    constexpr std::array<std::uint32_t, 2> kWords{8, 0};
    const auto address = wanted ? arena.allocate(sizeof kWords, "grid barrier") : std::nullopt;
    if (!address) return;
    address_ = *address;
    std::memcpy(arena.host(address_, sizeof kWords), kWords.data(), sizeof kWords);
    arena.mark_initialized(address_, sizeof kWords, true);
  }
  ~GridWorkspace() {
    if (address_ != 0) arena_.release(address_);
  }
  GridWorkspace(const GridWorkspace&) = delete;
  GridWorkspace& operator=(const GridWorkspace&) = delete;
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  Arena& arena_;
  std::uint64_t address_ = 0;
};

/// The op that lanes wait at; a barrier's has been executed.
Index stands_at(const Fragment& fragment) {
  return fragment.state == FragmentState::at_barrier ? fragment.pc - 1 : fragment.pc;
}

/// Blocks that run at the same time and may reach each other's shared memory; one block without clusters.
struct Cluster {
  std::vector<Block> blocks;
  [[nodiscard]] bool done() const {
    return std::all_of(blocks.begin(), blocks.end(),
                       [](const Block& b) { return b.live_threads == 0 && b.async_work.empty(); });
  }
};

class GridRun {
 public:
  GridRun(const Program& program, Arena& arena, const LaunchRequest& request, LaunchReport& report);
  void run();
  [[nodiscard]] std::shared_ptr<const LaunchFootprint> footprint() const {
    return checker_ == nullptr ? nullptr : checker_->footprint();
  }

 private:
  void admit();
  void start_block(Block& block, std::uint64_t linear);
  void start_warp(Warp& warp, Block& block, std::uint32_t index);
  bool run_round();
  std::uint64_t run_block(Block& block);
  void finish_done();
  bool release_stuck();
  void report_deadlock();
  bool report_waits(const Block& block, const std::string& detail);
  void report_budget();
  [[nodiscard]] std::uint64_t quantum();

  Launch launch_;
  const std::uint64_t cluster_bytes_;
  GridWorkspace workspace_;
  SpecialRows special_rows_;
  std::unique_ptr<Checker> checker_;
  std::vector<std::byte> constants_storage_;
  const std::byte* constants_ = nullptr;
  std::vector<std::unique_ptr<Cluster>> resident_, spare_;
  std::uint64_t clusters_ = 0, admitted_ = 0, finished_ = 0;
  std::vector<std::uint64_t> order_;  ///< of clusters; empty: 0, 1, 2 ...
  std::mt19937_64 random_;
};

GridRun::GridRun(const Program& program, Arena& arena, const LaunchRequest& request, LaunchReport& report)
    : launch_{.program = program,
              .arena = arena,
              .options = request.options,
              .grid = request.grid,
              .block = request.block,
              .cluster = request.cluster,
              .dynamic_shared_bytes = request.dynamic_shared_bytes,
              .cooperative = request.cooperative,
              .parameters = request.parameters,
              .findings = report.findings,
              .counters = report.counters,
              .checker = nullptr,
              .print = request.print,
              .stop = false,
              .launch_base = request.launch_base,
              .clock = 0,
              .device = request.device,
              .workspace = 0,
              .before = request.before.get(),
              .touched = request.touched},
      cluster_bytes_(std::max<std::uint64_t>(1, resident_bytes(program, request))),
      workspace_(arena, request.cooperative && reads_grid_workspace(program)),
      special_rows_(program),
      random_(request.options.seed) {
  launch_.parameters.resize(program.parameter_bytes);
  launch_.workspace = workspace_.address();
  report.counters.ops.resize(program.code.size());
  report.counters.rounds.resize(program.waiting_loops.size());
  report.counters.memory_traffic = request.options.count_memory;
  if (request.options.count_memory) {
    report.counters.memory.resize(program.code.size());
    report.counters.divergent.resize(program.code.size());
  }
  std::byte* constants = aligned(constants_storage_, program.constants.size(), kStorageAlignment);
  std::copy(program.constants.begin(), program.constants.end(), constants);
  constants_ = constants;
  if (request.options.check) {
    checker_ = std::make_unique<Checker>(launch_);
    launch_.checker = checker_.get();
  }
  clusters_ = product(request.grid) / product(request.cluster);
  if (request.options.seed != 0 && clusters_ <= (1u << 20)) {
    order_.resize(clusters_);
    for (std::uint64_t i = 0; i < clusters_; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random_);
  }
}

std::uint64_t GridRun::quantum() {
  std::uint64_t most = kQuantum;
  if (launch_.options.seed != 0) most = std::uniform_int_distribution<std::uint64_t>(1, 512)(random_);
  if (const std::uint64_t budget = launch_.options.instruction_budget; budget != 0)
    most = std::min(most, budget - std::min(budget, launch_.clock));
  return most;
}

// Clusters are admitted one by one; another joins when a whole round ends no block, so that blocks that wait
// for later ones get them.
void GridRun::run() {
  const std::uint64_t most = kMaxResidentBytes / cluster_bytes_;
  while (!launch_.stop && finished_ < clusters_) {
    while (admitted_ < clusters_ && (resident_.empty() || (launch_.cooperative && resident_.size() < most)))
      admit();
    const std::uint64_t before = finished_;
    const bool progress = run_round();
    if (launch_.stop) break;
    const std::uint64_t budget = launch_.options.instruction_budget;
    if (budget != 0 && launch_.clock >= budget && finished_ < clusters_) {
      report_budget();
      break;
    }
    if (finished_ != before || (!progress && release_stuck())) continue;
    if (admitted_ < clusters_ && resident_.size() < most) {
      admit();
    } else if (!progress) {
      report_deadlock();
      break;
    }
  }
}

void GridRun::admit() {
  const std::uint64_t which = order_.empty() ? admitted_ : order_[admitted_];
  ++admitted_;
  std::unique_ptr<Cluster> cluster;
  if (spare_.empty()) {
    cluster = std::make_unique<Cluster>();
    cluster->blocks.resize(product(launch_.cluster));
  } else {
    cluster = std::move(spare_.back());
    spare_.pop_back();
  }
  const auto& extent = launch_.cluster;
  const std::uint64_t across_x = launch_.grid[0] / extent[0], across_y = launch_.grid[1] / extent[1];
  const std::array<std::uint64_t, 3> corner{which % across_x * extent[0],
                                            which / across_x % across_y * extent[1],
                                            which / across_x / across_y * extent[2]};
  for (std::uint32_t rank = 0; rank < cluster->blocks.size(); ++rank) {
    Block& block = cluster->blocks[rank];
    block.id = {static_cast<std::uint32_t>(corner[0] + rank % extent[0]),
                static_cast<std::uint32_t>(corner[1] + rank / extent[0] % extent[1]),
                static_cast<std::uint32_t>(corner[2] + rank / extent[0] / extent[1])};
    block.cluster_rank = rank;
    block.cluster.clear();
    for (Block& member : cluster->blocks) block.cluster.push_back(&member);
    start_block(block, block.id[0] + std::uint64_t{launch_.grid[0]} *
                                         (block.id[1] + std::uint64_t{launch_.grid[1]} * block.id[2]));
  }
  resident_.push_back(std::move(cluster));
}

void GridRun::start_block(Block& block, std::uint64_t linear) {
  const Program& program = launch_.program;
  block.linear = linear;
  block.threads = block.live_threads = static_cast<std::uint32_t>(product(launch_.block));
  block.shared_bytes = launch_.dynamic_shared_bytes == 0
                           ? program.static_shared_bytes
                           : program.dynamic_shared_offset + launch_.dynamic_shared_bytes;
  // A swizzled box that ends inside a 128-byte line may use all of the line.
  block.shared = aligned(block.shared_storage, block.shared_bytes + 128, kSharedAlignment);
  std::memset(block.shared, kPoison, block.shared_bytes);
  std::memset(block.shared, 0, program.reserved_shared_bytes);
  if (launch_.checker != nullptr) {
    block.shared_written.assign(block.shared_bytes, 0);
    std::fill_n(block.shared_written.begin(), program.reserved_shared_bytes, std::uint8_t{1});
  }
  block.waited = launch_.before == nullptr;
  block.barriers.fill({});
  block.async_work.clear();
  block.warps.resize((block.threads + kLanes - 1) / kLanes);
  for (std::uint32_t i = 0; i < block.warps.size(); ++i) start_warp(block.warps[i], block, i);
  if (launch_.checker != nullptr) launch_.checker->block_started(block);
}

void GridRun::start_warp(Warp& warp, Block& block, std::uint32_t index) {
  const Program& program = launch_.program;
  const std::size_t predicate_bytes = (program.predicate_count * sizeof(std::uint32_t) + 63) / 64 * 64;
  const std::size_t local_bytes = std::size_t{kLanes} * program.local_bytes;
  const bool written = launch_.checker != nullptr;
  const std::size_t all =
      program.register_bytes + predicate_bytes + local_bytes + (written ? local_bytes : 0);
  std::byte* memory = aligned(warp.storage, all, kStorageAlignment);
  std::memset(memory, 0, program.register_bytes + predicate_bytes);
  warp.registers = memory;
  warp.predicates = reinterpret_cast<std::uint32_t*>(memory + program.register_bytes);
  warp.local = memory + program.register_bytes + predicate_bytes;
  std::memset(warp.local, kPoison, local_bytes);
  warp.local_written = written ? reinterpret_cast<std::uint8_t*>(warp.local + local_bytes) : nullptr;
  if (written) std::memset(warp.local_written, 0, local_bytes);
  warp.constants = constants_;
  warp.code = program.code.data();
  warp.block = &block;
  warp.launch = &launch_;
  warp.index = index;
  const std::uint32_t threads = std::min<std::uint32_t>(kLanes, block.threads - index * kLanes);
  warp.live = threads == kLanes ? kAllLanes : (1u << threads) - 1;
  warp.groups.clear();
  warp.fragments.clear();
  warp.fragments.push_back({.pc = 0,
                            .lanes = warp.live,
                            .group = kNone,
                            .state = FragmentState::ready,
                            .wanted = 0,
                            .barrier = 0,
                            .returns = {}});
  warp.fragment = 0;
  warp.copy_groups.clear();
  warp.wgmma = nullptr;
  warp.cluster_arrived = 0;
  warp.spent = 0;
  warp.apart = false;
  warp.waits_at = kNone;
  warp.undefined.reset();
  special_rows_.fill(warp);
}

bool GridRun::run_round() {
  std::uint64_t issued = 0;
  if (launch_.options.seed != 0) std::shuffle(resident_.begin(), resident_.end(), random_);
  for (const auto& cluster : resident_) {
    for (Block& block : cluster->blocks) {
      issued += run_block(block);
      if (launch_.stop) return true;
    }
  }
  finish_done();
  return issued > 0;
}

// Until no warp of the block can continue by itself, or each had some turns.
std::uint64_t GridRun::run_block(Block& block) {
  constexpr int kTurns = 16;
  std::uint64_t issued = 0;
  for (int turn = 0; turn < kTurns && block.live_threads > 0; ++turn) {
    const std::uint64_t before = issued;
    const std::size_t count = block.warps.size();
    const std::size_t first = launch_.options.seed != 0 ? random_() % count : 0;
    bool yielded = false;
    for (std::size_t i = 0; i < count; ++i) {
      Warp& warp = block.warps[(first + i) % count];
      if (finished(warp)) continue;
      const std::uint32_t live = block.live_threads;
      issued += run_warp(warp, quantum());
      yielded |= warp.yield;
      if (launch_.stop) return issued;
      if (block.live_threads != live) recheck_barriers(block);
    }
    while (perform_oldest_work(block, launch_)) ++issued;
    if (issued == before || yielded) break;
    if (launch_.options.instruction_budget != 0 && launch_.clock >= launch_.options.instruction_budget) break;
  }
  return issued;
}

void GridRun::finish_done() {
  for (auto& cluster : resident_) {
    if (!cluster->done()) continue;
    if (launch_.checker != nullptr) {
      for (Block& block : cluster->blocks) launch_.checker->block_finished(block);
    }
    ++finished_;
    spare_.push_back(std::move(cluster));
  }
  std::erase_if(resident_, [](const auto& cluster) { return cluster == nullptr; });
}

/// Lets lanes go on that wait for others of their warp to meet them, where no one can do anything else.
bool GridRun::release_stuck() {
  bool released = false;
  for (const auto& cluster : resident_) {
    for (Block& block : cluster->blocks) {
      for (Warp& warp : block.warps) released |= release_all_waiting(warp);
    }
  }
  return released;
}

/// What every warp of a block waits for, if one waits at an mbarrier whose phase does not complete.
bool GridRun::report_waits(const Block& block, const std::string& detail) {
  const auto each_waiting = [&](bool at_mbarrier, const auto& report) {
    for (const Warp& warp : block.warps) {
      for (const Fragment& fragment : warp.fragments) {
        if (warp.live == 0 || fragment.lanes == 0 || fragment.state == FragmentState::done) continue;
        if (at_mbarrier != (fragment.state == FragmentState::ready) ||
            (at_mbarrier && warp.waits_at == kNone))
          continue;
        report(warp, at_mbarrier ? warp.waits_at : stands_at(fragment), std::countr_zero(fragment.lanes));
      }
    }
  };
  bool found = false;
  each_waiting(true, [&](const Warp& warp, Index at, int lane) {
    launch_.fault(warp, warp.code[at], FaultKind::instruction_budget, lane,
                  detail + ", it waits at an mbarrier whose phase does not complete: " +
                      describe_mbarrier_wait(warp, warp.code[at], lane));
    found = true;
  });
  if (!found) return false;
  each_waiting(false, [&](const Warp& warp, Index at, int lane) {
    launch_.fault(warp, warp.code[at], FaultKind::instruction_budget, lane,
                  detail + ": " + describe_waiting(block));
  });
  return true;
}

/// Waits of the first block that has any; else who ran last in a warp that is not done, which never ends, or else stands.
void GridRun::report_budget() {
  const std::string detail = "the launch is not done after " +
                             std::to_string(launch_.options.instruction_budget) + " warp instructions";
  for (const auto& cluster : resident_)
    for (const Block& block : cluster->blocks)
      if (report_waits(block, detail)) return;
  const auto report = [&](bool (*fits)(const Fragment&)) {
    for (const auto& cluster : resident_) {
      for (const Block& block : cluster->blocks) {
        for (const Warp& warp : block.warps) {
          const auto found = std::find_if(warp.fragments.begin(), warp.fragments.end(), fits);
          if (warp.live == 0 || found == warp.fragments.end()) continue;
          launch_.fault(warp, warp.code[stands_at(*found)], FaultKind::instruction_budget,
                        std::countr_zero(found->lanes), detail);
          return true;
        }
      }
    }
    return false;
  };
  const auto runs = [](const Fragment& fragment) { return fragment.state == FragmentState::ready; };
  const auto waits = [](const Fragment& fragment) { return fragment.state != FragmentState::done; };
  if (!report(runs)) report(waits);
}

void GridRun::report_deadlock() {
  for (const auto& cluster : resident_) {
    for (const Block& block : cluster->blocks) {
      for (const Warp& warp : block.warps) {
        for (const Fragment& fragment : warp.fragments) {
          if (fragment.state == FragmentState::done || fragment.lanes == 0) continue;
          launch_.fault(warp, warp.code[stands_at(fragment)], FaultKind::deadlock,
                        std::countr_zero(fragment.lanes), describe_waiting(block));
        }
      }
    }
  }
  launch_.stop = true;
}

}  // namespace

std::array<std::uint32_t, 3> thread_of(const Warp& warp, int lane) {
  const auto& extent = warp.launch->block;
  const std::uint32_t linear = warp.index * kLanes + static_cast<std::uint32_t>(lane);
  return {linear % extent[0], linear / extent[0] % extent[1], linear / extent[0] / extent[1]};
}

void Launch::fault(const Warp& warp, const Op& op, FaultKind kind, int lane, const std::string& detail) {
  Finding finding{.kind = kind, .first = {}, .other = {}, .buffer = {}, .detail = detail};
  finding.first = {.block = warp.block->id, .thread = thread_of(warp, lane), .op = program.index_of(op)};
  finding.calls = calls_of(warp, lane);
  findings.add(std::move(finding));
  if (findings.full()) stop = true;
}

std::uint64_t resident_bytes(const Program& program, const LaunchRequest& request) {
  const std::uint64_t warps = (product(request.block) + kLanes - 1) / kLanes;
  const std::uint64_t block =
      warps * (program.register_bytes + 2ull * kLanes * program.local_bytes) +
      2ull * (std::uint64_t{program.dynamic_shared_offset} + request.dynamic_shared_bytes);
  return block * product(request.cluster);
}

LaunchReport run_grid(const Program& program, Arena& arena, const LaunchRequest& request) {
  AK_ASSERT(is_possible(program, request), "who launches has checked the shape of the grid");
  LaunchReport report{.findings = Findings(program), .counters = {}, .footprint = nullptr};
  GridRun run(program, arena, request, report);
  run.run();
  report.footprint = run.footprint();
  return report;
}

}  // namespace ak::emulator
