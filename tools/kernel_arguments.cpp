// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel_arguments.h"

#include <algorithm>

#include "app/setup/config.h"
#include "core/error.h"
#include "tools/command_line.h"

namespace ak::tools {
namespace {

/// Whether the flag takes the next word as its value.
bool takes_next(const CLI::App& app, const std::string& flag) {
  if (flag.find('=') != std::string::npos) return false;
  const CLI::Option* option = app.get_option_no_throw(flag);
  return option == nullptr || option->get_items_expected_min() > 0;
}

}  // namespace

CLI::Option* add_kernel(CLI::App& app, const std::string& name, std::string& word) {
  return app.add_option(name, word, app::kKernelForms)->required();
}

bool asks_for_help(const app::Arguments& arguments) {
  return std::ranges::any_of(arguments,
                             [](const std::string& word) { return word == "--help" || word == "-h"; });
}

std::vector<std::string> plain_words(const CLI::App& app, const app::Arguments& arguments) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-')
      words.push_back(argument);
    else if (takes_next(app, argument))
      ++i;
  }
  return words;
}

std::optional<app::KernelChoice> named_kernel(CLI::App& app, const app::Arguments& arguments,
                                              const std::filesystem::path& database) {
  const std::vector<std::string> words = plain_words(app, arguments);
  if (words.empty() || asks_for_help(arguments)) return std::nullopt;
  try {
    return app::choose_kernel(words.front(), database);
  } catch (const Error&) {
    parse_known(app, arguments);  // a mistake in a flag is said first
    throw;
  }
}

std::filesystem::path named_database(const app::Arguments& arguments) {
  return app::database_file(peek(arguments, "--db"), app::load_config());
}

}  // namespace ak::tools
