// SPDX-License-Identifier: Apache-2.0
#include "tools/manual/command_tree.h"

#include <fmt/format.h>
#include <cctype>

#include "core/error.h"
#include "tools/command_line.h"
#include "tools/option_groups.h"

namespace ak::tools {
namespace {

/// "{text,markdown}" of "ENUM:{text,markdown}".
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::vector<std::string> choices;
  std::size_t from = begin + 1;
  while (from < end) {
    const std::size_t to = std::min(type.find(',', from), end);
    choices.push_back(type.substr(from, to - from));
    from = to + 1;
  }
  return choices;
}

OptionText option_text_of(const CLI::Option& option) {
  OptionText text{
      .help = option.get_description(), .group = group_of(option), .required = option.get_required()};
  text.positional = option.get_positional();
  text.repeated = option.get_items_expected_max() > 1;
  if (text.positional) text.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    text.choices = choices_of(type);
    text.value = type.substr(0, type.find(':'));
    if (text.value.empty()) text.value = "VALUE";
  }
  return text;
}

/// The first sentence as a line of a list: without its capital and its full stop.
std::string brief_of(const std::string& summary) {
  std::string brief = summary.substr(0, summary.find(". "));
  if (brief.ends_with('.')) brief.pop_back();
  if (!brief.empty()) brief[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(brief[0])));
  return brief;
}

/// A line of a list as a sentence.
std::string sentence_of(std::string brief) {
  if (!brief.empty()) brief[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(brief[0])));
  return brief + ".";
}

/// What the program and every group of subcommands take.
std::vector<OptionText> common_options() {
  return {{.names = {"-h", "--help"}, .help = "print this help and exit", .group = "Advanced"},
          {.names = {"--version"}, .help = "print the version and exit", .group = "Advanced"}};
}

}  // namespace

CommandText describe(const CLI::App& app, const std::string& name) {
  CommandText text{.name = name,
                   .brief = brief_of(app.get_description()),
                   .summary = app.get_description(),
                   .examples = app.get_footer()};
  for (const CLI::Option* option : app.get_options())
    if (!group_of(*option).empty()) text.options.push_back(option_text_of(*option));
  for (const CLI::App* sub : app.get_subcommands({}))
    text.subcommands.push_back(describe(*sub, name + " " + sub->get_name()));
  return text;
}

CommandText describe(const Verb& verb) {
  const std::string name = fmt::format("alphakernel {}", verb.name);
  const std::string brief(verb.summary);
  CommandText group{.name = name, .brief = brief, .summary = sentence_of(brief), .options = common_options()};
  const auto add = [&](const CLI::App& app) {
    const std::string& full = app.get_name();
    const bool whole = full == name || full == "generate_kernel";
    CommandText text = describe(app, whole ? name : full);
    if (!whole) {
      group.subcommands.push_back(std::move(text));
      return;
    }
    text.subcommands.insert(text.subcommands.end(), group.subcommands.begin(), group.subcommands.end());
    group = std::move(text);
    group.brief = brief;
  };
  const DescribeCommandLines describing(
      {.command = add, .group_help = [&](const std::string& help) { group.examples = help; }});
  AK_ASSERT(verb.run({}) == 0, "a verb that is only described returns at once");
  return group;
}

CommandText describe_program() {
  CommandText program{.name = "alphakernel",
                      .brief = "find fast, verified CUDA kernels",
                      .summary =
                          "AlphaKernel writes fast CUDA kernels: it proposes, builds, checks, times "
                          "and remembers.",
                      .options = common_options()};
  for (const Verb* verb : verbs()) {
    if (!verb->summary.empty()) program.subcommands.push_back(describe(*verb));
  }
  return program;
}

}  // namespace ak::tools
