// SPDX-License-Identifier: Apache-2.0
// Every option whose value is a number, of every command line, against texts that are none of its numbers.
#include "tools/number_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/error.h"
#include "tests/support/sandbox.h"
#include "tools/command_line.h"
#include "tools/verb.h"

namespace ak::tools {
namespace {

using testing::code;
using testing::ProgramResult;
using testing::Sandbox;

/// Kinds of values that only number_options.cpp gives.
constexpr std::array<std::string_view, 5> kKinds{"INTEGER", "TIME", "DOLLARS", "SIZE", "NUMBER"};
/// What CLI11 would read by rules of its own.
constexpr std::array<std::string_view, 3> kRawKinds{"INT", "UINT", "FLOAT"};

const std::vector<std::string> kWrong{
    "nan",   "inf",  "-inf",  "1e999", "-1", "",     " ",    " 5",
    "5 ",    "0x10", "1,000", "1_0",   "+5", "five", "1.5x", "99999999999999999999",
    "1e400", "-5h"};

/// `option` of `app`, a command or one of its subcommands, with this value.
std::string refusal(CLI::App& root, const std::vector<std::string>& words, const CLI::Option& option,
                    const std::string& value) {
  std::vector<std::string> arguments = words;
  if (option.get_positional())
    arguments.insert(arguments.end(), {"--", value});
  else
    arguments.push_back(fmt::format("--{}={}", option.get_lnames().front(), value));
  std::ranges::reverse(arguments);
  try {
    root.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

struct Seen {
  int options = 0;
  std::vector<std::string> raw;  ///< options that CLI11 reads as numbers
};

void check_options(CLI::App& root, CLI::App& app, std::vector<std::string> words, Seen& seen) {
  for (CLI::Option* option : app.get_options()) {
    const std::string kind = option->get_type_name();
    const std::string name = root.get_name() + " " + option->get_name();
    if (std::ranges::find(kRawKinds, kind) != kRawKinds.end()) seen.raw.push_back(name);
    if (std::ranges::find(kKinds, kind) == kKinds.end()) continue;
    ++seen.options;
    for (const std::string& value : kWrong) {
      if (option->get_positional() && value.empty()) continue;  // as if it were left out
      INFO(name << " '" << value << "'");
      const std::string said = refusal(root, words, *option, value);
      CHECK_FALSE(said.empty());
      // A flag's empty value is none to CLI11.
      if (!value.empty()) CHECK_THAT(said, Catch::Contains("expected ") && Catch::Contains(", got '"));
    }
  }
  for (CLI::App* sub : app.get_subcommands({})) {
    std::vector<std::string> below = words;
    below.push_back(sub->get_name());
    check_options(root, *sub, below, seen);
  }
}

}  // namespace

TEST_CASE("every option that takes a number refuses what is none of its numbers, and says what it expected") {
  Seen seen;
  const DescribeCommandLines describe({.command =
                                           [&](const CLI::App& app) {
                                             auto& command = const_cast<CLI::App&>(app);
                                             check_options(command, command, {}, seen);
                                           },
                                       .group_help = [](const std::string&) {}});
  for (const Verb* verb : verbs()) {
    if (!verb->summary.empty()) static_cast<void>(verb->run({}));
  }
  CHECK(seen.options >= 35);
  CHECK(seen.raw == std::vector<std::string>{});
}

TEST_CASE("a limit that is no number, or money that is no amount, never becomes no limit") {
  Sandbox box;
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--max-cost-usd", "nan"},
                                                        {"--max-cost-usd", "inf"},
                                                        {"--max-cost-usd", "-1"},
                                                        {"--max-minutes", "nan"},
                                                        {"--max-minutes", "1e999"},
                                                        {"--max-tokens", "-1"},
                                                        {"--workers", "-1"},
                                                        {"--stop-when-done", "0"},
                                                        {"--patience", "0"}}) {
    const ProgramResult result = box.generate({flag + "=" + value});
    INFO(flag << " " << value << "\n" << result.err);
    CHECK(result.exit_code == code(ExitCode::usage));
    CHECK_THAT(result.err,
               Catch::StartsWith("error: " + flag + ": expected ") && Catch::Contains("got '" + value));
  }
  CHECK_FALSE(box.exists("ak.db"));
  CHECK(box.generate({"--max-minutes", "1h30m", "--max-cost-usd", "$5"}).exit_code == 0);
}

TEST_CASE("JSON files with a number that no double holds, or a key twice, are bad input with file and line") {
  Sandbox box;
  const std::string problem = (box.folder / "problem").string();
  std::filesystem::create_directory(problem);
  const std::vector<std::pair<std::string, std::vector<std::string>>> readers{
      {"config.json", {"query", "SELECT 1"}},
      {"problem/problem.json", {"problem", "check", problem}},
      {"night.json", {"session", "start", (box.folder / "night.json").string()}},
      {"why.json", {"experiment", "run", (box.folder / "why.json").string()}},
  };
  for (const auto& [file, arguments] : readers) {
    for (const auto& [text, words] : {std::pair{"{\"a\": 1,\n\"b\": 1e999}", "line 2"},
                                      std::pair{"{\"a\": 1,\n\"a\": 2}", "the key 'a'"}}) {
      const std::string path = box.write(file, text);
      const ProgramResult result = box.run(arguments);
      INFO(file << ": " << text << "\n" << result.err);
      CHECK(result.exit_code == code(ExitCode::bad_input));
      CHECK_THAT(result.err, Catch::Contains(file) && Catch::Contains(words) && Catch::Contains("line 2"));
      std::filesystem::remove(path);
    }
  }
}

TEST_CASE("a database in a folder that is not there is refused, and no folder is made") {
  Sandbox box;
  const std::string file = (box.folder / "no/such/ak.db").string();
  const ProgramResult result = box.generate({"--db", file});
  INFO(result.err);
  CHECK(result.exit_code == code(ExitCode::database));
  CHECK_THAT(result.err,
             Catch::Contains((box.folder / "no/such").string()) && Catch::Contains("does not exist"));
  CHECK_FALSE(box.exists("no"));
  box.environment["ALPHAKERNEL_DB"] = "";
  box.environment["XDG_DATA_HOME"] = (box.folder / "data").string();
  CHECK(box.generate({}).exit_code == 0);
  CHECK(box.exists("data/alphakernel/alphakernel.db"));
}

}  // namespace ak::tools
