// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "agent/llm/api/provider.h"
#include "agent/loop.h"
#include "core/device/device_catalog.h"

namespace ak::app {

/// Defaults a user sets once, in locations().config, else $ALPHAKERNEL_CONFIG, else
/// $XDG_CONFIG_HOME/alphakernel/config.json, else ~/.config/alphakernel/config.json. Flags win over it. docs/config.md
/// lists the keys.
struct Config {
  std::string database, cache, arch, device;
  std::vector<std::string> models;  ///< language models that write candidates
  int workers = 0;
  std::string python;   ///< interpreter for references in Python; empty: runtime::find_python() looks for one
  bool predict = true;  ///< predicted times prune on a GPU and rank on the CPU device, where there is a model
  std::string time_model;  ///< name or file of the model that predicts them; empty: that of the target
  agent::Budgets budgets;
  agent::LlmSettings llm;          ///< who can be asked for candidates (docs/providers.md)
  std::string llm_effort;          ///< how long a model that reasons thinks; empty: its default
  int llm_answer_tokens = 16'000;  ///< most tokens of an answer, thinking included
  int llm_parallel = 1;            ///< questions in flight at once
  int llm_candidates = 3;          ///< most candidates of an answer, where several are asked for
};

[[nodiscard]] std::filesystem::path config_path();
/// Defaults when there is no file. Throws Error(bad_input) naming file, key and what was expected.
[[nodiscard]] Config load_config();

/// The interpreter that the command line names (--python), else the configuration's; empty: nobody named one.
[[nodiscard]] std::string named_python(const Config& config);

/// The shipped device catalogue and above it the user's files in the folder devices/ alongside the configuration
/// file. Throws Error(bad_input) naming file and key.
[[nodiscard]] DeviceCatalog load_device_catalog();

/// The performance database: the flag's where given, else the configured one, else the user's default.
[[nodiscard]] std::filesystem::path database_file(const std::string& flag, const Config& config);

}  // namespace ak::app
