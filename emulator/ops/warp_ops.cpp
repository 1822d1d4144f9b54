// SPDX-License-Identifier: Apache-2.0
// Instructions in which the lanes of a warp meet: shfl, vote, match, redux, activemask, elect, bar.warp.sync.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"
#include "emulator/numbers/element_operations.h"

namespace ak::emulator {
namespace {

// ---- operands of lanes that may have met at several places, each with registers of its own

/// The row of an operand: as it is, or gathered from the places' rows into `storage`.
template <class T, class SlotOf>
const T* gathered(const Warp& warp, const Op& op, T* storage, SlotOf slot_of) {
  if (warp.places.empty()) return source<T>(warp, slot_of(op));
  std::fill_n(storage, kLanes, T{});
  for (const MeetingPlace& place : warp.places) {
    const T* const row = source<T>(warp, slot_of(*place.op));
    for_each_lane(place.lanes, [&](int lane) { storage[lane] = row[lane]; });
  }
  return storage;
}

std::uint32_t gathered_predicate(const Warp& warp, const Op& op) {
  if (warp.places.empty()) return predicate(warp, op.a);
  std::uint32_t truth = 0;
  for (const MeetingPlace& place : warp.places) truth |= predicate(warp, place.op->a) & place.lanes;
  return truth;
}

/// Calls f(op) for each place, with warp.mask its lanes: for results.
template <class F>
void at_each_place(Warp& warp, const Op& op, F f) {
  if (warp.places.empty()) return f(op);
  const std::uint32_t executing = warp.mask;
  for (const MeetingPlace& place : warp.places) {
    warp.mask = place.lanes;
    f(*place.op);
  }
  warp.mask = executing;
}

template <class T>
void write_result(Warp& warp, const Op& op, const T* values) {
  at_each_place(warp, op, [&](const Op& at) { write_lanes(warp, destination<T>(warp, at.d), values); });
}
void write_second_result(Warp& warp, const Op& op, std::uint32_t truth) {
  at_each_place(warp, op, [&](const Op& at) { set_predicate(warp, at.aux, truth); });
}

template <class T>
struct Row {
  alignas(64) T lanes[kLanes];
};
Slot slot_a(const Op& op) { return op.a; }
Slot slot_b(const Op& op) { return op.b; }
Slot slot_c(const Op& op) { return op.c; }

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

/// What the checker learns: lanes[lane] is where each lane's value comes from.
void check_shuffle(Warp& warp, const Op& op, const std::int32_t* lanes, std::uint32_t inactive) {
  Checker::LaneSlots to, from;
  to.fill(op.d);
  from.fill(op.a);
  for (const MeetingPlace& place : warp.places) {
    for_each_lane(place.lanes, [&](int lane) {
      to[static_cast<std::size_t>(lane)] = place.op->d;
      from[static_cast<std::size_t>(lane)] = place.op->a;
    });
  }
  warp.launch->checker->shuffled(warp, op, to, from, lanes, inactive);
}

template <Shuffle Mode>
void shfl(Warp& warp, const Op& op) {
  Row<std::uint32_t> rows[4];
  const auto slot_of_masks = [&](const Op& at) { return warp.launch->program.slots[at.more]; };
  const std::uint32_t* masks = gathered(warp, op, rows[0].lanes, slot_of_masks);
  if (!await_members(warp, op, masks)) return;
  const std::uint32_t* a = gathered(warp, op, rows[1].lanes, slot_a);
  const std::uint32_t* b = gathered(warp, op, rows[2].lanes, slot_b);
  const std::uint32_t* c = gathered(warp, op, rows[3].lanes, slot_c);
  alignas(64) std::int32_t from[kLanes], is_valid[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    bool valid = false;
    from[lane] = source_lane<Mode>(lane, b[lane], c[lane], valid);
    is_valid[lane] = valid;
  }
  alignas(64) std::uint32_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = a[from[lane]];
  const std::uint32_t inactive = warp.launch->checker != nullptr ? reading_inactive(warp, masks, from) : 0;
  write_result(warp, op, values);
  write_second_result(warp, op, to_mask(is_valid));
  if (warp.launch->checker != nullptr && (inactive != 0 || warp.undefined != nullptr)) [[unlikely]]
    check_shuffle(warp, op, from, inactive);
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
  Row<std::uint32_t> row;
  const std::uint32_t* masks = gathered(warp, op, row.lanes, slot_b);
  if (!await_members(warp, op, masks)) return;
  const std::uint32_t truth = gathered_predicate(warp, op);
  std::uint32_t result = 0;
  alignas(64) std::uint32_t ballots[kLanes] = {};
  for_each_group(warp, masks, [&](std::uint32_t group) {
    const std::uint32_t yes = truth & group;
    if constexpr (Mode == Vote::ballot) for_each_lane(group, [&](int lane) { ballots[lane] = yes; });
    const bool holds = Mode == Vote::all   ? yes == group
                       : Mode == Vote::any ? yes != 0
                                           : yes == 0 || yes == group;
    if (holds) result |= group;
  });
  if constexpr (Mode == Vote::ballot)
    write_result(warp, op, ballots);
  else
    at_each_place(warp, op, [&](const Op& at) { set_predicate(warp, at.d, result); });
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
  Row<std::uint32_t> row;
  const std::uint32_t* masks = gathered(warp, op, row.lanes, slot_b);
  if (!await_members(warp, op, masks)) return;
  Row<T> row_of_values;
  const T* values = gathered(warp, op, row_of_values.lanes, slot_a);
  alignas(64) std::uint32_t results[kLanes] = {};
  std::uint32_t agreed = 0;
  for_each_group(warp, masks, [&](std::uint32_t group) {
    for_each_lane(group, [&](int lane) {
      std::uint32_t same = 0;
      for_each_lane(group, [&](int other) {
        if (values[other] == values[lane]) same |= 1u << other;
      });
      if (!All || same == group) results[lane] = same;
      if (same == group) agreed |= 1u << lane;
    });
  });
  write_result(warp, op, results);
  if constexpr (All) write_second_result(warp, op, agreed);
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
  Row<std::uint32_t> row;
  const std::uint32_t* masks = gathered(warp, op, row.lanes, slot_b);
  if (!await_members(warp, op, masks)) return;
  Row<T> row_of_values;
  const T* values = gathered(warp, op, row_of_values.lanes, slot_a);
  alignas(64) T results[kLanes] = {};
  for_each_group(warp, masks, [&](std::uint32_t group) {
    T all = values[std::countr_zero(group)];
    for_each_lane(group & (group - 1), [&](int lane) { all = Combine{}(all, values[lane]); });
    for_each_lane(group, [&](int lane) { results[lane] = all; });
  });
  write_result(warp, op, results);
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
  Row<std::uint32_t> row;
  const std::uint32_t* masks = gathered(warp, op, row.lanes, slot_b);
  if (!await_members(warp, op, masks)) return;
  const FloatExtreme extreme{(op.aux & kMaximum) != 0, (op.aux & kAbsolute) != 0, (op.aux & kKeepNan) != 0};
  Row<float> row_of_values;
  const float* values = gathered(warp, op, row_of_values.lanes, slot_a);
  alignas(64) float results[kLanes] = {};
  for_each_group(warp, masks, [&](std::uint32_t group) {
    float all = extreme(values[std::countr_zero(group)], values[std::countr_zero(group)]);
    for_each_lane(group, [&](int lane) { all = extreme(all, values[lane]); });
    for_each_lane(group, [&](int lane) { results[lane] = all; });
  });
  write_result(warp, op, results);
}

template <class T>
Handler redux_handler(const Lowering& lowering) {
  if (lowering.has("add")) return redux<T, Add>;
  if (lowering.has("min")) return redux<T, Least>;
  if (lowering.has("max")) return redux<T, Greatest>;
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
  Row<std::uint32_t> row;
  if (!await_members(warp, op, gathered(warp, op, row.lanes, slot_a))) return;
  const std::uint32_t leader = static_cast<std::uint32_t>(std::countr_zero(warp.mask));
  alignas(64) std::uint32_t values[kLanes];
  std::fill(std::begin(values), std::end(values), leader);
  write_result(warp, op, values);
  write_second_result(warp, op, 1u << leader);
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
