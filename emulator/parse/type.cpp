// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/type.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ak::emulator {
namespace {

enum class Family : std::uint8_t { untyped, integer, signed_integer, floating };

struct TypeFacts {
  std::string_view name;
  int bits;
  Family family;
};

/// In the order of the enumerators. Sub-byte floats are counted packed (e2m1x2 is one byte); the 6-bit ones
/// are held one to a byte.
constexpr std::array kTypes = {
    TypeFacts{"pred", 1, Family::untyped},        TypeFacts{"b8", 8, Family::untyped},
    TypeFacts{"b16", 16, Family::untyped},        TypeFacts{"b32", 32, Family::untyped},
    TypeFacts{"b64", 64, Family::untyped},        TypeFacts{"b128", 128, Family::untyped},
    TypeFacts{"u8", 8, Family::integer},          TypeFacts{"u16", 16, Family::integer},
    TypeFacts{"u32", 32, Family::integer},        TypeFacts{"u64", 64, Family::integer},
    TypeFacts{"s8", 8, Family::signed_integer},   TypeFacts{"s16", 16, Family::signed_integer},
    TypeFacts{"s32", 32, Family::signed_integer}, TypeFacts{"s64", 64, Family::signed_integer},
    TypeFacts{"f16", 16, Family::floating},       TypeFacts{"f16x2", 32, Family::floating},
    TypeFacts{"bf16", 16, Family::floating},      TypeFacts{"bf16x2", 32, Family::floating},
    TypeFacts{"tf32", 32, Family::floating},      TypeFacts{"f32", 32, Family::floating},
    TypeFacts{"f32x2", 64, Family::floating},     TypeFacts{"f64", 64, Family::floating},
    TypeFacts{"u16x2", 32, Family::integer},      TypeFacts{"s16x2", 32, Family::integer},
    TypeFacts{"e4m3", 8, Family::floating},       TypeFacts{"e5m2", 8, Family::floating},
    TypeFacts{"e4m3x2", 16, Family::floating},    TypeFacts{"e5m2x2", 16, Family::floating},
    TypeFacts{"e2m1", 4, Family::floating},       TypeFacts{"e2m1x2", 8, Family::floating},
    TypeFacts{"e2m3x2", 16, Family::floating},    TypeFacts{"e3m2x2", 16, Family::floating},
    TypeFacts{"ue8m0x2", 16, Family::floating},   TypeFacts{"s4", 4, Family::integer},
    TypeFacts{"u4", 4, Family::integer},          TypeFacts{"b1", 1, Family::untyped},
    TypeFacts{"e3m2", 8, Family::floating},       TypeFacts{"e2m3", 8, Family::floating},
    TypeFacts{"ue8m0", 8, Family::floating},      TypeFacts{"ue4m3", 8, Family::floating},
};
static_assert(kTypes.size() == static_cast<std::size_t>(Type::ue4m3) + 1);

/// A name as one number: programs have tens of thousands of words that may be types.
constexpr std::size_t kLongestName = 7;  // ue8m0x2
constexpr std::uint64_t packed(std::string_view name) {
  std::uint64_t number = name.size();
  for (const char c : name) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

constexpr std::size_t kPlaces = 128;  // three times the types: few meet at one
constexpr std::size_t place_of(std::uint64_t number) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio spreads small numbers
  return (number * kGolden) >> 57;
}

/// By the place of its name, or the next one that was free.
struct TypePlace {
  std::uint64_t name = 0;  ///< 0: free
  Type type = Type::pred;
};
constexpr auto kTypePlaces = [] {
  std::array<TypePlace, kPlaces> places{};
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    std::size_t at = place_of(packed(kTypes[i].name));
    while (places[at].name != 0) at = (at + 1) % kPlaces;
    places[at] = {packed(kTypes[i].name), static_cast<Type>(i)};
  }
  return places;
}();

constexpr std::array<std::string_view, 9> kSpaces = {"generic", "reg",   "sreg",   "const",          "global",
                                                     "local",   "param", "shared", "shared::cluster"};
static_assert(kSpaces.size() == static_cast<std::size_t>(Space::shared_cluster) + 1);

const TypeFacts& facts(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::optional<Type> parse_type(std::string_view name) {
  if (name.size() > kLongestName) return std::nullopt;
  const std::uint64_t wanted = packed(name);
  for (std::size_t at = place_of(wanted); kTypePlaces[at].name != 0; at = (at + 1) % kPlaces)
    if (kTypePlaces[at].name == wanted) return kTypePlaces[at].type;
  return std::nullopt;
}

std::string_view to_string(Type type) { return facts(type).name; }

int bits(Type type) { return facts(type).bits; }

int bytes(Type type) { return std::max(1, facts(type).bits / 8); }

bool is_float(Type type) { return facts(type).family == Family::floating; }

bool is_signed(Type type) { return facts(type).family == Family::signed_integer; }

std::string_view to_string(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }

}  // namespace ak::emulator
