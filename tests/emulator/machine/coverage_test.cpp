// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <string>

#include "core/text/file.h"
#include "emulator/lower/mnemonics.h"

namespace ak::emulator::test {
namespace {

/// Words in backticks in the first column of the table under "## Coverage".
std::set<std::string> documented_opcodes() {
  const std::string page = read_file(AK_CPU_DEVICE_PAGE);
  std::istringstream lines(page.substr(page.find("## Coverage")));
  std::set<std::string> opcodes;
  for (std::string line; std::getline(lines, line) && !line.starts_with("`tcgen05`");) {
    if (!line.starts_with("| `")) continue;
    std::istringstream words(line.substr(1, line.find('|', 1) - 1));
    for (std::string word; words >> word;) opcodes.insert(word.substr(1, word.size() - 2));
  }
  return opcodes;
}

}  // namespace

TEST_CASE("the page of the CPU device lists the instructions that are covered, and no others") {
  const auto covered = covered_opcodes();
  CHECK(documented_opcodes() == std::set<std::string>(covered.begin(), covered.end()));
}

}  // namespace ak::emulator::test
