// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.h"
#include "emulator/numbers/small_floats.h"
#include "tests/emulator/differential/generator.h"

namespace ak::emulator::differential {
namespace {

/// What the elements of a block's matrices are like.
enum class Kind : std::uint8_t { whole, near_one, wide, special };
constexpr std::uint32_t kBlocks = 4;  // one of each kind
constexpr std::uint32_t kLanesOfWarp = 32;

struct ElementType {
  std::string_view name;
  int bits;
  int min_exponent, greatest_exponent;  // of Kind::wide: products and their sums stay finite
};
constexpr ElementType kTypes[] = {{"f16", 16, -16, 5},  {"bf16", 16, -40, 40}, {"tf32", 32, -40, 40},
                                  {"f32", 32, -40, 40}, {"e4m3", 8, -8, 6},    {"e5m2", 8, -15, 6},
                                  {"f64", 64, -80, 80}, {"s8", 8, 0, 0},       {"u8", 8, 0, 0},
                                  {"s4", 4, 0, 0},      {"u4", 4, 0, 0},       {"b1", 1, 0, 0},
                                  {"s32", 32, 0, 0}};

const ElementType& type_of(std::string_view name) {
  for (const ElementType& type : kTypes)
    if (type.name == name) return type;
  AK_ASSERT(false, "an element type of the table");
  return kTypes[0];
}

std::uint64_t encoded(std::string_view type, double value) {
  const auto single = static_cast<float>(value);
  if (type == "f16") return encode<kF16>(single);
  if (type == "bf16") return encode<kBf16>(single);
  if (type == "e4m3") return encode<kE4m3>(single);
  if (type == "e5m2") return encode<kE5m2>(single);
  if (type == "f64") return std::bit_cast<std::uint64_t>(value);
  return std::bit_cast<std::uint32_t>(single);
}

double number(const ElementType& type, Kind kind, Random& random) {
  const double sign = random.chance(50) ? -1 : 1;
  if (kind == Kind::whole) return sign * random.below(9);
  const bool wide = kind == Kind::wide;
  const int least = wide ? type.min_exponent : -4, greatest = wide ? type.greatest_exponent : 3;
  const int exponent =
      least + static_cast<int>(random.below(static_cast<std::uint32_t>(greatest - least + 1)));
  const double mantissa = 1 + static_cast<double>(random.below(1u << 30)) / (1u << 30);
  if (kind != Kind::special || !random.chance(2)) return std::ldexp(sign * mantissa, exponent);
  const std::array specials = {std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0};
  return sign * random.pick(specials);
}

bool is_float(const ElementType& type) { return type.min_exponent != 0; }

std::uint64_t element(const ElementType& type, Kind kind, Random& random) {
  if (!is_float(type)) return type.bits == 32 ? value_of("s32", random) : random.bits();
  return encoded(type.name, number(type, kind, random));
}

/// 64-bit words of inputs, and the same without signs.
struct Words {
  std::vector<std::uint64_t> values, magnitudes;
  int used_bits = 64;  // of the last word
  void add(const ElementType& type, std::uint64_t code) {
    if (used_bits == 64) {
      values.push_back(0);
      magnitudes.push_back(0);
      used_bits = 0;
    }
    const std::uint64_t mask = type.bits == 64 ? ~0ull : (1ull << type.bits) - 1;
    values.back() |= (code & mask) << used_bits;
    magnitudes.back() |= (code & mask >> 1) << used_bits;
    used_bits += type.bits;
  }
  void add(const ElementType& type, Kind kind, std::uint32_t count, Random& random) {
    for (std::uint32_t i = 0; i < count; ++i) add(type, element(type, kind, random));
  }
};

struct Shape {
  std::uint32_t m, n, k;
  [[nodiscard]] std::string text() const { return fmt::format("m{}n{}k{}", m, n, k); }
};

// Tensor cores add in their own order and cut off what does not fit their adder; how much is not
// documented. Bounds on the sum of the magnitudes: products and sums of 24 bits with a few bits lost to 16 or
// 32 terms; 13 bits and more are kept where the elements have 8 (Hopper); 11 bits of an f16 result.
Rule rule_of(const ElementType& a, std::string_view accumulator) {
  if (a.name == "f64") return {Agreement::any_nan};
  if (!is_float(a)) return {};
  if (accumulator == "f16") return {Agreement::sum, std::ldexp(1, -9), std::ldexp(1, -24)};
  return {Agreement::sum, std::ldexp(1, a.bits == 8 ? -12 : -20), std::ldexp(1, -126)};
}

Number result_number(const ElementType& type) {
  if (type.name == "f16") return Number::f16;
  if (type.name == "f64") return Number::f64;
  return type.name == "f32" ? Number::f32 : Number::bits32;
}

/// Everything of a case but its inputs and text.
Case case_for(const std::string& name, const ElementType& a, const ElementType& d, std::uint32_t results) {
  Case one;
  one.name = name;
  one.entry = fmt::format("product_{:016x}", hash_of(std::as_bytes(std::span(name))));
  one.blocks = kBlocks;
  one.threads = kLanesOfWarp;
  one.result = result_number(d);
  one.results = kBlocks * results;
  one.rule = rule_of(a, d.name);
  if (!is_float(a)) one.hashed_row = results / kLanesOfWarp;
  return one;
}

void set_inputs(Case& one, Words words) {
  if (one.rule.agreement == Agreement::sum) one.magnitudes = std::move(words.magnitudes);
  one.inputs = std::move(words.values);
}

// ---- mma: registers are loaded as they come, so that where elements lie in them does not matter here

struct Fragment {
  char name;
  const ElementType* type;
  std::uint32_t elements;  // of the matrix
  [[nodiscard]] int register_bits() const { return type->bits == 64 ? 64 : 32; }
  [[nodiscard]] std::uint32_t registers() const {
    return elements * static_cast<std::uint32_t>(type->bits) / kLanesOfWarp /
           static_cast<std::uint32_t>(register_bits());
  }
  [[nodiscard]] std::uint32_t lane_bytes() const {
    return registers() * static_cast<std::uint32_t>(register_bits()) / 8;
  }
  [[nodiscard]] std::string declaration() const {
    return fmt::format(".reg .b{} %{}<{}>;\n", register_bits(), name, registers());
  }
  [[nodiscard]] std::string list() const {
    std::string text;
    for (std::uint32_t i = 0; i < registers(); ++i)
      text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
    return "{" + text + "}";
  }
  [[nodiscard]] std::string loads(std::uint32_t offset) const {
    std::string text;
    for (std::uint32_t i = 0; i < registers(); ++i)
      text += fmt::format("ld.global.b{0} %{1}{2}, [%in+{3}];\n", register_bits(), name, i,
                          offset + i * static_cast<std::uint32_t>(register_bits()) / 8);
    return text;
  }
};

std::string stores(const Fragment& d) {
  std::string text;
  for (std::uint32_t i = 0; i < d.registers(); ++i)
    text += fmt::format("st.global.b{0} [%out+{1}], %{2}{3};\n", d.register_bits(),
                        i * static_cast<std::uint32_t>(d.register_bits()) / 8, d.name, i);
  return text;
}

Case mma(const Shape& shape, std::string_view da, std::string_view aa, std::string_view ba,
         std::string_view ca, const std::string& modifiers = {}, const std::string& suffix = {}) {
  const Fragment d{'d', &type_of(da), shape.m * shape.n}, a{'a', &type_of(aa), shape.m * shape.k};
  const Fragment b{'b', &type_of(ba), shape.k * shape.n}, c{'c', &type_of(ca), shape.m * shape.n};
  const std::string name = fmt::format("mma.sync.aligned.{}.row.col{}.{}.{}.{}.{}{}", shape.text(), modifiers,
                                       da, aa, ba, ca, suffix);
  Case one = case_for(name, *a.type, *d.type, shape.m * shape.n);
  const std::uint32_t bytes = a.lane_bytes() + b.lane_bytes() + c.lane_bytes(), stride = (bytes + 7) / 8 * 8;
  Random random(hash_of(std::as_bytes(std::span(name))));
  Words words;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    for (std::uint32_t lane = 0; lane < kLanesOfWarp; ++lane) {
      words.used_bits = 64;
      for (const Fragment* fragment : {&a, &b, &c})
        words.add(*fragment->type, static_cast<Kind>(block), fragment->elements / kLanesOfWarp, random);
    }
  }
  set_inputs(one, std::move(words));
  one.text = fmt::format(
      ".visible .entry {}(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %i, %t;\n.reg .b64 %in, "
      "%out;\n{}{}{}{}"
      "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %i, %ctaid.x;\nmov.u32 %t, %tid.x;\n"
      "mad.lo.u32 %i, %i, 32, %t;\nmad.wide.u32 %in, %i, {}, %in;\nmad.wide.u32 %out, %i, {}, %out;\n{}{}{}"
      "{} {}, {}, {}, {};\n{}ret;\n}}\n",
      one.entry, a.declaration(), b.declaration(), c.declaration(), d.declaration(), stride, d.lane_bytes(),
      a.loads(0), b.loads(a.lane_bytes()), c.loads(a.lane_bytes() + b.lane_bytes()), name, d.list(), a.list(),
      b.list(), c.list(), stores(d));
  return one;
}

void add_mma(Suite& suite) {
  const auto add = [&](const Shape& shape, std::string_view d, std::string_view a, std::string_view b,
                       std::string_view c, const std::string& modifiers = {},
                       const std::string& suffix = {}) {
    suite.cases.push_back(mma(shape, d, a, b, c, modifiers, suffix));
  };
  for (const std::uint32_t k : {8u, 16u}) {
    add({16, 8, k}, "f16", "f16", "f16", "f16");
    add({16, 8, k}, "f32", "f16", "f16", "f32");
    add({16, 8, k}, "f32", "bf16", "bf16", "f32");
    add({16, 8, k / 2}, "f32", "tf32", "tf32", "f32");
  }
  for (const char* a : {"e4m3", "e5m2"}) {
    for (const char* b : {"e4m3", "e5m2"}) {
      add({16, 8, 32}, "f32", a, b, "f32");
      for (const char* accumulator : {"f16", "f32"}) add({16, 8, 16}, accumulator, a, b, accumulator);
    }
  }
  for (const Shape& shape : {Shape{8, 8, 4}, Shape{16, 8, 4}, Shape{16, 8, 8}, Shape{16, 8, 16}})
    add(shape, "f64", "f64", "f64", "f64");
  for (const char* saturate : {"", ".satfinite"}) {
    for (const char sign_a : {'s', 'u'}) {
      for (const char sign_b : {'s', 'u'}) {
        for (const Shape& shape : {Shape{8, 8, 16}, Shape{16, 8, 16}, Shape{16, 8, 32}})
          add(shape, "s32", fmt::format("{}8", sign_a), fmt::format("{}8", sign_b), "s32", saturate);
        for (const Shape& shape : {Shape{8, 8, 32}, Shape{16, 8, 32}, Shape{16, 8, 64}})
          add(shape, "s32", fmt::format("{}4", sign_a), fmt::format("{}4", sign_b), "s32", saturate);
      }
    }
  }
  for (const char* operation : {".and.popc", ".xor.popc"}) {
    for (const Shape& shape : {Shape{8, 8, 128}, Shape{16, 8, 128}, Shape{16, 8, 256}})
      add(shape, "s32", "b1", "b1", "s32", "", operation);
  }
}

// ---- wmma: where elements lie in registers is not defined, so matrices come from memory and go there

struct WmmaRegisters {
  int a, b, c;
};

WmmaRegisters registers_of(const Shape& shape, std::string_view type, std::string_view accumulator) {
  const auto count = [](std::uint32_t elements, int bits, int register_bits) {
    return static_cast<int>(elements) * bits / 32 / register_bits;
  };
  const int c = accumulator == "f16" ? 4 : count(shape.m * shape.n, 32, 32);
  if (type == "f16") return {8, 8, c};
  if (type == "f64") return {1, 1, 2};
  const int bits = type_of(type).bits;
  return {count(shape.m * shape.k, bits, 32), count(shape.k * shape.n, bits, 32), c};
}

std::string wmma_list(char name, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return "{" + text + "}";
}

Case wmma(const Shape& shape, const std::string& type, const std::string& accumulator,
          const std::string& layout_a, const std::string& layout_b, const std::string& layout_c,
          const std::string& modifiers = {}) {
  const bool bits = type == "b1", floats = type == "f16";
  const std::string types =
      floats ? accumulator + "." + accumulator : fmt::format("{0}.{1}.{1}.{0}", accumulator, type);
  const std::string name =
      fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}{}.{}", bits ? ".and.popc" : "", layout_a, layout_b,
                  shape.text(), type == "f64" ? ".rn" : "", types + modifiers);
  const ElementType &element_type = type_of(type), &sum_type = type_of(accumulator);
  Case one = case_for(name + " " + layout_c, element_type, sum_type, shape.m * shape.n);
  const auto bytes_of = [](std::uint32_t elements, const ElementType& t) {
    return elements * static_cast<std::uint32_t>(t.bits) / 8;
  };
  const std::uint32_t b_at = bytes_of(shape.m * shape.k, element_type);
  const std::uint32_t c_at = b_at + bytes_of(shape.k * shape.n, element_type);
  const std::uint32_t result_bytes = bytes_of(shape.m * shape.n, sum_type), stride = c_at + result_bytes;
  Random random(hash_of(std::as_bytes(std::span(one.name))));
  Words words;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    words.add(element_type, static_cast<Kind>(block), (shape.m + shape.n) * shape.k, random);
    words.add(sum_type, static_cast<Kind>(block), shape.m * shape.n, random);
  }
  set_inputs(one, std::move(words));
  const WmmaRegisters counts = registers_of(shape, type, accumulator);
  const int width = type == "f64" ? 64 : 32;
  const auto load = [&](char matrix, int count, const std::string& layout, std::uint32_t at,
                        const std::string& of, std::uint32_t leading) {
    return fmt::format("wmma.load.{}.sync.aligned.{}.{}.global.{} {}, [%in+{}], {};\n", matrix, layout,
                       shape.text(), of, wmma_list(matrix, count), at, leading);
  };
  const std::uint32_t leading_c = layout_c == "row" ? shape.n : shape.m;
  one.text = fmt::format(
      ".visible .entry {0}(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %i;\n.reg .b64 %in, %out;\n"
      ".reg .b{1} %a<{2}>, %b<{3}>, %c<{4}>, %d<{4}>;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
      "mov.u32 %i, %ctaid.x;\nmad.wide.u32 %in, %i, {5}, %in;\nmad.wide.u32 %out, %i, {6}, %out;\n{7}{8}{9}"
      "{10} {11}, {12}, {13}, {14};\nwmma.store.d.sync.aligned.{15}.{16}.global.{17} [%out], {11}, "
      "{18};\nret;\n}}\n",
      one.entry, width, counts.a, counts.b, counts.c, stride, result_bytes,
      load('a', counts.a, layout_a, 0, type, layout_a == "row" ? shape.k : shape.m),
      load('b', counts.b, layout_b, b_at, type, layout_b == "row" ? shape.n : shape.k),
      load('c', counts.c, layout_c, c_at, accumulator, leading_c), name, wmma_list('d', counts.c),
      wmma_list('a', counts.a), wmma_list('b', counts.b), wmma_list('c', counts.c), layout_c, shape.text(),
      accumulator, leading_c);
  return one;
}

void add_wmma(Suite& suite) {
  for (const std::string a : {"row", "col"}) {
    for (const std::string b : {"row", "col"}) {
      for (const Shape& shape : {Shape{16, 16, 16}, Shape{8, 32, 16}, Shape{32, 8, 16}}) {
        for (const char* accumulator : {"f16", "f32"})
          suite.cases.push_back(wmma(shape, "f16", accumulator, a, b, b));
        suite.cases.push_back(wmma(shape, "bf16", "f32", a, b, a));
        for (const char* type : {"s8", "u8"}) suite.cases.push_back(wmma(shape, type, "s32", a, b, a));
      }
      suite.cases.push_back(wmma({16, 16, 8}, "tf32", "f32", a, b, b));
      suite.cases.push_back(wmma({8, 8, 4}, "f64", "f64", a, b, a));
    }
  }
  for (const char* saturate : {"", ".satfinite"}) {
    suite.cases.push_back(wmma({16, 16, 16}, "s8", "s32", "row", "col", "col", saturate));
    for (const char* type : {"s4", "u4"})
      suite.cases.push_back(wmma({8, 8, 32}, type, "s32", "row", "col", "row", saturate));
  }
  suite.cases.push_back(wmma({8, 8, 128}, "b1", "s32", "row", "col", "col"));
}

}  // namespace

Suite matrix_products() {
  Suite suite{"products", {}};
  add_mma(suite);
  add_wmma(suite);
  return suite;
}

}  // namespace ak::emulator::differential
