// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/llm.h"
#include "core/text/json.h"

namespace ak::agent {

/// US dollars for a million tokens.
struct ModelPrice {
  double input = 0, output = 0, cache_read = 0, cache_write = 0;
};

/// What a model takes and costs.
struct ModelEntry {
  std::string provider, name;
  std::string source = {};                ///< who says so
  std::int64_t context_tokens = 0;        ///< 0: not known
  std::int64_t max_output_tokens = 0;     ///< 0: not known
  bool temperature = false;               ///< takes it
  bool stop = false;                      ///< takes stop sequences
  bool stream = true;                     ///< answers are asked for as a stream of events
  std::vector<std::string> efforts = {};  ///< of reasoning that it takes
  std::optional<ModelPrice> price = {};
  /// Most that a question may cost, whatever its answer takes: of coding agents, whose tokens nobody can limit.
  std::optional<double> question_usd = {};
  double max_per_estimate = 4.0 / 3;  ///< tokens for each that is estimated: three bytes each; not measured

  [[nodiscard]] std::optional<double> cost_usd(const LlmUsage& usage) const;
};

/// Models by provider and name. Immutable, so it may be shared between threads.
class ModelCatalog {
 public:
  /// The entries that come with the program (agent/llm/models/, compiled in) and above them those of `file`,
  /// in the same form or a list of such; an entry of a known name replaces the keys that it has. A file that
  /// is missing adds nothing. Throws Error(bad_input) naming file and key.
  [[nodiscard]] static ModelCatalog with_file(const std::filesystem::path& file);

  [[nodiscard]] const std::vector<ModelEntry>& entries() const { return entries_; }
  /// The entry; of an unknown model one without price and limits.
  [[nodiscard]] ModelEntry of(std::string_view provider, std::string_view name) const;

 private:
  /// The models of one provider.
  void add(const Json& written);
  void add_text(std::string_view text, const std::string& file);
  std::vector<ModelEntry> entries_;
};

}  // namespace ak::agent
