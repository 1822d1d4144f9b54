// SPDX-License-Identifier: Apache-2.0
// Instructions in which the lanes of a warp meet: shfl, vote, match, redux, activemask, elect, bar.warp.sync.
#include <algorithm>
#include <bit>
#include <cmath>

#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

// Lanes of one instruction may belong to several groups of members: each is served for itself.
template <class F>
void for_each_group(Warp& warp, const std::uint32_t* masks, F f) {
  std::uint32_t rest = warp.mask;
  while (rest != 0) {
    const std::uint32_t group = masks[std::countr_zero(rest)] & rest;
    f(group);
    rest &= ~group;
  }
}

// ---- shfl.sync: d|p, a, b, c, membermask (PTX ISA 9.0, "shfl.sync")

enum class Shuffle : std::uint32_t { up, down, bfly, idx };

/// Lane to read from, and whether that is in the lane's segment: it reads itself otherwise.
template <Shuffle Mode>
int source_lane(int lane, std::uint32_t b, std::uint32_t c, bool& valid) {
  const int bound_bits = static_cast<int>(c & 0x1F), segment = static_cast<int>(c >> 8 & 0x1F);
  const int value = static_cast<int>(b & 0x1F);
  const int bound = (lane & segment) | (bound_bits & ~segment);
  int from = 0;
  if constexpr (Mode == Shuffle::up) from = lane - value;
  if constexpr (Mode == Shuffle::down) from = lane + value;
  if constexpr (Mode == Shuffle::bfly) from = lane ^ value;
  if constexpr (Mode == Shuffle::idx) from = (lane & segment) | (value & ~segment);
  valid = Mode == Shuffle::up ? from >= bound : from <= bound;
  return (valid ? from : lane) & (kLanes - 1);
}

/// Lanes that read from one that does not execute the shuffle, or that their mask does not name: what they
/// get is not defined.
std::uint32_t reading_inactive(const Warp& warp, const std::uint32_t* masks, const std::int32_t* from) {
  std::uint32_t lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t active = warp.mask & masks[lane];
    lanes |= (~active >> from[lane] & 1u) << lane;
  }
  return lanes & warp.mask;
}

template <Shuffle Mode>
void shfl(Warp& warp, const Op& op) {
  const std::uint32_t* masks = source<std::uint32_t>(warp, warp.launch->program.slots[op.more]);
  if (!await_members(warp, op, masks)) return;
  const std::uint32_t* a = source<std::uint32_t>(warp, op.a);
  const std::uint32_t* b = source<std::uint32_t>(warp, op.b);
  const std::uint32_t* c = source<std::uint32_t>(warp, op.c);
  alignas(64) std::int32_t from[kLanes], is_valid[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    bool valid = false;
    from[lane] = source_lane<Mode>(lane, b[lane], c[lane], valid);
    is_valid[lane] = valid;
  }
  alignas(64) std::uint32_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = a[from[lane]];
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), values);
  set_predicate(warp, op.aux, to_mask(is_valid));
  if (warp.launch->checker == nullptr) return;
  const std::uint32_t inactive = reading_inactive(warp, masks, from);
  if (inactive != 0 || warp.undefined != nullptr) [[unlikely]]
    warp.launch->checker->shuffled(warp, op, op.d, op.a, from, inactive);
}

std::optional<Op> lower_shfl(Lowering& lowering) {
  lowering.accept_modifiers({"sync", "up", "down", "bfly", "idx"});
  if (!lowering.has("sync")) Lowering::unsupported("shfl without .sync");
  const Operand& first = lowering.operand(0);
  const bool pair = first.kind == OperandKind::pair;
  const Handler run = lowering.has("up")     ? shfl<Shuffle::up>
                      : lowering.has("down") ? shfl<Shuffle::down>
                      : lowering.has("bfly") ? shfl<Shuffle::bfly>
                                             : shfl<Shuffle::idx>;
  Op op{.run = run,
        .d = lowering.destination(pair ? first.elements[0] : first, Type::b32),
        .a = lowering.source(lowering.operand(1), Type::b32),
        .b = lowering.source(lowering.operand(2), Type::b32),
        .c = lowering.source(lowering.operand(3), Type::b32),
        .aux = pair ? lowering.predicate_destination(first.elements[1]) : kPredicateSink};
  const Slot membermask = lowering.source(lowering.operand(4), Type::b32);
  lowering.more(op, {&membermask, 1});
  lowering.classify(InstructionClass::warp);
  return op;
}

// ---- vote.sync

enum class Vote : std::uint32_t { all, any, uni, ballot };

template <Vote Mode>
void vote(Warp& warp, const Op& op) {
  if (!await_members(warp, op, source<std::uint32_t>(warp, op.b))) return;
  const std::uint32_t truth = predicate(warp, op.a);
  const std::uint32_t executing = warp.mask;
  std::uint32_t result = 0;
  alignas(64) std::uint32_t ballots[kLanes] = {};
  for_each_group(warp, source<std::uint32_t>(warp, op.b), [&](std::uint32_t group) {
    const std::uint32_t yes = truth & group;
    if constexpr (Mode == Vote::ballot) for_each_lane(group, [&](int lane) { ballots[lane] = yes; });
    const bool holds = Mode == Vote::all   ? yes == group
                       : Mode == Vote::any ? yes != 0
                                           : yes == 0 || yes == group;
    if (holds) result |= group;
  });
  warp.mask = executing;
  if constexpr (Mode == Vote::ballot)
    write_lanes(warp, destination<std::uint32_t>(warp, op.d), ballots);
  else
    set_predicate(warp, op.d, result);
}

std::optional<Op> lower_vote(Lowering& lowering) {
  lowering.accept_modifiers({"sync", "all", "any", "uni", "ballot"});
  if (!lowering.has("sync")) Lowering::unsupported("vote without .sync");
  const bool ballot = lowering.has("ballot");
  const Handler run = ballot                ? vote<Vote::ballot>
                      : lowering.has("all") ? vote<Vote::all>
                      : lowering.has("any") ? vote<Vote::any>
                                            : vote<Vote::uni>;
  lowering.classify(InstructionClass::warp);
  return Op{.run = run,
            .d = ballot ? lowering.destination(lowering.operand(0), Type::b32)
                        : lowering.predicate_destination(lowering.operand(0)),
            .a = lowering.predicate(lowering.operand(1)),
            .b = lowering.source(lowering.operand(2), Type::b32)};
}

// ---- match.sync

template <class T, bool All>
void match(Warp& warp, const Op& op) {
  if (!await_members(warp, op, source<std::uint32_t>(warp, op.b))) return;
  const T* values = source<T>(warp, op.a);
  alignas(64) std::uint32_t results[kLanes] = {};
  std::uint32_t agreed = 0;
  for_each_group(warp, source<std::uint32_t>(warp, op.b), [&](std::uint32_t group) {
    for_each_lane(group, [&](int lane) {
      std::uint32_t same = 0;
      for_each_lane(group, [&](int other) {
        if (values[other] == values[lane]) same |= 1u << other;
      });
      if (!All || same == group) results[lane] = same;
      if (same == group) agreed |= 1u << lane;
    });
  });
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), results);
  if constexpr (All) set_predicate(warp, op.aux, agreed);
}

std::optional<Op> lower_match(Lowering& lowering) {
  lowering.accept_modifiers({"sync", "all", "any"});
  const bool all = lowering.has("all");
  const bool wide = bits(lowering.type()) == 64;
  const Handler run = wide ? (all ? match<std::uint64_t, true> : match<std::uint64_t, false>)
                           : (all ? match<std::uint32_t, true> : match<std::uint32_t, false>);
  const Operand& first = lowering.operand(0);
  const bool pair = first.kind == OperandKind::pair;
  lowering.classify(InstructionClass::warp);
  return Op{.run = run,
            .d = lowering.destination(pair ? first.elements[0] : first, Type::b32),
            .a = lowering.source(lowering.operand(1), lowering.type()),
            .b = lowering.source(lowering.operand(2), Type::b32),
            .aux = pair ? lowering.predicate_destination(first.elements[1]) : kPredicateSink};
}

// ---- redux.sync

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));  // wraps around
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

template <class T, class Combine>
void redux(Warp& warp, const Op& op) {
  if (!await_members(warp, op, source<std::uint32_t>(warp, op.b))) return;
  const T* values = source<T>(warp, op.a);
  alignas(64) T results[kLanes] = {};
  for_each_group(warp, source<std::uint32_t>(warp, op.b), [&](std::uint32_t group) {
    T all = values[std::countr_zero(group)];
    for_each_lane(group & (group - 1), [&](int lane) { all = Combine{}(all, values[lane]); });
    for_each_lane(group, [&](int lane) { results[lane] = all; });
  });
  write_lanes(warp, destination<T>(warp, op.d), results);
}

/// min and max of floats; .abs compares magnitudes, .NaN lets a NaN win (sm_100 and later).
struct FloatExtreme {
  bool maximum, absolute, keep_nan;
  float operator()(float a, float b) const {
    if (absolute) a = std::fabs(a), b = std::fabs(b);
    if (std::isnan(a) || std::isnan(b)) {
      const float nan = std::bit_cast<float>(0x7FFFFFFFu);
      return keep_nan || (std::isnan(a) && std::isnan(b)) ? nan : std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) == maximum ? b : a;  // -0 is less than +0
    return (a < b) == maximum ? b : a;
  }
};
enum : std::uint32_t { kMaximum = 1, kAbsolute = 2, kKeepNan = 4 };

void redux_float(Warp& warp, const Op& op) {
  if (!await_members(warp, op, source<std::uint32_t>(warp, op.b))) return;
  const FloatExtreme extreme{(op.aux & kMaximum) != 0, (op.aux & kAbsolute) != 0, (op.aux & kKeepNan) != 0};
  const float* values = source<float>(warp, op.a);
  alignas(64) float results[kLanes] = {};
  for_each_group(warp, source<std::uint32_t>(warp, op.b), [&](std::uint32_t group) {
    float all = extreme(values[std::countr_zero(group)], values[std::countr_zero(group)]);
    for_each_lane(group, [&](int lane) { all = extreme(all, values[lane]); });
    for_each_lane(group, [&](int lane) { results[lane] = all; });
  });
  write_lanes(warp, destination<float>(warp, op.d), results);
}

template <class T>
Handler redux_handler(const Lowering& lowering) {
  if (lowering.has("add")) return redux<T, Add>;
  if (lowering.has("min")) return redux<T, Min>;
  if (lowering.has("max")) return redux<T, Max>;
  if (lowering.has("and")) return redux<T, And>;
  if (lowering.has("or")) return redux<T, Or>;
  if (lowering.has("xor")) return redux<T, Xor>;
  Lowering::unsupported("this reduction");
}

std::optional<Op> lower_redux(Lowering& lowering) {
  lowering.accept_modifiers({"sync", "add", "min", "max", "and", "or", "xor", "abs", "NaN"});
  const Type type = lowering.type();
  Op op{.d = lowering.destination(lowering.operand(0), type),
        .a = lowering.source(lowering.operand(1), type),
        .b = lowering.source(lowering.operand(2), Type::b32)};
  if (type == Type::f32) {
    op.run = redux_float;
    op.aux = (lowering.has("max") ? kMaximum : 0u) | (lowering.has("abs") ? kAbsolute : 0u) |
             (lowering.has("NaN") ? kKeepNan : 0u);
    if (!lowering.has("min") && !lowering.has("max")) Lowering::unsupported("this reduction of floats");
  } else {
    op.run =
        type == Type::s32 ? redux_handler<std::int32_t>(lowering) : redux_handler<std::uint32_t>(lowering);
  }
  lowering.classify(InstructionClass::warp);
  return op;
}

// ---- activemask, elect.sync, bar.warp.sync

void activemask(Warp& warp, const Op& op) {
  alignas(64) std::uint32_t masks[kLanes];
  std::fill(std::begin(masks), std::end(masks), warp.mask);
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), masks);
}

std::optional<Op> lower_activemask(Lowering& lowering) {
  lowering.accept_modifiers({});
  lowering.classify(InstructionClass::warp);
  return Op{.run = activemask, .d = lowering.destination(lowering.operand(0), Type::b32)};
}

// d|p: d gets the elected lane, p is true in it. The lowest lane, as the hardware elects it.
void elect(Warp& warp, const Op& op) {
  if (!await_members(warp, op, source<std::uint32_t>(warp, op.a))) return;
  const std::uint32_t leader = static_cast<std::uint32_t>(std::countr_zero(warp.mask));
  alignas(64) std::uint32_t values[kLanes];
  std::fill(std::begin(values), std::end(values), leader);
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), values);
  set_predicate(warp, op.aux, 1u << leader);
}

std::optional<Op> lower_elect(Lowering& lowering) {
  lowering.accept_modifiers({"sync"});
  const Operand& first = lowering.operand(0);
  if (first.kind != OperandKind::pair) Lowering::unsupported("elect without a predicate");
  lowering.classify(InstructionClass::warp);
  return Op{.run = elect,
            .d = lowering.destination(first.elements[0], Type::b32),
            .a = lowering.source(lowering.operand(1), Type::b32),
            .aux = lowering.predicate_destination(first.elements[1])};
}

}  // namespace

std::span<const Mnemonic> warp_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"shfl", lower_shfl},
      {"vote", lower_vote},
      {"match", lower_match},
      {"redux", lower_redux},
      {"activemask", lower_activemask},
      {"elect", lower_elect},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
