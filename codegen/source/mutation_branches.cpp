// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/mutation_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/text/characters.h"

namespace ak::codegen {
namespace {

constexpr std::string_view kMutationMacro = "AK_MUTATION_";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// "#  ifdef AK_X  // why": "ifdef" and "AK_X".
struct Directive {
  std::string_view word, condition;
};
std::optional<Directive> directive_in(std::string_view line) {
  line = without_blanks(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = without_blanks(line.substr(1));
  std::size_t end = 0;
  while (end < line.size() && is_word(line[end])) ++end;
  std::string_view condition = line.substr(end);
  condition = without_blanks(condition.substr(0, std::min(condition.find("//"), condition.find("/*"))));
  return Directive{line.substr(0, end), condition};
}

/// A condition of `defined(AK_MUTATION_X)` joined by ||, which is false where no mistake is planted.
bool asks_for_mutations_alone(std::string_view condition) {
  for (bool first = true;; first = false) {
    condition = without_blanks(condition);
    if (condition.empty()) return !first;
    if (!first && !condition.starts_with("||")) return false;
    if (!first) condition = without_blanks(condition.substr(2));
    if (!condition.starts_with("defined")) return false;
    condition = without_blanks(condition.substr(7));
    const bool in_brackets = condition.starts_with('(');
    if (in_brackets) condition = without_blanks(condition.substr(1));
    if (!condition.starts_with(kMutationMacro)) return false;
    while (!condition.empty() && is_word(condition.front())) condition.remove_prefix(1);
    if (!in_brackets) continue;
    condition = without_blanks(condition);
    if (!condition.starts_with(')')) return false;
    condition.remove_prefix(1);
  }
}

enum class Truth : std::uint8_t { is_false, is_true, open };

Truth truth_of(const Directive& directive) {
  if (directive.word == "ifdef" && directive.condition.starts_with(kMutationMacro)) return Truth::is_false;
  if (directive.word == "ifndef" && directive.condition.starts_with(kMutationMacro)) return Truth::is_true;
  const bool asks = directive.word == "if" || directive.word == "elif";
  return asks && asks_for_mutations_alone(directive.condition) ? Truth::is_false : Truth::open;
}

/// A group from #if to #endif.
struct BranchGroup {
  bool shown = true;         ///< what surrounds it is
  bool has_branch = false;   ///< a condition of it was written
  bool decided = false;      ///< a branch before was always taken: none after it is
  bool branch_shown = true;  ///< the branch that is being read
};

class BranchReader {
 public:
  /// Whether the line fits to what was read.
  bool read(std::string_view line) {
    const auto directive = directive_in(line);
    if (!directive) return write(line);
    if (directive->word == "if" || directive->word == "ifdef" || directive->word == "ifndef")
      return open(*directive, line);
    if (directive->word != "elif" && directive->word != "else" && directive->word != "endif")
      return write(line);
    if (groups_.empty()) return false;
    if (directive->word == "endif") return close(line);
    return directive->word == "elif" ? next(*directive, line) : last(line);
  }
  [[nodiscard]] bool complete() const { return groups_.empty(); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] bool shown() const {
    return groups_.empty() || (groups_.back().shown && groups_.back().branch_shown);
  }
  bool write(std::string_view line) {
    if (shown()) text_.append(line);
    return true;
  }
  bool open(const Directive& directive, std::string_view line) {
    groups_.push_back({.shown = shown()});
    return branch(truth_of(directive), line);
  }
  /// A condition whose own first ones are gone begins the group.
  bool next(const Directive& directive, std::string_view line) {
    const bool has_branch = groups_.back().has_branch;
    return branch(truth_of(directive),
                  has_branch ? std::string(line) : fmt::format("#if {}\n", directive.condition));
  }
  /// @param written the line of an open condition, where it is the first one of its group
  bool branch(Truth truth, std::string_view written) {
    BranchGroup& group = groups_.back();
    group.branch_shown = truth != Truth::is_false && !group.decided;
    if (truth == Truth::is_true) {
      // Behind open conditions it would be an #else; references have no such line.
      if (group.has_branch) return false;
      group.decided = true;
    } else if (truth == Truth::open && group.branch_shown) {
      if (group.shown) text_.append(written);
      group.has_branch = true;
    }
    return true;
  }
  bool last(std::string_view line) {
    BranchGroup& group = groups_.back();
    group.branch_shown = !group.decided;
    if (group.has_branch && group.shown) text_.append(line);
    return true;
  }
  bool close(std::string_view line) {
    const BranchGroup group = groups_.back();
    groups_.pop_back();
    if (group.has_branch && group.shown) text_.append(line);
    return true;
  }

  std::string text_;
  std::vector<BranchGroup> groups_;
};

}  // namespace

std::string without_mutations(std::string_view source) {
  if (source.find(kMutationMacro) == std::string_view::npos) return std::string(source);
  BranchReader reader;
  for (std::string_view rest = source; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    if (!reader.read(rest.substr(0, end))) return std::string(source);
    rest.remove_prefix(end);
  }
  return reader.complete() ? reader.take() : std::string(source);
}

}  // namespace ak::codegen
