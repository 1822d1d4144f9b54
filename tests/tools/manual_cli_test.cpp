// SPDX-License-Identifier: Apache-2.0
// Man pages, completion and versions, for every subcommand and every flag that it has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/exit_codes.h"
#include "core/text/file.h"
#include "tests/support/run_program.h"
#include "tools/manual/command_tree.h"
#include "tools/manual/reference_pages.h"

using namespace ak;
using ak::testing::ProgramResult;
using ak::testing::run_program;
using ak::testing::TemporaryFolder;
using ak::tools::CommandText;

namespace {

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Output of `alphakernel WORDS EXTRA`, which has to succeed.
std::string output_of(const std::string& command, const std::string& extra) {
  std::vector<std::string> argv = split_words(command);
  argv.front() = AK_PROGRAM;
  argv.push_back(extra);
  const ProgramResult result = run_program(argv, {{"ALPHAKERNEL_CONFIG", "/nonexistent/none.json"}});
  INFO(command << " " << extra << "\n" << result.err);
  CHECK(result.exit_code == 0);
  return result.out;
}

/// The command, all below it.
std::vector<CommandText> flat(const CommandText& command) {
  std::vector<CommandText> all{command};
  for (const CommandText& sub : command.subcommands) {
    for (CommandText& one : flat(sub)) all.push_back(std::move(one));
  }
  return all;
}

/// "--long" names at the beginning of the lines of help.
std::set<std::string> flags_in_help(const std::string& help) {
  std::set<std::string> flags;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::size_t text = line.find("  ", 2);
    std::string names = line.substr(2, text == std::string::npos ? text : text - 2);
    std::ranges::replace(names, ',', ' ');
    for (const std::string& word : split_words(names)) {
      if (word.starts_with("--")) flags.insert(word);
    }
  }
  return flags;
}

std::string roff_name(const std::string& flag) {
  std::string name;
  for (const char c : flag) name += c == '-' ? "\\-" : std::string(1, c);
  return name;
}

/// What bash offers for the last of `words`.
std::vector<std::string> completed(const std::filesystem::path& script,
                                   const std::vector<std::string>& words) {
  std::string quoted;
  for (const std::string& word : words) quoted += " '" + word + "'";
  const ProgramResult result = run_program(
      {"/bin/bash", "--norc", "-c",
       fmt::format(
           "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _alphakernel; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
           script.string(), quoted, words.size() - 1)},
      {{"PATH", std::filesystem::path(AK_PROGRAM).parent_path().string() + ":/usr/bin:/bin"}});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  return split_words(result.out);
}

/// The pages and scripts, written once.
const std::filesystem::path& manual() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = [] {
    output_of("alphakernel manual", folder.path().string());
    return folder.path();
  }();
  return path;
}

/// Code spans and lines of code blocks that begin with one of the programs' names.
std::vector<std::string> commands_in(const std::string& page) {
  std::vector<std::string> commands;
  for (const char* program : {"`alphakernel ", "`generate_kernel ", "\nalphakernel ", "\ngenerate_kernel "}) {
    for (std::size_t at = page.find(program); at != std::string::npos; at = page.find(program, at + 1)) {
      const std::size_t end = page.find(program[0], at + 1);
      commands.push_back(page.substr(at + 1, end - at - 1));
    }
  }
  return commands;
}

/// "--max-minutes" of a command line, as often as there are flags.
std::vector<std::string> flags_of(const std::string& command) {
  std::vector<std::string> flags;
  for (const std::string& word : split_words(command)) {
    if (word.starts_with("--")) flags.push_back(word.substr(0, word.find('=')));
  }
  return flags;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::count(words, word) == 1;
}

}  // namespace

TEST_CASE("every subcommand prints the version") {
  const std::string version = output_of("alphakernel", "--version");
  CHECK(version == fmt::format("alphakernel {}\n", AK_VERSION));
  for (const CommandText& command : flat(tools::describe_program())) {
    INFO(command.name);
    CHECK(output_of(command.name, "--version") == version);
  }
}

TEST_CASE(
    "examples are of the command that shows them, lists begin in lower case and summaries are sentences") {
  const std::vector<CommandText> all = flat(tools::describe_program());
  for (const CommandText& command : all) {
    INFO(command.name);
    CHECK(std::islower(static_cast<unsigned char>(command.brief.front())));
    CHECK(command.summary.ends_with('.'));
    for (const tools::OptionText& option : command.options) {
      INFO(option.help);
      CHECK_FALSE((std::isupper(static_cast<unsigned char>(option.help[0])) &&
                   std::islower(static_cast<unsigned char>(option.help[1]))));
    }
    if (split_words(command.name).size() < 3) continue;
    std::istringstream lines(command.examples);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("  alphakernel ")) CHECK(line.starts_with("  " + command.name));
  }
}

TEST_CASE("a page and the completion name every subcommand that help shows") {
  std::istringstream lines(output_of("alphakernel", "--help"));
  const std::string fish = read_file(manual() / "alphakernel.fish");
  const std::string zsh = read_file(manual() / "alphakernel.zsh");
  int verbs = 0;
  for (std::string line; std::getline(lines, line) && !line.starts_with("First steps");) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    const std::string verb = split_words(line).front();
    INFO(verb);
    ++verbs;
    CHECK(std::filesystem::exists(manual() / "man1" / ("alphakernel-" + verb + ".1")));
    CHECK(has(completed(manual() / "alphakernel.bash", {"alphakernel", verb}), verb));
    CHECK(fish.find(fmt::format("-f -a {} -d", verb)) != std::string::npos);
    CHECK(zsh.find(fmt::format("'{}:", verb)) != std::string::npos);
  }
  CHECK(verbs >= 27);
}

TEST_CASE("pages and completion have every flag that help shows") {
  const std::string zsh = read_file(manual() / "alphakernel.zsh");
  const std::string fish = read_file(manual() / "alphakernel.fish");
  for (const CommandText& command : flat(tools::describe_program())) {
    const auto words = split_words(command.name);
    if (words.size() == 1) continue;
    const std::string page = read_file(manual() / "man1" / fmt::format("alphakernel-{}.1", words[1]));
    std::vector<std::string> line = words;
    line.emplace_back("--");
    const auto offered = completed(manual() / "alphakernel.bash", line);
    for (const std::string& flag : flags_in_help(output_of(command.name, "--help"))) {
      INFO(command.name << " " << flag);
      CHECK(page.find("\\fB" + roff_name(flag) + "\\fR") != std::string::npos);
      CHECK(has(offered, flag));
      CHECK(zsh.find(fmt::format("'{}:", flag)) != std::string::npos);
      CHECK(fish.find(fmt::format(" -l {}", flag.substr(2))) != std::string::npos);
    }
  }
}

TEST_CASE("bash completes words at their place") {
  const auto script = manual() / "alphakernel.bash";
  CHECK(completed(script, {"alphakernel", "gen"}) == std::vector<std::string>{"generate"});
  CHECK(completed(script, {"alphakernel", "session", "sta"}) == std::vector<std::string>{"start", "status"});
  CHECK(completed(script, {"alphakernel", "db", "merge", "--d"}) == std::vector<std::string>{"--db"});
  CHECK(completed(script, {"generate_kernel", "--max-m"}) == std::vector<std::string>{"--max-minutes"});
  CHECK(completed(script, {"alphakernel-dashboard", "--po"}) == std::vector<std::string>{"--port"});
  CHECK(completed(script, {"alphakernel", "compare", "1", "2", "--format", "ma"}) ==
        std::vector<std::string>{"markdown"});
  CHECK(completed(script, {"alphakernel", "completion", "f"}) == std::vector<std::string>{"fish"});
  CHECK(completed(script, {"generate_kernel", "--algorithm", "soft"}) == std::vector<std::string>{"softmax"});
  CHECK(completed(script, {"generate_kernel", "--output", "so"})
            .empty());  // a file's name: bash's own business
}

TEST_CASE("pages are without faults that the formatter sees") {
  const bool formatter = run_program({"/bin/sh", "-c", "command -v groff"}).exit_code == 0;
  if (!formatter) WARN("groff is not installed: only the structure is checked");
  for (const auto& entry : std::filesystem::directory_iterator(manual() / "man1")) {
    const std::string text = read_file(entry.path());
    INFO(entry.path());
    if (entry.path().filename() == "generate_kernel.1") {
      CHECK(text == ".so man1/alphakernel-generate.1\n");
      continue;
    }
    for (const char* part : {".TH ", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH OPTIONS\n"})
      CHECK(text.find(part) != std::string::npos);
    if (!formatter) continue;
    const ProgramResult result = run_program(
        {"/bin/sh", "-c", fmt::format("groff -man -ww -Tutf8 -Kutf8 '{}'", entry.path().string())});
    CHECK(result.exit_code == 0);
    CHECK(result.err == "");
  }
}

TEST_CASE("the generated pages of docs/ are what the tables say") {
  // alphakernel manual --docs docs writes them.
  for (const auto& [name, text] : tools::reference_pages()) {
    INFO(name << " is stale: build alphakernel and run alphakernel manual --docs docs");
    CHECK((read_file(std::string(AK_SOURCE_DIR) + "/docs/" + name) == text));
  }
}

TEST_CASE("alphakernel manual --docs writes the generated pages") {
  const TemporaryFolder folder;
  output_of("alphakernel manual --docs", folder.path().string());
  for (const auto& [name, text] : tools::reference_pages()) CHECK((read_file(folder.path() / name) == text));
  CHECK(run_program({AK_PROGRAM, "manual"}).exit_code == static_cast<int>(ExitCode::usage));
}

TEST_CASE("the page of the command line has every subcommand and every flag that help shows") {
  const std::string page = tools::reference_pages().at("reference/cli.md");
  for (const CommandText& command : flat(tools::describe_program())) {
    INFO(command.name);
    if (command.name == "alphakernel") continue;
    CHECK(page.find("# " + command.name + "\n") != std::string::npos);
    for (const tools::OptionText& option : command.options) {
      if (option.names.back() == "--help" || option.names.back() == "--version") continue;
      INFO(option.names.back());
      CHECK(page.find("`" + option.names.back() + "`") != std::string::npos);
    }
  }
}

TEST_CASE("the table of exit codes has every code, and the man page shows it") {
  std::istringstream lines(read_file(std::string(AK_SOURCE_DIR) + "/core/error.h"));
  std::map<std::string, int> codes;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line.starts_with("};")) break;
    if (inside) codes[split_words(line).front()] = std::stoi(line.substr(line.find('=') + 1));
    inside = inside || line.starts_with("enum class ExitCode");
  }
  const std::string page = read_file(manual() / "man1" / "alphakernel.1");
  CHECK(exit_codes().size() == codes.size());
  for (const ExitCodeInfo& info : exit_codes()) {
    INFO(info.name);
    CHECK(codes.at(std::string(info.name)) == static_cast<int>(info.code));
    CHECK(page.find(fmt::format("\\fB{}\\fR {}\n", static_cast<int>(info.code), info.name)) !=
          std::string::npos);
  }
}

TEST_CASE("questions, troubleshooting and guides name only subcommands and flags that there are") {
  // --dtype is a parameter of most problems, not of the program.
  std::set<std::string> verbs{"..."}, flags{"--dtype"};
  for (const CommandText& command : flat(tools::describe_program())) {
    verbs.insert(split_words(command.name).back());
    for (const tools::OptionText& option : command.options)
      flags.insert(option.names.begin(), option.names.end());
  }
  verbs.insert("manual");  // hidden
  flags.insert("--docs");
  int checked = 0;
  for (const char* name :
       {"faq.md", "troubleshooting.md", "occupancy.md", "guides/howto.md", "guides/choosing.md"}) {
    for (const std::string& command : commands_in(read_file(std::string(AK_SOURCE_DIR) + "/docs/" + name))) {
      INFO(name << ": " << command);
      if (command.starts_with("alphakernel ")) CHECK(verbs.contains(split_words(command).at(1)));
      for (const std::string& flag : flags_of(command)) CHECK(flags.contains(flag));
      ++checked;
    }
  }
  CHECK(checked > 30);
}
