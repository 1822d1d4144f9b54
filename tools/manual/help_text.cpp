// SPDX-License-Identifier: Apache-2.0
#include "tools/manual/help_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tools/option_groups.h"

namespace ak::tools {
namespace {

// Wider lines are hard to read, narrower ones leave a text no room next to its name; 80 is what files are read in.
constexpr int kMaxColumns = 100, kMinColumns = 50, kPlainColumns = 80;

/// Words of `text` in lines of at most `width` characters; a longer word has a line of its own.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

std::string paragraph(const std::string& text, int columns) {
  return fmt::format("{}\n", fmt::join(wrapped(text, static_cast<std::size_t>(columns)), "\n"));
}

/// `name` and, from column `indent` on, what it is.
std::string entry(const std::string& name, const std::string& text, std::size_t indent, int columns) {
  const std::vector<std::string> lines = wrapped(text, static_cast<std::size_t>(columns) - indent);
  std::string out = "  " + name;
  const bool beside = out.size() + 2 <= indent;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool same_line = i == 0 && beside;
    out += same_line ? std::string(indent - out.size(), ' ') : "\n" + std::string(indent, ' ');
    out += lines[i];
  }
  return out + "\n";
}

/// "-o, --output FILE", "--format {text,json}".
std::string name_of(const OptionText& option) {
  std::string name = fmt::format("{}", fmt::join(option.names, ", "));
  if (option.positional) return name + (option.repeated ? "..." : "");
  constexpr std::size_t kMaxShown = 4;  // more would push the text away; it names them then
  const std::size_t choices = option.choices.size();
  if (choices > 0 && choices <= kMaxShown)
    return fmt::format("{} {{{}}}", name, fmt::join(option.choices, ","));
  return option.value.empty() ? name : name + " " + option.value;
}

std::string text_of(const OptionText& option) { return option.help + (option.required ? " (required)" : ""); }

std::string usage_of(const CommandText& command) {
  std::string usage = "Usage: " + command.name;
  if (!command.subcommands.empty()) usage += " SUBCOMMAND";
  for (const OptionText& option : command.options)
    if (option.positional) usage += " " + (option.required ? name_of(option) : "[" + name_of(option) + "]");
  return usage + " [OPTIONS]\n";
}

/// Groups of the command's options: the arguments, the known ones, with the verb's own after the main one.
std::vector<std::string> groups_in(const CommandText& command) {
  std::vector<std::string> groups;
  for (const std::string_view known : option_groups()) groups.emplace_back(known);
  for (const OptionText& option : command.options)
    if (!option.positional && std::ranges::find(groups, option.group) == groups.end())
      groups.insert(groups.begin() + 1, option.group);
  return groups;
}

std::string options_of(const CommandText& command, const std::string& group, int columns) {
  constexpr std::size_t kIndent = 28;
  std::string out;
  for (const OptionText& option : command.options)
    if (!option.positional && option.group == group)
      out += entry(name_of(option), text_of(option), kIndent, columns);
  return out.empty() ? "" : fmt::format("\n{}:\n{}", group, out);
}

std::string verbs_of(std::string_view group, std::span<const Verb* const> verbs, int columns) {
  constexpr std::size_t kIndent = 16;
  std::string out;
  for (const Verb* verb : verbs)
    if (!verb->summary.empty() && verb->group == group)
      out += entry(std::string(verb->name), std::string(verb->summary), kIndent, columns);
  return out;
}

}  // namespace

std::string help_text(const CommandText& command, int columns) {
  std::string out = paragraph(command.summary, columns) + "\n" + usage_of(command);
  std::string arguments;
  constexpr std::size_t kIndent = 16;
  for (const OptionText& option : command.options)
    if (option.positional) arguments += entry(name_of(option), text_of(option), kIndent, columns);
  if (!arguments.empty()) out += "\n" + arguments;
  if (!command.subcommands.empty()) out += "\nSubcommands:\n";
  for (const CommandText& sub : command.subcommands)
    out += entry(sub.name.substr(sub.name.rfind(' ') + 1), sub.brief, kIndent, columns);
  for (const std::string& group : groups_in(command)) out += options_of(command, group, columns);
  return command.examples.empty() ? out : out + "\n" + command.examples + "\n";
}

std::string program_help(int columns) {
  std::string out = paragraph(
      "AlphaKernel writes fast CUDA kernels: it proposes, builds, checks, times and remembers.", columns);
  out += "\nUsage: alphakernel VERB [OPTIONS]          alphakernel VERB --help\n";
  std::vector<std::string_view> groups;
  for (const Verb* verb : verbs())
    if (!verb->summary.empty() && std::ranges::find(groups, verb->group) == groups.end())
      groups.push_back(verb->group);
  for (const std::string_view group : groups)
    out += fmt::format("\n{}:\n{}", group.empty() ? "Other" : group, verbs_of(group, verbs(), columns));
  return out;
}

int help_columns() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kPlainColumns;
  return std::clamp<int>(size.ws_col, kMinColumns, kMaxColumns);
}

}  // namespace ak::tools
