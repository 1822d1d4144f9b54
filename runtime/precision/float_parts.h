// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace ak::runtime {

/// What has become of a float on its way.
enum class PartKind : std::uint8_t {
  exact,    ///< bits of the float, as they were
  half,     ///< 16 bits from memory: the upper ones of a float, if it is used as one
  rounded,  ///< of a shorter format, or widened from one
  integer,  ///< its value as an integer
  opaque,   ///< integer arithmetic on its bits with numbers that are known at the launch only
};

/// Bits of one float in a register.
struct FloatPart {
  std::uint32_t origin = 0;  ///< the instruction or memory that the float comes from
  int at = 0;                ///< bit 0 of the float is this bit of the register; may be negative
  std::uint64_t kept = 0;    ///< bits of the float that are there
  bool wide = false;         ///< a float64
  bool packed = false;       ///< of a word from memory that may hold two short floats
  PartKind kind = PartKind::exact;
  int line = 0;  ///< PTX line of the instruction that dropped bits first; 0: all are there

  /// Without `line`, which is for messages.
  [[nodiscard]] bool operator==(const FloatPart& other) const {
    return same_place(other) && kept == other.kept && packed == other.packed;
  }
  [[nodiscard]] bool same_place(const FloatPart& other) const {
    return origin == other.origin && at == other.at && wide == other.wide && kind == other.kind;
  }
};

/// What is known of the number in a register without running the program.
enum class Known : std::uint8_t {
  unset,     ///< nothing was written yet
  constant,  ///< Word::constant
  selector,  ///< all bits set or none, by a condition
  launch,    ///< made of the launch's arguments, ids and sizes: a candidate can choose it
  varies,
};

/// What a register may hold: a number, and parts of floats that come from the problem's data.
struct Word {
  Known known = Known::unset;
  std::uint64_t constant = 0;
  std::vector<FloatPart> parts;

  [[nodiscard]] static Word number(std::uint64_t value) { return {Known::constant, value, {}}; }
  [[nodiscard]] static Word unknown() { return {Known::varies, 0, {}}; }
  [[nodiscard]] static Word of(FloatPart part) { return {Known::varies, 0, {part}}; }
  [[nodiscard]] bool is_constant() const { return known == Known::constant; }
};

/// An integer made of a float counts as a short number from 4 bits on (fewer are a quadrant or a sign) up to 16.
inline constexpr int kMinIntegerBits = 4, kMaxIntegerBits = 16;

[[nodiscard]] std::uint64_t low_bits(int count);  ///< 0 to 64
/// The one way in which a number of `width` bits is kept: its sign in all bits above. -1 and 0xFFFFFFFF are one of 32.
[[nodiscard]] std::uint64_t sign_extended(std::uint64_t number, int width);
/// Bits of the float's mantissa that a part can hold at all.
[[nodiscard]] std::uint64_t mantissa_of(bool wide);
/// Bits of mantissa from the highest on that are there; the whole mantissa's number when all are.
[[nodiscard]] int mantissa_bits(const FloatPart& part);

/// Either of two words, as after a branch. True when `into` has grown.
bool join(Word& into, const Word& from);
/// Parts of both at once, as `or` and `add` of disjoint bits give: parts of one float grow together again.
[[nodiscard]] std::vector<FloatPart> combine(std::vector<FloatPart> a, const std::vector<FloatPart>& b);
/// The bits of `mask`; parts without a bit of mantissa are left out. @param line of the instruction.
[[nodiscard]] std::vector<FloatPart> masked(std::vector<FloatPart> parts, std::uint64_t mask, int line);
/// Shifted to the left by `by` bits (to the right when negative) in a register of `width` bits.
[[nodiscard]] std::vector<FloatPart> moved(std::vector<FloatPart> parts, int by, int width, int line);
/// The bits that `b` has of the same float are taken away, as `a - b` does.
[[nodiscard]] std::vector<FloatPart> reduced(std::vector<FloatPart> a, const std::vector<FloatPart>& b,
                                             int line);
/// Any of the parts' bits may be lost: masked by a number that the launch or memory gives.
[[nodiscard]] std::vector<FloatPart> masked_by_unknown(std::vector<FloatPart> parts, int line);

/// A bitwise function of three words (`table` as lop3 has it: a = 0xF0, b = 0xCC, c = 0xAA).
[[nodiscard]] Word bitwise(std::uint8_t table, const std::array<Word, 3>& words, int width, int line);
/// Bytes chosen by a constant selector of prmt, from b (upper four) and a.
[[nodiscard]] Word permuted(const Word& a, const Word& b, std::uint32_t selector, int line);

}  // namespace ak::runtime
