// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/parse/ast.h"
#include "emulator/parse/parser_tokens.h"

namespace ak::emulator {

// Limits against hostile text. Compilers write PTX of at most a few megabytes with some hundred thousand
// instructions; each limit leaves several times that and keeps the product under about a gigabyte.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20;
inline constexpr std::uint64_t kMaxInstructions = 1u << 20;
inline constexpr std::uint64_t kMaxPieces = 1u << 22;  ///< operands, modifiers, list entries, relocations
inline constexpr std::uint64_t kMaxRegisters = 1u << 20;
inline constexpr std::uint64_t kMaxVariables = 1u << 18;
inline constexpr std::uint64_t kMaxFunctions = 1u << 16;
inline constexpr std::uint64_t kMaxLabels = 1u << 20;
inline constexpr std::uint64_t kMaxInitializedBytes = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 40;  ///< more than any device holds
inline constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxFileNumber = 1u << 16;

/// How many of a thing a module may still have.
class Budget {
 public:
  explicit Budget(std::uint64_t limit) : left_(limit) {}
  [[nodiscard]] bool spend(std::uint64_t count) {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }

 private:
  std::uint64_t left_;
};

struct Budgets {
  Budget instructions{kMaxInstructions};
  Budget pieces{kMaxPieces};
  Budget registers{kMaxRegisters};
  Budget variables{kMaxVariables};
  Budget functions{kMaxFunctions};
  Budget labels{kMaxLabels};
  Budget initialized_bytes{kMaxInitializedBytes};
};

/// What a name of the module stands for.
struct Global {
  bool is_function = false;
  Index index = 0;  ///< Module::functions or Module::variables
};

/// A symbol an initializer names, to be checked once the module is read.
struct SymbolUse {
  std::string_view name;
  int line = 0;
};

/// The table of source locations as `.loc` fills it.
class Locations {
 public:
  explicit Locations(Module& module) : module_(module) {}

  /// The entry of that place, called from `inlined_at` (kNone: not inlined).
  [[nodiscard]] Index add(const SourceLocation& place);
  /// The entry written last for that place, which the code being inlined there follows.
  [[nodiscard]] Index latest(Index file, int line, int column);

 private:
  struct Key {
    Index file;
    int line, column;
    Index inlined_at;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };
  Module& module_;
  std::unordered_map<Key, Index, KeyHash> entries_;
  std::unordered_map<Key, Index, KeyHash> latest_;
};

/// The words of a module as it is read: each is kept once.
class WordKeeper {
 public:
  struct Spelling {
    std::string_view opcode;
    std::span<const std::string_view> modifiers;
  };

  [[nodiscard]] std::string_view keep(std::string_view word);
  /// @param text of the whole opcode with its modifiers, which decides what these are
  [[nodiscard]] Spelling keep(std::string_view text, std::string_view opcode,
                              std::span<const std::string_view> modifiers);
  [[nodiscard]] std::span<const std::string_view> keep(std::vector<std::string_view> list);
  [[nodiscard]] std::shared_ptr<const Words> words() const { return words_; }

 private:
  std::shared_ptr<Words> words_ = std::make_shared<Words>();
  std::unordered_map<std::string_view, std::string_view> kept_;
  std::unordered_map<std::string_view, Spelling> spellings_;  ///< by views of the text that is read
};

/// The module being read, shared by the parts of the parser.
struct ModuleState {
  ModuleState(std::span<const Token> text, bool wants_locations)
      : tokens(text), with_locations(wants_locations) {}

  TokenStream tokens;
  const bool with_locations;
  WordKeeper words;
  Module module;
  Locations locations{module};
  Budgets budgets;
  std::unordered_map<std::string_view, Global> names;
  std::vector<SymbolUse> initializer_symbols;
};

}  // namespace ak::emulator
