// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "app/setup/config.h"
#include "profiler/prediction/model_file.h"

namespace ak::app {

/// Where `alphakernel model fit` writes the user's model of a target: prediction_<arch>.json in the folder of the
/// user's database.
[[nodiscard]] std::filesystem::path user_model_file(const std::string& arch, const Config& config);

/// Config::time_model of who wants no model.
inline constexpr std::string_view kNoModel = "none";

/// A model and the name that people know it by: "sm_90a_h200" of a shipped one, "prediction_sm_90a" of the
/// user's own.
struct NamedModels {
  std::string name;
  std::string version =
      {};  ///< first digits of the file's SHA-256: a model that is fitted again keeps its name
  profiler::FittedModels models = {};

  /// "sm_90a_h200@1f0c2d3e": what stored predictions call it, before what it knew.
  [[nodiscard]] std::string identity() const { return name + "@" + version; }
};

/// The model of that name or file: a file that exists, else NAME.json among the shipped ones. Throws Error(usage)
/// listing the shipped ones where there is none, Error(bad_input) where it is broken.
[[nodiscard]] NamedModels open_models(const std::string& name_or_file);

/// The user's own model of `arch`; nothing when none was fitted. Throws Error(bad_input) when it is broken.
[[nodiscard]] std::optional<NamedModels> user_models(const std::string& arch, const Config& config);

/// What the user chose to predict times of `arch` with: the model that the configuration names (`time_model`), else the
/// user's own; nothing when there is none, or `time_model` is "none". Throws as open_models() does, and Error(usage)
/// when the one that was named is of another target.
[[nodiscard]] std::optional<NamedModels> chosen_models(const std::string& arch, const Config& config);

/// What the times of `arch` are predicted with where no GPU is here: what the user chose, else the shipped one of the
/// product that stands for the target (`<arch>_<product>`), else the first shipped one of the target. Nothing when
/// there is none, or `time_model` is "none". Throws as chosen_models() does.
[[nodiscard]] std::optional<NamedModels> models_of_target(const std::string& arch, const Config& config);

}  // namespace ak::app
