// SPDX-License-Identifier: Apache-2.0
#include "core/plan/input_mutation.h"

#include <fmt/format.h>

#include <algorithm>

namespace ak {
namespace {

constexpr std::byte kSignBit{0x80};

bool change(std::byte& byte, std::byte value) {
  const bool changed = byte != value;
  byte = value;
  return changed;
}

/// The magnitude of a floating element or of an integer in two's complement.
bool drop_sign(std::span<std::byte> element, bool floating) {
  if ((element.back() & kSignBit) == std::byte{0}) return false;
  if (floating) return change(element.back(), element.back() & ~kSignBit);
  unsigned carry = 1;
  for (std::byte& byte : element) {
    const unsigned negated = (~static_cast<unsigned>(byte) & 0xFFu) + carry;
    byte = static_cast<std::byte>(negated & 0xFFu);
    carry = negated >> 8;
  }
  return true;
}

/// All four bits become the highest of them: what a kernel sees that reads one bit of the four.
bool keep_one_bit(std::byte& byte, bool high) {
  const unsigned shift = high ? 4 : 0, value = static_cast<unsigned>(byte);
  const unsigned copies = (value >> (shift + 3) & 1u) != 0 ? 0xFu : 0u;
  return change(byte, static_cast<std::byte>((value & ~(0xFu << shift)) | copies << shift));
}

bool clear_in(const InputMutation& mutation, DType dtype, std::span<std::byte> element) {
  const auto index = static_cast<std::size_t>(mutation.index);
  if (mutation.part == IgnoredPart::sign) return drop_sign(element, info(dtype).floating);
  if (mutation.part == IgnoredPart::byte) return change(element[index], std::byte{0});
  return keep_one_bit(element[index / 2], index % 2 == 1);
}

bool zero(std::span<std::byte> bytes) {
  bool changed = false;
  for (std::byte& byte : bytes) changed |= change(byte, std::byte{0});
  return changed;
}

}  // namespace

std::vector<InputMutation> input_mutations(DType dtype) {
  const DTypeInfo& type = info(dtype);
  std::vector<InputMutation> all{{.name = "ignored_input",
                                  .what = "reads nothing but zeros",
                                  .part = IgnoredPart::input,
                                  .essential = true},
                                 {.name = "ignored_end",
                                  .what = "reads zeros for the last row",
                                  .part = IgnoredPart::last_row,
                                  .essential = true}};
  if (dtype == DType::boolean) return all;
  if (!type.is_unsigned)
    all.push_back({.name = "ignored_sign", .what = "drops the sign", .part = IgnoredPart::sign});
  for (int byte = 0; type.bytes > 1 && byte < type.bytes; ++byte)
    all.push_back({.name = fmt::format("ignored_byte_{}", byte),
                   .what = fmt::format("reads zero for byte {} of every element", byte),
                   .part = IgnoredPart::byte,
                   .index = byte});
  for (int nibble = 0; !type.floating && nibble < 2 * type.bytes; ++nibble)
    all.push_back({.name = fmt::format("ignored_bits_{}", nibble),
                   .what = fmt::format("takes bits {} to {} for copies of the highest of them", 4 * nibble,
                                       4 * nibble + 3),
                   .part = IgnoredPart::nibble_bits,
                   .index = nibble});
  return all;
}

std::vector<InputMutation> scalar_mutations() {
  return {{.name = "ignored_value",
           .what = "takes another value instead",
           .part = IgnoredPart::input,
           .essential = true}};
}

bool is_input_mutation(std::string_view name) {
  if (name == scalar_mutations().front().name) return true;
  return std::ranges::any_of(dtypes(), [&](const DTypeInfo& type) {
    const auto all = input_mutations(type.dtype);
    return std::ranges::find(all, name, &InputMutation::name) != all.end();
  });
}

bool clear_part(const InputMutation& mutation, DType dtype, std::int64_t rows, std::span<std::byte> bytes) {
  if (mutation.part == IgnoredPart::input) return zero(bytes);
  if (mutation.part == IgnoredPart::last_row)
    return zero(bytes.last(bytes.size() / static_cast<std::size_t>(std::max<std::int64_t>(rows, 1))));
  const auto size = static_cast<std::size_t>(info(dtype).bytes);
  bool changed = false;
  for (std::size_t i = 0; i + size <= bytes.size(); i += size)
    changed |= clear_in(mutation, dtype, bytes.subspan(i, size));
  return changed;
}

}  // namespace ak
