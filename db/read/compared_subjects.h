// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/store.h"

namespace ak::db {

// What `alphakernel compare` reads of sessions, devices, language models and prompts. All throw
// Error(database). A "cost" below is a GPU time or, on the CPU device, an estimated cost, in nanoseconds: the
// caller looks at the kind of device before it compares two of them.

/// A device by what users call it.
struct DeviceName {
  std::string kind, name;
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
/// Those that evaluated something.
[[nodiscard]] std::vector<DeviceName> device_names(const std::filesystem::path& file);

/// What one side of a comparison of language models is chosen by: a column of `llm_calls`.
enum class CallColumn : std::uint8_t { model, prompt_version };
/// Its values.
[[nodiscard]] std::vector<std::string> call_values(const std::filesystem::path& file, CallColumn column);

/// A session with what is told of it. Evaluations are those of the search, without the pruned.
struct SessionStats {
  RowId session = 0;
  std::string definition, workloads_hash, arch, proposer, strategy, status;
  DeviceName device;
  std::int64_t seed = 0;
  bool resumed = false;  ///< its strategies were told earlier results
  std::optional<RowId> best_variant;
  std::optional<double> best_ns;                 ///< of the champion, measured last
  std::vector<double> best_so_far;               ///< ns after each evaluation; 0: nothing had passed yet
  std::int64_t verified = 0;                     ///< evaluations of the search that passed
  std::optional<double> wall_s;                  ///< begin to end
  std::vector<std::string> models;               ///< that it asked
  std::int64_t tokens = 0;                       ///< of its models, in and out
  std::optional<double> model_usd;               ///< what they cost; nothing where none was asked
  std::map<std::string, std::int64_t> failures;  ///< status -> evaluations

  [[nodiscard]] std::int64_t evaluations() const { return static_cast<std::int64_t>(best_so_far.size()); }
  /// Best score after so many evaluations; nothing when nothing had passed, or fewer were done.
  [[nodiscard]] std::optional<double> best_after(std::int64_t count) const;
};
/// Nothing when there is no such session.
[[nodiscard]] std::optional<SessionStats> session_stats(const std::filesystem::path& file, RowId session);

/// Two numbers of one thing, by name.
struct MatchedPair {
  std::string definition, what;
  double first_ns = 0, second_ns = 0;
};

/// The medians of both sessions' best kernels on the shapes that both timed in the same way.
[[nodiscard]] std::vector<MatchedPair> champion_pairs(const std::filesystem::path& file, RowId first,
                                                      RowId second);

/// The medians of the same variant on the same shape on both devices: the mean over evaluations that passed.
[[nodiscard]] std::vector<MatchedPair> device_pairs(const std::filesystem::path& file,
                                                    const DeviceName& first, const DeviceName& second);

/// Evaluations of one device: variants, those that passed, definitions.
struct DeviceStats {
  std::int64_t sessions = 0, definitions = 0, variants = 0, passed = 0, evaluations = 0;
};
[[nodiscard]] DeviceStats device_stats(const std::filesystem::path& file, const DeviceName& device);

/// A session in which a model, or a version of the prompts, was asked.
struct AskedSession {
  RowId session = 0;
  bool alone = true;  ///< no other model, or version, was asked in it
};
[[nodiscard]] std::vector<AskedSession> asked_sessions(const std::filesystem::path& file, CallColumn column,
                                                       const std::string& value);

/// What all calls of a model, or of a version of the prompts, came to.
struct CallStats {
  std::int64_t sessions = 0, calls = 0, candidates = 0, verified = 0, exchanges = 0, took_the_lead = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  double cost_usd = 0;
  /// Of sessions that asked no one else and began with a start that passed: their cost, and the sum of what
  /// the best gained on the start, in percent.
  double cost_of_gains_usd = 0, percent_gained = 0;
};
[[nodiscard]] CallStats call_stats(const std::filesystem::path& file, CallColumn column,
                                   const std::string& value);

}  // namespace ak::db
