// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/register_allocation.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "emulator/lower/lowering.h"

namespace ak::emulator {
namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& bits, Index i) { return (bits[i / 64] >> (i % 64) & 1u) != 0; }
void set(Bits& bits, Index i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }
void clear(Bits& bits, Index i) { bits[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }

template <class F>
void for_each_register(const Operand& operand, const F& f) {
  if (operand.kind == OperandKind::reg) f(operand.index);
  for (const Operand& element : operand.elements) for_each_register(element, f);
}

/// Registers written and read by one instruction.
struct Accesses {
  std::vector<Index> writes, reads;
  bool early_clobber = false;  ///< results may be written before all sources are read
};

// A result of several registers is written piece by piece, and these read other lanes' sources
// while they write.
bool crosses_lanes(const Instruction& instruction) {
  static constexpr std::string_view kCrossing[] = {"shfl",  "mma",   "wmma",  "ldmatrix", "movmatrix",
                                                   "wgmma", "redux", "match", "atom",     "call"};
  return std::find(std::begin(kCrossing), std::end(kCrossing), instruction.opcode) != std::end(kCrossing);
}

Accesses accesses_of(const Instruction& instruction) {
  const OperandRoles roles = roles_of(instruction);
  Accesses accesses;
  for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    const bool written = static_cast<int>(i) < roles.definitions && operand.kind != OperandKind::address;
    for_each_register(operand, [&](Index r) { (written ? accesses.writes : accesses.reads).push_back(r); });
  }
  accesses.early_clobber = accesses.writes.size() > 1 || crosses_lanes(instruction);
  if (roles.reads_definitions || instruction.guard) {
    // Lanes that the guard leaves out keep the old value.
    accesses.reads.insert(accesses.reads.end(), accesses.writes.begin(), accesses.writes.end());
  }
  if (instruction.guard) for_each_register(*instruction.guard, [&](Index r) { accesses.reads.push_back(r); });
  return accesses;
}

class Liveness {
 public:
  Liveness(const Function& function, const ControlFlow& flow)
      : flow_(flow), words_((function.registers.size() + 63) / 64) {
    for (const Instruction& instruction : function.instructions)
      accesses_.push_back(accesses_of(instruction));
    const std::size_t count = flow.blocks().size();
    // What the two tables may take; the largest kernels of libraries need a tenth of it (chosen).
    constexpr std::size_t kMaxWords = 16u << 20;
    if (count * words_ > kMaxWords) Lowering::unsupported("so many registers and branches");
    in_.assign(count, Bits(words_));
    out_.assign(count, Bits(words_));
    solve();
  }
  [[nodiscard]] const Accesses& accesses(Index i) const { return accesses_[i]; }
  [[nodiscard]] const Bits& in(Index block) const { return in_[block]; }
  [[nodiscard]] const Bits& out(Index block) const { return out_[block]; }

 private:
  void solve() {
    const auto count = static_cast<Index>(in_.size());
    std::vector<std::vector<Index>> predecessors(count);
    for (Index b = 0; b < count; ++b) {
      for (const Index next : flow_.blocks()[b].successors) predecessors[next].push_back(b);
    }
    std::vector<Index> waiting(count);
    std::iota(waiting.begin(), waiting.end(), Index{0});
    std::vector<bool> waits(count, true);
    while (!waiting.empty()) {
      const Index b = waiting.back();
      waiting.pop_back();
      waits[b] = false;
      if (!update(b)) continue;
      for (const Index before : predecessors[b]) {
        if (!waits[before]) waiting.push_back(before);
        waits[before] = true;
      }
    }
  }
  bool update(Index b) {
    const BasicBlock& block = flow_.blocks()[b];
    Bits live(words_);
    for (const Index next : block.successors) {
      for (std::size_t w = 0; w < words_; ++w) live[w] |= in_[next][w];
    }
    out_[b] = live;
    for (Index i = block.end; i-- > block.begin;) {
      for (const Index r : accesses_[i].writes) clear(live, r);
      for (const Index r : accesses_[i].reads) set(live, r);
    }
    if (live == in_[b]) return false;
    in_[b] = std::move(live);
    return true;
  }

  const ControlFlow& flow_;
  std::size_t words_;
  std::vector<Accesses> accesses_;
  std::vector<Bits> in_, out_;
};

/// From the first to the last point at which a register may hold a value; two points an instruction: sources
/// are read at 2i, results written at 2i + 1.
struct Interval {
  Index reg = 0;
  Index first = kNone, last = 0;
  void cover(Index point) {
    first = std::min(first, point);
    last = std::max(last, point);
  }
};

std::vector<Interval> intervals_of(const Function& function, const ControlFlow& flow) {
  const Liveness liveness(function, flow);
  std::vector<Interval> intervals(function.registers.size());
  for (Index r = 0; r < intervals.size(); ++r) intervals[r].reg = r;
  for (Index b = 0; b < flow.blocks().size(); ++b) {
    const BasicBlock& block = flow.blocks()[b];
    for (Index r = 0; r < intervals.size(); ++r) {
      if (test(liveness.in(b), r)) intervals[r].cover(2 * block.begin);
      if (test(liveness.out(b), r)) intervals[r].cover(2 * block.end - 1);
    }
    for (Index i = block.begin; i < block.end; ++i) {
      const Accesses& accesses = liveness.accesses(i);
      for (const Index r : accesses.reads) intervals[r].cover(2 * i);
      for (const Index r : accesses.writes) {
        if (accesses.early_clobber) intervals[r].cover(2 * i);
        intervals[r].cover(2 * i + 1);
      }
    }
  }
  std::erase_if(intervals, [](const Interval& interval) { return interval.first == kNone; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.first < b.first; });
  return intervals;
}

}  // namespace

RegisterClass register_class_of(Type type) {
  if (type == Type::pred) return RegisterClass::predicate;
  if (bits(type) <= 32) return RegisterClass::bytes4;
  return bits(type) == 64 ? RegisterClass::bytes8 : RegisterClass::bytes16;
}

Allocation allocate_registers(const Function& function, const ControlFlow& flow) {
  Allocation allocation;
  allocation.number.assign(function.registers.size(), kNone);
  using Busy = std::pair<Index, Index>;  // last point, number
  std::array<std::priority_queue<Busy, std::vector<Busy>, std::greater<>>, kRegisterClasses> busy;
  std::array<std::vector<Index>, kRegisterClasses> free;
  for (const Interval& interval : intervals_of(function, flow)) {
    const auto which = static_cast<std::size_t>(register_class_of(function.registers[interval.reg].type));
    while (!busy[which].empty() && busy[which].top().first < interval.first) {
      free[which].push_back(busy[which].top().second);
      busy[which].pop();
    }
    Index number = 0;
    if (free[which].empty()) {
      number = allocation.used[which]++;
    } else {
      number = free[which].back();  // the one freed last is the one most likely in the cache
      free[which].pop_back();
    }
    allocation.number[interval.reg] = number;
    busy[which].emplace(interval.last, number);
  }
  return allocation;
}

}  // namespace ak::emulator
