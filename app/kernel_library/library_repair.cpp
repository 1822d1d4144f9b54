// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/library_repair.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/paired_comparison.h"
#include "app/evaluate/kernel_choice.h"
#include "app/evaluate/user_search.h"
#include "app/kernel_library/library_check.h"
#include "app/kernel_library/package_build.h"
#include "core/error.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kSearchesLimit{60'000};

std::int64_t number_of(const fs::path& database, std::string_view sql, const db::QueryValues& values) {
  const db::Table found = db::query(database, sql, 1, kSearchesLimit, values);
  const auto rows = db::rows_of(found);
  return rows.empty() ? 0 : rows.front().integer("id");
}

PackageEntry entry_of_kernel(const PackagedKernel& kernel) {
  const Json& description = kernel.description;
  PackageEntry entry{.name = kernel.name,
                     .kernel = {},
                     .problem = description.at("algorithm"),
                     .params = param_texts(description.at("params"))};
  for (const Json& axes : description.at("plan_shapes")) entry.axes.push_back(axes);
  return entry;
}

/// A search that ended with a kernel for the definition: the newest after the given one that was no single evaluation.
RowId search_for(const PackagedKernel& kernel, const RepairOrder& order) {
  return number_of(
      order.database,
      "SELECT coalesce(max(s.id), 0) AS id FROM searches s JOIN definitions d ON d.id = "
      "s.definition_id WHERE d.name = :name AND s.id > :after AND s.best_variant_id IS NOT NULL "
      "AND s.proposer <> 'user'",
      {{"name", kernel.description.at("definition").get<std::string>()}, {"after", order.searches_after}});
}

std::optional<double> cost_of(UserSearch& search, const Candidate& candidate) {
  const Completed done = search.complete(search.request(candidate));
  static_cast<void>(search.commit(done, ""));
  return done.result.score_ns;
}

/// The new kernel's time over the old one's; nothing where one of them fails.
std::optional<double> new_over_old(const PackagedKernel& kernel, const KernelChoice& found,
                                   const Target& target, const Config& config, const fs::path& database) {
  const auto store = db::open_store(database);
  UserSearch search({.problem = kernel.problem, .command = "library check --repair", .audited = true}, target,
                    config, *store);
  std::optional<double> ratio;
  if (target.kind == DeviceKind::cuda) {
    EvaluationRequest request = search.request(found.candidate);
    request.rival = std::make_shared<const Candidate>(kernel.candidate);
    request.tag = fmt::format("{}", kernel.variant);
    const Completed done = search.complete(std::move(request));
    static_cast<void>(search.commit(done, "comparison"));
    if (const auto verdict = agent::judge_pairs(done)) ratio = verdict->ratio.ratio;
  } else {
    const auto now = cost_of(search, found.candidate), before = cost_of(search, kernel.candidate);
    if (now && before) ratio = *now / *before;
  }
  search.end("library check --repair", std::nullopt);
  return ratio;
}

bool fails_now(const LibraryCheck& check, const std::string& name) {
  return std::ranges::any_of(check.shapes, [&](const CheckedShape& row) {
    return row.name == name && row.verdict == ShapeVerdict::failed;
  });
}

/// The word of the kernel that takes the operator's place; empty: none, with a note.
std::string replacement(const LibraryCheck& check, const PackagedKernel& kernel, const RepairOrder& order,
                        const Target& target, const Config& config, Repair& repair) {
  const RowId search = search_for(kernel, order);
  if (search == 0 && kernel.is_damaged()) return std::to_string(kernel.variant);
  if (search == 0) {
    repair.notes.push_back(fmt::format("{} stays: no search found a kernel", kernel.name));
    return {};
  }
  std::string word = fmt::format("search:{}", search);
  if (fails_now(check, kernel.name)) return word;
  const KernelChoice found = choose_kernel(word, order.database);
  const auto ratio = new_over_old(kernel, found, target, config, order.database);
  if (ratio && *ratio < 1) return word;
  repair.notes.push_back(fmt::format("{} stays: what {} found is no faster than it", kernel.name, word));
  return {};
}

void add_entries(const PackagedKernel& kernel, const std::string& word, std::vector<PackageEntry>& entries) {
  PackageEntry entry = entry_of_kernel(kernel);
  entry.kernel = word;
  entries.push_back(entry);
  entry.axes.clear();
  for (const std::string& alias : kernel.description.value("aliases", std::vector<std::string>{})) {
    entry.name = alias;
    entries.push_back(entry);
  }
}

PackageOrder rebuilt_order(const ReadPackage& package, const Repair& repair, const RepairOrder& order) {
  PackageOrder built{.name = package.name,
                     .version = next_version(package.description.value("version", "1.0")),
                     .entries = {},
                     .problems = order.problems,
                     .archs = {},
                     .device = package.device,
                     .database = order.database,
                     .compiler = order.compiler};
  for (const PackagedKernel& kernel : package.kernels) {
    const auto replaced = repair.replaced.find(kernel.name);
    const fs::path source = package.folder / package.name / "kernels" / (kernel.name + ".cu");
    const std::string kept = kernel.variant > 0 ? std::to_string(kernel.variant) : source.string();
    add_entries(kernel, replaced == repair.replaced.end() ? kept : replaced->second, built.entries);
    for (const Json& name : kernel.description.at("images")) {
      const Result<Arch> arch = parse_arch(name.get<std::string>());
      if (arch && std::ranges::find(built.archs, *arch) == built.archs.end()) built.archs.push_back(*arch);
    }
  }
  return built;
}

}  // namespace

std::vector<PackageEntry> entries_to_tune(const ReadPackage& package, const std::vector<std::string>& names) {
  std::vector<PackageEntry> entries;
  for (const PackagedKernel& kernel : package.kernels)
    if (std::ranges::find(names, kernel.name) != names.end() && !kernel.is_damaged())
      entries.push_back(entry_of_kernel(kernel));
  return entries;
}

RowId newest_search(const fs::path& database) {
  return number_of(database, "SELECT coalesce(max(id), 0) AS id FROM searches", {});
}

std::string next_version(const std::string& version) {
  constexpr std::string_view kPost = ".post";
  const std::size_t at = version.rfind(kPost);
  const std::string number = at == std::string::npos ? "" : version.substr(at + kPost.size());
  const bool counted =
      !number.empty() && number.size() < 9 && number.find_first_not_of("0123456789") == std::string::npos;
  if (!counted) return fmt::format("{}{}1", version, kPost);
  return fmt::format("{}{}{}", version.substr(0, at), kPost, std::stoi(number) + 1);
}

Repair repair_package(const LibraryCheck& check, const RepairOrder& order, const Config& config,
                      const std::function<void(const std::string&)>& progress) {
  Repair repair;
  const ReadPackage package = read_package(order.package, order.problems, order.database);
  const Target target = check_target(package, order.device);
  const std::vector<std::string> names = check.regressed();
  for (const PackagedKernel& kernel : package.kernels) {
    if (std::ranges::find(names, kernel.name) == names.end()) continue;
    const std::string word = replacement(check, kernel, order, target, config, repair);
    if (!word.empty()) repair.replaced[kernel.name] = word;
  }
  if (repair.replaced.empty()) return repair;
  PackageFolder folder(order.package, true);
  const BuiltPackage built = build_package(rebuilt_order(package, repair, order), folder, config, progress);
  for (const std::string& note : built.notes) repair.notes.push_back(note);
  return repair;
}

}  // namespace ak::app
