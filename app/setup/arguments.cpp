// SPDX-License-Identifier: Apache-2.0
#include "app/setup/arguments.h"

#include <algorithm>
#include <optional>

namespace ak::app {
namespace {

/// What an argument has after its flag at once, as in `--name=VALUE` and `-nVALUE`.
std::optional<std::string> attached_value(std::string_view argument, std::string_view flag) {
  const bool of_one_letter = !flag.starts_with("--");
  if (!argument.starts_with(flag) || argument.size() == flag.size()) return std::nullopt;
  const std::string_view rest = argument.substr(flag.size());
  if (of_one_letter) return std::string(rest);
  return rest.front() == '=' ? std::optional(std::string(rest.substr(1))) : std::nullopt;
}

}  // namespace

bool has_flag(const Arguments& arguments, std::string_view flag) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument == flag || attached_value(argument, flag);
  });
}

std::string take_option(Arguments& arguments, const std::string& flag) {
  std::string value;
  for (std::size_t i = 0; i < arguments.size();) {
    const bool apart = arguments[i] == flag && i + 1 < arguments.size();
    const auto attached = attached_value(arguments[i], flag);
    if (!apart && !attached) {
      ++i;
      continue;
    }
    value = apart ? arguments[i + 1] : *attached;
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + (apart ? 2 : 1));
  }
  return value;
}

}  // namespace ak::app
