// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/verb.h"

namespace ak::tools {

/// A flag or an argument as help shows it.
struct OptionText {
  std::vector<std::string> names = {};    ///< "-o", "--output"; of an argument only its name, "file"
  std::string value = {};                 ///< kind of its value, "TEXT"; empty for a flag without one
  std::vector<std::string> choices = {};  ///< its only values, where they are known
  std::string help = {};
  std::string group = {};  ///< of option_groups(), or of the verb
  bool positional = false, required = false, repeated = false;
};

/// One command line: its program and words, what it does, what it takes.
struct CommandText {
  std::string name;           ///< "alphakernel db merge"
  std::string brief;          ///< what it does, on a line
  std::string summary;        ///< a sentence or more
  std::string examples = {};  ///< lines below the options; may be empty
  std::vector<OptionText> options = {};
  std::vector<CommandText> subcommands = {};
};

/// The command line of an app whose flags are declared. @param name "alphakernel db merge"
[[nodiscard]] CommandText describe(const CLI::App& app, const std::string& name);

/// The command line of `verb`, which declares its flags and does nothing else.
[[nodiscard]] CommandText describe(const Verb& verb);

/// `alphakernel` with every verb that help shows.
[[nodiscard]] CommandText describe_program();

}  // namespace ak::tools
