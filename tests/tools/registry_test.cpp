// SPDX-License-Identifier: Apache-2.0
// Every registry: each file of its folder is one row, each row has its file and its place in the documentation. An edit
// that was forgotten fails here.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "agent/llm/api/dialect.h"
#include "agent/llm/api/provider.h"
#include "agent/search/strategy.h"
#include "app/operations/operation.h"
#include "codegen/problem/problem_catalog.h"
#include "core/device/device_catalog.h"
#include "core/gate.h"
#include "core/plan/device_headers.h"
#include "core/plan/problem.h"
#include "core/text/file.h"
#include "db/read/named_queries.h"
#include "profiler/analysis/bottleneck_rules.h"
#include "profiler/analysis/metric_catalog.h"
#include "tools/verb.h"

namespace ak {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const fs::path kRoot = AK_SOURCE_DIR;

/// The names of rows, which `name` gives of each.
template <typename Rows, typename Name>
Names names_of(const Rows& rows, Name name) {
  Names names;
  for (const auto& row : rows) names.emplace_back(std::invoke(name, row));
  return names;
}

Names stems(const fs::path& folder, std::string_view extension) {
  Names names;
  for (const auto& entry : fs::directory_iterator(kRoot / folder))
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

/// A table and what has to be there for each of its rows.
struct Registry {
  std::string what;
  Names rows;
  fs::path folder = {};        ///< empty: its rows are all there is of it
  std::string extension = {};  ///< of the files in the folder
  fs::path document = {};      ///< names every row; empty: none does
  std::string mention = "`{}`";
};

std::vector<Registry> registries() {
  return {
      {"strategies", names_of(agent::strategies(), &agent::Strategy::name), "agent/search/strategies", ".cpp",
       "docs/search.md"},
      {"dialects", names_of(agent::dialects(), &agent::Dialect::name), "agent/llm/api/dialects", ".cpp",
       "docs/providers.md"},
      {"providers", names_of(agent::builtin_providers(), &agent::Provider::name), "", "", "docs/providers.md",
       "`{}:"},
      {"operations", names_of(operations::all_operations(), &operations::Operation::name), "", "",
       "docs/operations.md", "\n## {}\n"},
      {"verbs", names_of(tools::verbs(), &tools::Verb::name), "tools/verbs", ".cpp"},
      {"named queries", names_of(db::named_queries({}), &db::NamedQuery::name), "db/queries", ".sql",
       "docs/queries.md"},
      {"devices", names_of(DeviceCatalog::shipped().entries(), &DeviceEntry::name), "core/device/catalog",
       ".json"},
      {"gates", names_of(gates(), &GateInfo::name), "", "", "docs/trust.md"},
      {"bottlenecks", names_of(profiler::bottleneck_rules(), &profiler::Rule::name), "", "",
       "docs/profiling.md"},
      {"counters", names_of(profiler::catalog(), &profiler::MetricInfo::name), "", "", "docs/profiling.md"},
      {"mutations", names_of(kAutomaticMutations, &AutomaticMutation::name), "", "", "docs/checking.md"},
      {"library baselines", Names(kLibraryBaselines.begin(), kLibraryBaselines.end()), "", "",
       "docs/problem.md"},
      {"report sections", stems("serve/pages/report/sections", ".sql"), "serve/pages/report/sections", ".md",
       "docs/report.md"},
      {"device headers", names_of(device_headers(), &EmbeddedFile::name), "templates/include/ak", ".cuh",
       "docs/device_headers.md"},
      {"pages of the dashboard", stems("serve/dashboard/pages", ".sql"), "serve/dashboard/pages", ".md"},
  };
}

}  // namespace

TEST_CASE("every row of a registry has a name of its own") {
  for (const Registry& registry : registries()) {
    INFO(registry.what);
    CHECK_FALSE(registry.rows.empty());
    CHECK(std::set(registry.rows.begin(), registry.rows.end()).size() == registry.rows.size());
  }
}

TEST_CASE("a registry has as many rows as its folder has files") {
  for (const Registry& registry : registries()) {
    if (registry.folder.empty()) continue;
    INFO(registry.what);
    CHECK(stems(registry.folder, registry.extension).size() == registry.rows.size());
  }
}

TEST_CASE("the documentation names every row") {
  for (const Registry& registry : registries()) {
    if (registry.document.empty()) continue;
    const std::string text = read_file(kRoot / registry.document);
    for (const std::string& row : registry.rows) {
      INFO(registry.what << ": " << row << " in " << registry.document);
      CHECK(text.find(fmt::format(fmt::runtime(registry.mention), row)) != std::string::npos);
    }
  }
}

TEST_CASE("a verb is in the file of its name, and a document shows it") {
  std::string documents = read_file(kRoot / "README.md");
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") documents += read_file(entry.path());
  for (const tools::Verb* verb : tools::verbs()) {
    INFO(verb->name);
    std::string file(verb->name);
    std::ranges::replace(file, '-', '_');
    CHECK(fs::exists(kRoot / fmt::format("tools/verbs/{}_verb.cpp", file)));
    const bool shown = documents.find(fmt::format("alphakernel {}", verb->name)) != std::string::npos ||
                       documents.find(fmt::format("{}_kernel", verb->name)) != std::string::npos;
    CHECK(shown);
  }
}

TEST_CASE("a folder of templates is a problem that loads, and docs/kernels.md describes it") {
  const std::string text = read_file(kRoot / "docs/kernels.md");
  std::set<std::string> known;
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    INFO(entry.name << ": " << entry.input_error);
    CHECK(entry.input_error.empty());
    CHECK(text.find(fmt::format("`{}`", entry.name)) != std::string::npos);
    known.insert(entry.name);
  }
  for (const auto& entry : fs::directory_iterator(kRoot / "templates")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    const bool found = known.contains(name) || name == "include" || name == "prompts" || name == "README.md";
    CHECK(found);
  }
}

}  // namespace ak
