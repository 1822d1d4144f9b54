// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "tools/json_answers.h"
#include "tools/manual/reference_pages.h"

namespace ak::tools {
namespace {

constexpr const char* kIntroduction =
    "# Command line\n\n"
    "Generated from the options that the program declares: `alphakernel manual --docs docs` writes it.\n\n"
    "Every command takes `--help` and `--version`.\n"
    "The program `generate_kernel` is `alphakernel generate`.\n"
    "The parameters of a problem, such as `--dtype`, are options, too: `generate_kernel --help --algorithm "
    "softmax` lists them.\n"
    "[exit_codes.md](../exit_codes.md) says what a command's exit code means.\n\n"
    "| command | what it does |\n|---|---|\n";

/// Where Markdown puts a heading: "alphakernel db merge" at #alphakernel-db-merge.
std::string anchor(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return command;
}

bool is_common(const OptionText& option) {
  return option.names.back() == "--help" || option.names.back() == "--version";
}

std::string names_text(const OptionText& option) {
  std::string text = fmt::format("`{}`", fmt::join(option.names, "`, `"));
  if (option.positional) return text + (option.repeated ? " ..." : "");
  return option.value.empty() ? text : fmt::format("{} {}", text, option.value);
}

std::string meaning_text(const OptionText& option) {
  std::string text = table_cell(option.help);
  if (!option.choices.empty()) text += fmt::format("; one of `{}`", fmt::join(option.choices, "`, `"));
  return option.required ? text + " (required)" : text;
}

std::string option_table(const CommandText& command) {
  std::string rows;
  for (const OptionText& option : command.options) {
    if (!is_common(option)) rows += fmt::format("| {} | {} |\n", names_text(option), meaning_text(option));
  }
  return rows.empty() ? "" : "| option | meaning |\n|---|---|\n" + rows + "\n";
}

/// The lines below the options, as they are in help.
std::string examples_block(const CommandText& command) {
  std::istringstream lines(command.examples);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Exit codes:")) text += line + "\n";
  }
  text.erase(0, text.find_first_not_of('\n'));
  while (text.ends_with("\n\n")) text.pop_back();
  return text.empty() ? "" : fmt::format("```\n{}```\n\n", text);
}

/// What --json prints, as a paragraph.
std::string json_paragraph(const CommandText& command) {
  const std::string sentence = json_sentence(command.name);
  return sentence.empty() ? "" : sentence + "\n\n";
}

std::string command_text(const CommandText& command, int level) {
  std::string text = fmt::format("{} {}\n\n{}\n\n{}{}{}", std::string(static_cast<std::size_t>(level), '#'),
                                 command.name, table_cell(command.summary), option_table(command),
                                 json_paragraph(command), examples_block(command));
  for (const CommandText& sub : command.subcommands) text += command_text(sub, 3);
  return text;
}

}  // namespace

std::string cli_page(const CommandText& program) {
  std::string text = kIntroduction;
  for (const CommandText& command : program.subcommands)
    text +=
        fmt::format("| [`{}`](#{}) | {} |\n", command.name, anchor(command.name), table_cell(command.brief));
  text += "\n";
  for (const CommandText& command : program.subcommands) text += command_text(command, 2);
  text.pop_back();
  return text;
}

}  // namespace ak::tools
