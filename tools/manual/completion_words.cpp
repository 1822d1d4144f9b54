// SPDX-License-Identifier: Apache-2.0
#include "tools/manual/completion_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ak::tools {

std::vector<const CommandText*> all_commands(const CommandText& command) {
  std::vector<const CommandText*> all{&command};
  for (const CommandText& sub : command.subcommands) {
    for (const CommandText* one : all_commands(sub)) all.push_back(one);
  }
  return all;
}

std::string last_word(const CommandText& command) { return command.name.substr(command.name.rfind(' ') + 1); }

std::string known_paths(const CommandText& program, const std::string& separator) {
  std::vector<std::string> paths;
  for (const CommandText* command : all_commands(program)) {
    if (command != &program) paths.push_back("'" + command->name + "'");
  }
  return fmt::format("{}", fmt::join(paths, separator));
}

std::string value_cases(const CommandText& program, const std::string& choices, const std::string& any) {
  std::string cases;
  for (const CommandText* command : all_commands(program)) {
    std::vector<std::string> free;
    for (const OptionText& option : command->options) {
      if (option.positional || option.value.empty()) continue;
      for (const std::string& name : option.names) {
        const std::string pattern = fmt::format("'{} {}'", command->name, name);
        if (option.choices.empty())
          free.push_back(pattern);
        else
          cases += fmt::format("    {}) {} ;;\n", pattern,
                               fmt::format(fmt::runtime(choices), fmt::join(option.choices, " ")));
      }
    }
    if (!free.empty()) cases += fmt::format("    {}) {} ;;\n", fmt::join(free, "|"), any);
  }
  return cases;
}

}  // namespace ak::tools
