// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "emulator/parse/parser_body.h"
#include "emulator/parse/parser_module.h"

namespace ak::emulator {
namespace {

constexpr std::string_view kWord = "loc";

bool parse_place(TokenStream& tokens, SourceLocation& place) {
  constexpr std::uint64_t kMaxLine = std::numeric_limits<int>::max();
  std::uint64_t file = 0;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
  if (!tokens.expect_integer(file, kMaxFileNumber, "a file's number") ||
      !tokens.expect_integer(line, kMaxLine, "a line") ||
      !tokens.expect_integer(column, kMaxLine, "a column")) {
    return false;
  }
  place = {static_cast<Index>(file), static_cast<int>(line), static_cast<int>(column), kNone};
  return true;
}

/// `function_name $L__info_string0 + 4`, whose text is in a section that is skipped.
bool skip_function_name(TokenStream& tokens) {
  std::string_view label;
  if (!tokens.expect_word(label, "a label")) return false;
  std::uint64_t ignored = 0;
  return !tokens.accept('+') || tokens.expect_integer(ignored, kMaxTextBytes, "an offset");
}

bool read_location(ModuleState& state, TokenStream& tokens, SourceLocation& place) {
  if (!parse_place(tokens, place)) return false;
  while (tokens.accept(',')) {
    if (tokens.accept(TokenKind::word, "function_name")) {
      if (!skip_function_name(tokens)) return false;
    } else if (tokens.accept(TokenKind::word, "inlined_at")) {
      SourceLocation caller;
      if (!parse_place(tokens, caller)) return false;
      place.inlined_at = state.locations.latest(caller.file, caller.line, caller.column);
    } else {
      return tokens.fail_expected("function_name or inlined_at");
    }
  }
  return tokens.at_end() || tokens.fail_expected("the end of the location");
}

}  // namespace

bool parse_location(ModuleState& state, Index& location) {
  const Token& whole = state.tokens.take();
  if (!state.with_locations) return !state.tokens.failed();
  const TokenizedText text(whole.text.substr(kWord.size()), whole.line);
  TokenStream tokens(text.tokens);
  SourceLocation place;
  if (!read_location(state, tokens, place))
    return state.tokens.fail(tokens.input_error()->message, tokens.input_error()->line);
  location = state.locations.add(place);
  return !state.tokens.failed();
}

std::size_t Locations::KeyHash::operator()(const Key& key) const noexcept {
  constexpr std::uint64_t kMultiplier =
      0x9E3779B97F4A7C15u;  // 2^64 over the golden ratio spreads small numbers
  std::uint64_t hash = (std::uint64_t{key.file} << 32) | key.inlined_at;
  hash = (hash ^ (hash >> 29)) * kMultiplier;
  hash ^= (static_cast<std::uint64_t>(key.line) << 16) ^ static_cast<std::uint64_t>(key.column);
  hash *= kMultiplier;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

Index Locations::add(const SourceLocation& place) {
  const auto next = static_cast<Index>(module_.locations.size());
  const auto [entry, added] =
      entries_.try_emplace({place.file, place.line, place.column, place.inlined_at}, next);
  if (added) module_.locations.push_back(place);
  latest_[{place.file, place.line, place.column, kNone}] = entry->second;
  return entry->second;
}

Index Locations::latest(Index file, int line, int column) {
  const auto found = latest_.find({file, line, column, kNone});
  return found != latest_.end() ? found->second : add({file, line, column, kNone});
}

}  // namespace ak::emulator
