// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/counts_table.h"

#include <fmt/format.h>

#include <set>

namespace ak::app {
namespace {

constexpr std::string_view kClasses = "inst/thread/";

struct Row {
  std::string_view count, words;
};
constexpr Row kInstructions[] = {{"inst/warp", "warp instructions"}, {"inst/thread", "thread instructions"}};
constexpr Row kMemory[] = {
    {"global/bytes", "global bytes asked for"}, {"local/bytes", "local bytes asked for"},
    {"shared/wavefronts", "shared wavefronts"}, {"shared/bank_conflicts", "bank conflicts"},
    {"atomic/operations", "atomic operations"}, {"atomic/conflicts", "atomic conflicts"},
    {"branch/divergent", "divergent branches"}};

std::uint64_t value_of(const Counts& counts, std::string_view name) {
  const auto found = counts.find(std::string(name));
  return found == counts.end() ? 0 : found->second;
}

class CountsTable {
 public:
  explicit CountsTable(const EvaluationResult& result) {
    for (const Measurement& m : result.measurements) {
      if (m.role == MeasurementRole::candidate && !m.counts.empty()) columns_.push_back(&m);
    }
  }

  std::string text() const {
    if (columns_.empty()) return "";
    std::string text = line("exact counts of one call", [](const Measurement& m) { return m.workload; });
    for (const Row& row : kInstructions) text += count_line(row.words, row.count);
    for (const std::string& name : classes()) text += count_line("  " + name.substr(kClasses.size()), name);
    text += line("floating-point operations",
                 [](const Measurement& m) { return fmt::format("{}", operations(m.counts)); });
    text +=
        line("global sectors a request", [](const Measurement& m) { return sectors_a_request(m.counts); });
    for (const Row& row : kMemory) text += count_line(row.words, row.count);
    return text;
  }

 private:
  std::set<std::string> classes() const {
    std::set<std::string> names;
    for (const Measurement* m : columns_) {
      for (const auto& [name, value] : m->counts) {
        if (name.starts_with(kClasses)) names.insert(name);
      }
    }
    return names;
  }

  static std::uint64_t operations(const Counts& counts) {
    std::uint64_t sum = 0;
    for (const auto& [name, value] : counts) sum += name.starts_with("flop/") ? value : 0;
    return sum;
  }

  static std::string sectors_a_request(const Counts& counts) {
    const auto requests = static_cast<double>(value_of(counts, "global/requests"));
    if (requests <= 0) return "-";
    return fmt::format("{:.2f} (least {:.2f})",
                       static_cast<double>(value_of(counts, "global/sectors")) / requests,
                       static_cast<double>(value_of(counts, "global/least_sectors")) / requests);
  }

  std::string count_line(std::string_view words, std::string_view count) const {
    return line(words, [&](const Measurement& m) { return fmt::format("{}", value_of(m.counts, count)); });
  }

  template <class Cell>
  std::string line(std::string_view words, Cell cell) const {
    std::string text = fmt::format("  {:<26}", words);
    for (const Measurement* m : columns_) text += fmt::format("{:>20}", cell(*m));
    return text + "\n";
  }

  std::vector<const Measurement*> columns_;
};

}  // namespace

std::string counts_table(const EvaluationResult& result) { return CountsTable(result).text(); }

}  // namespace ak::app
