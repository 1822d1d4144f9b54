// SPDX-License-Identifier: Apache-2.0
// Which experiments there are, and what they came to.
#include <algorithm>

#include "app/experiment/listed_result.h"
#include "app/experiment/manifest.h"
#include "app/operations/operation.h"
#include "core/error.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

Json manifest_entry(const fs::path& file) {
  Json entry = {{"name", file.stem().string()},
                {"file", file.string()},
                {"question", ""},
                {"needs_gpu", false},
                {"runs", Json::array()}};
  try {
    const app::Manifest manifest = app::read_manifest(file);
    entry["question"] = manifest.question;
    entry["needs_gpu"] = std::ranges::any_of(manifest.expectations, &app::Expectation::needs_gpu);
    for (const app::ManifestRun& run : manifest.runs)
      entry["runs"].push_back(run.arch.empty() ? run.name : run.name + " (" + run.arch + ")");
  } catch (const Error& error) {
    entry["broken"] = error.what();
  }
  return entry;
}

Json result_entry(const fs::path& folder) {
  const app::ListedResult result = app::listed_result(app::ResultFolder(folder));
  return {{"folder", folder.string()}, {"experiment", result.experiment},
          {"status", result.status},   {"finished", result.finished()},
          {"met", result.met},         {"missed", result.missed},
          {"skipped", result.skipped}};
}

}  // namespace

Answer list_experiments(const Json&, const Context&, const Callbacks&) {
  Json list = {{"experiments", Json::array()}, {"results", Json::array()}};
  for (const fs::path& file : app::list_manifests()) list["experiments"].push_back(manifest_entry(file));
  for (const fs::path& folder : app::result_folders()) list["results"].push_back(result_entry(folder));
  return {.content = std::move(list)};
}

}  // namespace ak::operations
