// SPDX-License-Identifier: Apache-2.0
#include "app/experiment/listed_result.h"

#include <algorithm>
#include <regex>

#include "app/experiment/experiment_report.h"
#include "app/experiment/manifest.h"
#include "core/text/file.h"
#include "core/text/json.h"

namespace ak::app {
namespace {

void read_report_json(const std::string& text, ListedResult& result) {
  const Json report = try_parse_json(text);
  result.status = "unreadable";
  if (!report.is_object() || !report.contains("expectations")) return;
  result.status = report.value("status", "unreadable");
  result.met = count_expectations(report, "met");
  result.missed = count_expectations(report, "missed") + count_expectations(report, "no_value");
  result.skipped = count_expectations(report, "skipped");
}

/// The line that report_text() writes: "Outcome: complete: 2 of 3 expectations met, 1 skipped because ...".
void read_report_text(const std::string& text, ListedResult& result) {
  static const std::regex outcome(
      R"(^Outcome: (\w+).*: (\d{1,6}) of (\d{1,6}) expectations met(?:, (\d{1,6}) skipped)?)");
  constexpr std::size_t kLineBytes = 1000;  // std::regex takes stack in proportion to the line
  std::smatch found;
  result.status = "unreadable";
  const std::size_t begin = ("\n" + text).find("\nOutcome: ");
  if (begin == std::string::npos) return;
  const std::string line = text.substr(begin, std::min(text.find('\n', begin) - begin, kLineBytes));
  if (!std::regex_search(line, found, outcome)) return;
  result.status = found[1];
  result.met = std::stoi(found[2]);
  result.skipped = found[4].matched ? std::stoi(found[4]) : 0;
  result.missed = std::stoi(found[3]) - result.met - result.skipped;
}

void read_result(const ResultFolder& folder, ListedResult& result) {
  const Json manifest = try_parse_json(read_file(folder.path / "manifest.json"));
  if (manifest.is_object()) result.experiment = manifest.value("name", "");
  const std::filesystem::path text = folder.path / "report.md";
  if (std::filesystem::exists(folder.report()))
    read_report_json(read_file(folder.report()), result);
  else if (std::filesystem::exists(text))
    read_report_text(read_file(text), result);
}

}  // namespace

ListedResult listed_result(const ResultFolder& folder) {
  ListedResult result;
  try {
    read_result(folder, result);
  } catch (const Json::exception&) {  // a number where a text was expected, say
    result.status = "unreadable";
  }
  return result;
}

std::vector<std::filesystem::path> result_folders() {
  std::vector<std::filesystem::path> roots{kResultsFolder}, folders;
  for (const std::filesystem::path& root : manifest_search_path()) roots.push_back(root / "results");
  for (const std::filesystem::path& root : roots) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(root, missing)) {
      if (std::filesystem::exists(entry.path() / "manifest.json"))
        folders.push_back(std::filesystem::canonical(entry.path()));
    }
  }
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

}  // namespace ak::app
