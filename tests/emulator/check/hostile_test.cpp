// SPDX-License-Identifier: Apache-2.0
// Real PTX, changed at random and run: whatever a program says, it ends, and touches nothing of the host.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "tests/emulator/check/hostile_run.h"
#include "tests/support/fuzz_iterations.h"

namespace {

using ak::emulator::test::HostileCounts;

enum class Kind { text, word, modifier, reg, label, number };

struct Token {
  Kind kind;
  std::string text;
};
using Line = std::vector<Token>;

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == ':';
}

Kind kind_of(const std::string& text) {
  if (std::isdigit(static_cast<unsigned char>(text[0])) != 0) return Kind::number;
  if (text[0] == '%') return Kind::reg;
  if (text[0] == '.') return Kind::modifier;
  if (text[0] == '$') return Kind::label;
  return in_word(text[0]) ? Kind::word : Kind::text;
}

/// Registers with their '%' and modifiers with their dot are one token; other signs are one each.
Line tokens_of(const std::string& line) {
  Line tokens;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    if (in_word(line[at]) || line[at] == '%' || line[at] == '.')
      while (end < line.size() && in_word(line[end])) ++end;
    std::string text = line.substr(at, end - at);
    at = end;
    tokens.push_back({kind_of(text), std::move(text)});
  }
  return tokens;
}

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::string line;
  for (const char c : text) {
    line += c;
    if (c != '\n') continue;
    lines.push_back(tokens_of(line));
    line.clear();
  }
  return lines;
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    for (const Token& token : line) text += token.text;
  }
  return text;
}

// Where ranges, widths and sizes end.
constexpr const char* kNumbers[] = {
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "15",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1024",
    "4095",
    "4096",
    "65535",
    "65536",
    "99999",
    "0xFEFE",
    "1048575",
    "1048576",
    "16777216",
    "33554432",
    "-1",
    "-4",
    "-16",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "-2147483648",
    "0x7FB600000000",
    "0x7FB700000000",
    "0x7FB800000000",
    "0x7F2000000000",
    "9223372036854775807",
    "0xFFFFFFFFFFFFFFFF",
    "0x8000000000000000",
};

/// Programs with changes that keep most of them programs: tokens become others of their kind.
class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) programs_.push_back(lines_of(text));
    for (const auto& program : programs_) {
      for (const Line& line : program) {
        for (const Token& token : line) known_[token.kind].push_back(token.text);
      }
    }
    known_[Kind::number].insert(known_[Kind::number].end(), std::begin(kNumbers), std::end(kNumbers));
  }

  std::string next() {
    std::vector<Line> lines = programs_[below(programs_.size())];
    for (std::size_t changes = 1 + below(4); changes-- > 0;) change(lines);
    return text_of(lines);
  }
  std::uint64_t choices() { return random_(); }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  void change(std::vector<Line>& lines) {
    const std::size_t at = below(lines.size());
    switch (below(12)) {
      case 0:
        if (lines.size() > 1) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        return std::swap(lines[at], lines[below(lines.size())]);
      case 2: {  // an instruction more, of this program or another
        const auto& source = below(2) == 0 ? lines : programs_[below(programs_.size())];
        const Line added = source[below(source.size())];
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), added);
        return;
      }
      case 3:
        return swap_two(lines[at]);
      default:
        return replace_one(lines, at);
    }
  }

  std::vector<std::size_t> words_in(const Line& line) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i].kind != Kind::text) found.push_back(i);
    }
    return found;
  }

  void swap_two(Line& line) {
    const auto words = words_in(line);
    if (words.empty()) return;
    Token& one = line[words[below(words.size())]];
    Token& other = line[words[below(words.size())]];
    if (one.kind == other.kind) std::swap(one, other);
  }

  /// Mostly by what the same program has: another program's registers are not declared.
  void replace_one(std::vector<Line>& lines, std::size_t at) {
    const auto words = words_in(lines[at]);
    if (words.empty()) return;
    Token& token = lines[at][words[below(words.size())]];
    if (token.kind == Kind::number && below(2) == 0) {
      token.text = kNumbers[below(std::size(kNumbers))];
    } else if (token.kind == Kind::modifier || token.kind == Kind::number || below(8) == 0) {
      const auto& known = known_[token.kind];
      token.text = known[below(known.size())];
    } else {
      const Line& source = lines[below(lines.size())];
      for (const Token& candidate : source) {
        if (candidate.kind == token.kind && below(2) == 0) token.text = candidate.text;
      }
    }
  }

  std::vector<std::vector<Line>> programs_;
  std::map<Kind, std::vector<std::string>> known_;
  std::mt19937_64 random_{20250701};
};

std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(AK_HOSTILE_PTX)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::ranges::sort(paths, {}, [](const auto& path) { return path.filename(); });
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(ak::read_file(path));
  return texts;
}

}  // namespace

TEST_CASE("every program that the mutations start from runs") {
  HostileCounts counts;
  const auto texts = corpus();
  REQUIRE(texts.size() > 5);
  for (const std::string& text : texts) {
    const std::uint64_t before = counts.launched;
    for (std::uint64_t choices = 0; choices < 8; ++choices)
      ak::emulator::test::run_hostile(text, choices, counts);
    INFO(text.substr(0, 2000));
    CHECK(counts.launched > before);
  }
}

// A round takes about twenty times as long as one of the other random tests.
TEST_CASE("changed programs end within their budget and touch nothing of the host") {
  constexpr int kRounds = 5000, kCost = 20;
  Mutator mutator(corpus());
  HostileCounts counts;
  const int rounds = ak::test::fuzz_iterations(kRounds * kCost) / kCost;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = mutator.next();
    ak::emulator::test::run_hostile(text, mutator.choices(), counts);
  }
  WARN(counts.texts << " texts: " << counts.parsed << " were PTX, " << counts.lowered
                    << " kernels were lowered, " << counts.launched << " ran, " << counts.with_findings
                    << " with findings");
  CHECK(counts.launched > counts.texts / 10);
}
