// SPDX-License-Identifier: Apache-2.0
// What the instructions in docs/agents/ call is there: tools, commands and their flags.
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "core/text/file.h"
#include "serve/mcp/tool.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> instruction_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(AK_SOURCE_DIR) / "docs/agents"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

/// The texts between backticks.
std::set<std::string> code_of(const std::string& page) {
  static const std::regex code("`([^`\n]+)`");
  std::set<std::string> found;
  for (std::sregex_iterator at(page.begin(), page.end(), code), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

bool is_subcommand(const std::string& word) {
  return word.size() > 2 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
}

/// Asks a command for its help: that of its subcommand where it has one.
void require_command(Sandbox& box, const std::string& line) {
  INFO(line);
  const std::vector<std::string> words = words_of(line);
  REQUIRE(words.size() >= 2);
  std::vector<std::string> asked{words[1]};
  const bool with_subcommand = words[1] == "session" || words[1] == "operations";
  if (with_subcommand && words.size() > 2 && is_subcommand(words[2])) asked.push_back(words[2]);
  asked.emplace_back("--help");
  const ProgramResult help = box.run(asked);
  CHECK(help.exit_code == 0);
  for (const std::string& word : words)
    if (word.starts_with("--")) CHECK((help.out + help.err).find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("the instructions for agents name no command that is not there") {
  Sandbox box;
  std::set<std::string> lines;
  for (const fs::path& file : instruction_files())
    for (const std::string& code : code_of(read_file(file)))
      if (code.starts_with("alphakernel ")) lines.insert(code);
  CHECK(lines.size() > 8);
  for (const std::string& line : lines) require_command(box, line);
}

TEST_CASE("the instructions for agents name every tool that they need, and none that is not there") {
  std::set<std::string> named;
  for (const fs::path& file : instruction_files()) {
    const auto code = code_of(read_file(file));
    named.insert(code.begin(), code.end());
  }
  for (const char* needed :
       {"show_problem", "evaluate", "explain_failure", "profile", "compare", "tune", "search", "explain",
        "save_kernel", "export_kernel", "start_session", "session_status", "stop_session", "job_result"}) {
    INFO(needed);
    CHECK(named.contains(needed));
    CHECK(mcp::find_tool(needed) != nullptr);
  }
  static const std::regex tool_like("[a-z]+_[a-z_]+");
  const std::set<std::string> others{"wait_s", "max_minutes", "max_evaluations", "my_problem"};
  for (const std::string& name : named)
    if (std::regex_match(name, tool_like) && !others.contains(name)) {
      INFO(name);
      CHECK(mcp::find_tool(name) != nullptr);
    }
}

TEST_CASE("the skill says by its front matter when it is used, and its files are there and short") {
  const fs::path folder = fs::path(AK_SOURCE_DIR) / "docs/agents/claude-code/alphakernel";
  const std::string skill = read_file(folder / "SKILL.md");
  static const std::regex front("^---\nname: alphakernel\ndescription: .{60,500}\n---\n");
  CHECK(std::regex_search(skill, front, std::regex_constants::match_continuous));
  static const std::regex link(R"(\]\(([a-z_]+\.md)\))");
  int links = 0;
  for (std::sregex_iterator at(skill.begin(), skill.end(), link), end; at != end; ++at, ++links)
    CHECK(fs::exists(folder / (*at)[1].str()));
  CHECK(links == 2);
  for (const fs::path& file : instruction_files()) CHECK(fs::file_size(file) < 5'000);
}
