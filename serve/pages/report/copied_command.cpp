// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/report/copied_command.h"

#include <algorithm>
#include <cctype>

#include "core/text/json.h"

namespace ak::pages {
namespace {

/// A word that every shell takes as it is, and that is no flag.
bool is_plain_word(std::string_view word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
  };
  return !word.empty() && word.front() != '-' && std::ranges::all_of(word, plain);
}

/// A value as the flag of generate takes it; empty where it is none.
std::string word_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

}  // namespace

std::string search_command(std::string_view algorithm, std::string_view flags) {
  const Json values = try_parse_json(flags);
  if (!is_plain_word(algorithm) || !values.is_object()) return "";
  std::string line = "alphakernel generate --algorithm " + std::string(algorithm);
  for (const auto& [name, value] : values.items()) {
    const std::string word = word_of(value);
    if (!is_plain_word(name) || !is_plain_word(word)) return "";
    line += " --" + name + "=" + word;
  }
  return line;
}

void define_search_command(db::Reader& reader) { reader.define("search_command", search_command); }

}  // namespace ak::pages
