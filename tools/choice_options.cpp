// SPDX-License-Identifier: Apache-2.0
#include "tools/choice_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::tools {

CLI::Option* add_choice(CLI::App& app, const std::string& names, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help) {
  const std::string shown = names.substr(0, names.find(','));
  const auto read = [&value, choices, shown](const std::string& given) {
    if (std::ranges::find(choices, given) == choices.end())
      throw CLI::ValidationError(shown, fmt::format("unknown '{}'{}; expected {}", sanitize(given, 60),
                                                    did_you_mean(given, choices), fmt::join(choices, ", ")));
    value = given;
  };
  // The part in braces is what command_tree.h reads choices from.
  return app.add_option_function<std::string>(names, read, help)
      ->type_name(fmt::format("WORD:{{{}}}", fmt::join(choices, ",")));
}

void refuse_word(std::string_view what, const std::string& given, const std::vector<std::string>& known) {
  if (given.empty()) fail(ExitCode::usage, "expected a {}: {}", what, fmt::join(known, ", "));
  fail(ExitCode::usage, "unknown {} '{}'{}; expected {}", what, sanitize(given, 60),
       did_you_mean(given, known), fmt::join(known, ", "));
}

}  // namespace ak::tools
