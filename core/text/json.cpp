// SPDX-License-Identifier: Apache-2.0
#include "core/text/json.h"

#include <algorithm>
#include <string>

#include "core/text/json_nesting.h"

namespace ak {
namespace {

/// A number that no double holds, such as 1e999: nlohmann says which, and not where.
Json::parse_error beyond_double(const Json::out_of_range& error, std::string_view text) {
  const std::string_view words = error.what();
  const std::size_t open = std::min(words.find('\''), words.size()), close = words.rfind('\'');
  const std::string_view number =
      close > open ? words.substr(open + 1, close - open - 1) : std::string_view();
  const std::size_t at = std::min(text.find(number), text.size());
  nlohmann::detail::position_t position;
  position.chars_read_total = at + 1;
  position.lines_read = static_cast<std::size_t>(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  position.chars_read_current_line = at - std::min(at, text.rfind('\n', at) + 1) + 1;
  return Json::parse_error::create(101, position,
                                   "the number " + std::string(number) + " is beyond a double's", nullptr);
}

// nlohmann takes a NUL byte for the end of the text, and would pass over whatever follows it.
std::size_t nul_byte(std::string_view text) { return text.find('\0'); }

}  // namespace

// Texts from outside come through here: a million brackets would overflow the stack of whoever copies or writes them.
Json parse_json(std::string_view text) {
  if (nests_too_deeply(text))
    throw Json::parse_error::create(
        101, 0, "nested more than " + std::to_string(kMaxJsonNesting) + " levels deep", nullptr);
  if (const std::size_t at = nul_byte(text); at != std::string_view::npos)
    throw Json::parse_error::create(101, at + 1, "it has a NUL byte", nullptr);
  try {
    return Json::parse(text);
  } catch (const Json::out_of_range& error) {
    throw beyond_double(error, text);
  }
}

Json try_parse_json(std::string_view text) {
  const bool readable = !nests_too_deeply(text) && nul_byte(text) == std::string_view::npos;
  return readable ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

}  // namespace ak

template class nlohmann::basic_json<nlohmann::ordered_map>;
template class nlohmann::detail::serializer<ak::Json>;
template struct nlohmann::ordered_map<std::string, ak::Json>;
template class std::vector<ak::Json>;
