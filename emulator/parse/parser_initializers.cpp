// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <utility>

#include "emulator/parse/parser_constants.h"
#include "emulator/parse/parser_variables.h"

namespace ak::emulator {
namespace {

/// A pointer in the generic or its own space is 8 bytes: the address size is always 64.
constexpr int kPointerBytes = 8;

class InitializerParser {
 public:
  InitializerParser(ModuleState& state, const Shape& shape, Variable& variable)
      : state_(state), tokens_(state.tokens), shape_(shape), variable_(variable) {
    strides_.assign(shape.lengths.size() + 1, shape.element_bytes);
    for (std::size_t level = shape.lengths.size(); level-- > 1;) {
      strides_[level] = strides_[level + 1] * shape.lengths[level];
    }
  }

  bool parse() {
    open_ended_ = !shape_.lengths.empty() && shape_.lengths[0] == 0;
    if (!open_ended_ && !grow(variable_.bytes)) return false;
    if (shape_.lengths.empty()) return parse_scalar(0);
    if (!tokens_.expect('{') || !parse_list(0, 0)) return false;
    variable_.bytes = variable_.contents.size();
    return true;
  }

 private:
  bool grow(std::uint64_t bytes) {
    if (bytes <= variable_.contents.size()) return true;
    if (!state_.budgets.initialized_bytes.spend(bytes - variable_.contents.size())) {
      return tokens_.fail("the initialized variables are too large");
    }
    variable_.contents.resize(bytes);
    return true;
  }

  /// The elements of dimension `level`, whose `{` is taken, from byte `at` on. An element without braces of
  /// its own counts on in scalars, as in C. Recursion is bounded by the number of dimensions.
  bool parse_list(std::size_t level, std::uint64_t at) {
    const std::uint64_t begin = at;
    const std::uint64_t stride = strides_[level + 1];
    const bool open_ended = open_ended_ && level == 0;
    const std::uint64_t end = open_ended ? kMaxInitializedBytes : begin + stride * shape_.lengths[level];
    while (!tokens_.at('}')) {
      const bool nested = tokens_.accept('{');
      const std::uint64_t bytes = nested ? stride : shape_.element_bytes;
      if (at + bytes > end) return tokens_.fail("an initializer has too many values");
      if (nested && (level + 2 == strides_.size() || (at - begin) % stride != 0)) {
        return tokens_.fail("an initializer has more braces than the array has dimensions");
      }
      if (open_ended && !grow(begin + ((at - begin) / stride + 1) * stride)) return false;
      if (!(nested ? parse_list(level + 1, at) : parse_scalar(at))) return false;
      at += bytes;
      if (!tokens_.accept(',')) break;
    }
    return tokens_.expect('}');
  }

  bool parse_scalar(std::uint64_t at) {
    if (at_real(tokens_)) return parse_real_value(at);
    if (tokens_.at(TokenKind::word) && !at_constant(tokens_)) return parse_symbol(at, kWholeAddress);
    if (tokens_.at(TokenKind::integer) && tokens_.peek_second().text == "(") {
      return parse_symbol_part(at);
    }
    Constant value;
    if (!parse_constant(tokens_, value)) return false;
    return store_integer(at, value);
  }

  bool store_integer(std::uint64_t at, const Constant& value) {
    if (!is_float(variable_.type)) return store(at, value.bits);
    const auto number = value.is_unsigned ? static_cast<double>(value.bits)
                                          : static_cast<double>(static_cast<std::int64_t>(value.bits));
    return store_number(at, number);
  }

  bool parse_real_value(std::uint64_t at) {
    Type type = Type::f64;
    std::uint64_t bits = 0;
    if (!parse_real(tokens_, type, bits)) return false;
    // The pattern itself where it fits: a conversion would quieten a NaN.
    if (type == variable_.type) return store(at, bits);
    const double number = type == Type::f32
                              ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                              : std::bit_cast<double>(bits);
    return store_number(at, number);
  }

  bool store_number(std::uint64_t at, double number) {
    if (variable_.type == Type::f64) return store(at, std::bit_cast<std::uint64_t>(number));
    if (variable_.type == Type::f32) {
      return store(at, std::bit_cast<std::uint32_t>(static_cast<float>(number)));
    }
    return tokens_.fail(
        fmt::format("a .{} variable cannot be initialized with that value", to_string(variable_.type)));
  }

  bool store(std::uint64_t at, std::uint64_t value) {
    for (std::uint64_t byte = 0; byte < shape_.element_bytes; ++byte) {
      const bool sign = byte >= 8 && (value >> 63) != 0 && is_signed(variable_.type);
      const std::uint64_t part = byte < 8 ? value >> (8 * byte) : (sign ? 0xFF : 0);
      variable_.contents[at + byte] = static_cast<std::uint8_t>(part & 0xFF);
    }
    return !tokens_.failed();
  }

  static constexpr int kWholeAddress = -1;

  /// `0xFF00(generic(name) + 8)`: one byte of an address, as structures that are not aligned hold them.
  bool parse_symbol_part(std::uint64_t at) {
    const std::uint64_t mask = tokens_.take().bits;
    const int part = mask == 0 ? 0 : std::countr_zero(mask) / 8;
    if (mask != std::uint64_t{0xFF} << (8 * part) || shape_.element_bytes != 1) {
      return tokens_.fail("only single bytes of an address can be taken");
    }
    tokens_.take();
    return parse_symbol(at, part) && tokens_.expect(')');
  }

  /// `name`, `generic(name)`, each with `+ offset`.
  bool parse_symbol(std::uint64_t at, int part) {
    Relocation relocation;
    const int line = tokens_.peek().line;
    std::string_view name;
    if (!tokens_.expect_word(name, "a symbol")) return false;
    if (name == "generic" && tokens_.accept('(')) {
      relocation.generic = true;
      if (!tokens_.expect_word(name, "a symbol") || !tokens_.expect(')')) return false;
    }
    Constant offset;
    if ((tokens_.at('+') || tokens_.at('-')) && !parse_constant(tokens_, offset)) return false;
    state_.initializer_symbols.push_back({name, line});
    relocation.symbol = name;
    relocation.offset = static_cast<std::int64_t>(offset.bits);
    relocation.at = at;
    return part == kWholeAddress ? add_whole(std::move(relocation)) : add_part(std::move(relocation), part);
  }

  bool add_whole(Relocation relocation) {
    relocation.bytes = static_cast<int>(shape_.element_bytes);
    if (relocation.bytes > kPointerBytes || relocation.bytes < kPointerBytes / 2) {
      return tokens_.fail(fmt::format("an address does not fit into a .{}", to_string(variable_.type)));
    }
    return add(std::move(relocation));
  }

  /// Bytes 0, 1, 2 ... of one address that follow each other make one relocation.
  bool add_part(Relocation relocation, int part) {
    relocation.bytes = 1;
    if (part == 0) return add(std::move(relocation));
    if (variable_.relocations.empty()) return tokens_.fail("the bytes of an address are not in order");
    Relocation& open = variable_.relocations.back();
    if (open.bytes != part || open.at + static_cast<std::uint64_t>(part) != relocation.at ||
        open.symbol != relocation.symbol || open.offset != relocation.offset ||
        open.generic != relocation.generic) {
      return tokens_.fail("the bytes of an address are not in order");
    }
    ++open.bytes;
    return true;
  }

  bool add(Relocation relocation) {
    if (!state_.budgets.pieces.spend(1)) return tokens_.fail("the module is too large");
    variable_.relocations.push_back(std::move(relocation));
    return true;
  }

  ModuleState& state_;
  TokenStream& tokens_;
  const Shape& shape_;
  Variable& variable_;
  std::vector<std::uint64_t> strides_;  ///< strides_[l]: bytes of one element of dimension l - 1
  bool open_ended_ = false;
};

}  // namespace

bool parse_initializer(ModuleState& state, const Shape& shape, Variable& variable) {
  return InitializerParser(state, shape, variable).parse();
}

}  // namespace ak::emulator
