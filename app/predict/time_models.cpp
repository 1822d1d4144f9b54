// SPDX-License-Identifier: Apache-2.0
#include "app/predict/time_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/device/device_catalog.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

/// The shipped models by name, first hit of the search path.
std::map<std::string, fs::path> shipped_models() {
  std::map<std::string, fs::path> found;
  for (const fs::path& root : data_search_path("ALPHAKERNEL_MODELS", "models", AK_SOURCE_MODELS)) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root / "time", missing)) {
      if (entry.path().extension() == ".json") found.try_emplace(entry.path().stem().string(), entry.path());
    }
  }
  return found;
}

NamedModels read_named(const fs::path& file) {
  constexpr std::size_t kVersionDigits = 8;  // enough to tell a user's few models apart
  return {.name = file.stem().string(),
          .version = sha256_hex(read_file(file)).substr(0, kVersionDigits),
          .models = profiler::read_models(file)};
}

/// "h200" of "NVIDIA H200".
std::string product_key(std::string name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (name.starts_with(kMaker)) name.erase(0, kMaker.size());
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(std::isalnum(c) != 0 ? std::tolower(c) : '_');
  });
  return name;
}

std::optional<fs::path> shipped_model_of(const std::string& arch) {
  const auto shipped = shipped_models();
  const auto target = parse_arch(arch);
  const DeviceEntry* product = target ? DeviceCatalog::shipped().nominal(*target) : nullptr;
  const std::string prefix = arch + "_";
  if (product) {
    const auto found = shipped.find(prefix + product_key(product->name));
    if (found != shipped.end()) return found->second;
  }
  const auto first = shipped.lower_bound(prefix);
  if (first == shipped.end() || !first->first.starts_with(prefix)) return std::nullopt;
  return first->second;
}

}  // namespace

fs::path user_model_file(const std::string& arch, const Config& config) {
  return database_file("", config).parent_path() / ("prediction_" + arch + ".json");
}

NamedModels open_models(const std::string& name_or_file) {
  std::error_code unreadable;
  if (fs::is_regular_file(name_or_file, unreadable)) return read_named(name_or_file);
  const auto shipped = shipped_models();
  if (const auto found = shipped.find(name_or_file); found != shipped.end()) return read_named(found->second);
  std::vector<std::string> names;
  for (const auto& [name, file] : shipped) names.push_back(name);
  fail(ExitCode::usage,
       "time model '{}' is neither a file nor shipped; expected a file that `alphakernel model "
       "fit` wrote or one of: {}",
       name_or_file, fmt::join(names, ", "));
}

std::optional<NamedModels> user_models(const std::string& arch, const Config& config) {
  const fs::path file = user_model_file(arch, config);
  if (!fs::exists(file)) return std::nullopt;
  return read_named(file);
}

std::optional<NamedModels> chosen_models(const std::string& arch, const Config& config) {
  if (config.time_model == kNoModel) return std::nullopt;
  if (config.time_model.empty()) return user_models(arch, config);
  NamedModels named = open_models(config.time_model);
  if (named.models.arch != arch)
    fail(ExitCode::usage, "time model {}: fitted for {}, not for {}", config.time_model, named.models.arch,
         arch);
  return named;
}

std::optional<NamedModels> models_of_target(const std::string& arch, const Config& config) {
  if (auto chosen = chosen_models(arch, config); chosen || config.time_model == kNoModel) return chosen;
  const auto shipped = shipped_model_of(arch);
  return shipped ? std::optional(read_named(*shipped)) : std::nullopt;
}

}  // namespace ak::app
