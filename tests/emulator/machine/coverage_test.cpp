// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/text/file.h"
#include "emulator/lower/mnemonics.h"
#include "emulator/lower/refusals.h"
#include "tests/emulator/ptx_fixture.h"

namespace ak::emulator::test {
namespace {

/// Words in backticks in the first column of the table under "## Coverage".
std::set<std::string> documented_opcodes() {
  const std::string page = read_file(AK_CPU_DEVICE_PAGE);
  std::istringstream lines(page.substr(page.find("## Coverage")));
  std::set<std::string> opcodes;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Refused by name");) {
    if (!line.starts_with("| `")) continue;
    std::istringstream words(line.substr(1, line.find('|', 1) - 1));
    for (std::string word; words >> word;) opcodes.insert(word.substr(1, word.size() - 2));
  }
  return opcodes;
}

/// The rows of the table behind "Refused by name:": instruction and what it is for.
std::set<std::pair<std::string, std::string>> documented_refusals() {
  const std::string page = read_file(AK_CPU_DEVICE_PAGE);
  std::istringstream lines(page.substr(page.find("Refused by name")));
  std::set<std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(lines, line) && !line.starts_with("Special registers");) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find("` | ");
    rows.emplace(line.substr(3, end - 3), line.substr(end + 4, line.size() - end - 6));
  }
  return rows;
}

std::string spelling_of(const Refusal& refusal) {
  const std::string opcode(refusal.opcode);
  return refusal.modifier.empty() ? opcode : opcode + "." + std::string(refusal.modifier);
}

}  // namespace

TEST_CASE("the page of the CPU device lists the instructions that are covered, and no others") {
  const auto covered = covered_opcodes();
  CHECK(documented_opcodes() == std::set<std::string>(covered.begin(), covered.end()));
}

TEST_CASE("what is refused by name is listed, and refused with these words and its line") {
  std::set<std::pair<std::string, std::string>> rows;
  for (const Refusal& refused : refusals()) {
    const std::string spelling = spelling_of(refused);
    rows.emplace(spelling, refused.what);
    const Outcome outcome = refusal(spelling + ";", 0);
    CHECK(outcome.status == Status::unsupported);
    CHECK_THAT(outcome.message,
               Catch::Contains("'" + spelling + "' (PTX line 13): " + std::string(refused.what)));
  }
  CHECK(documented_refusals() == rows);
}

}  // namespace ak::emulator::test
