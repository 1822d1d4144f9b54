// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "core/store.h"

namespace ak::agent {

/// An evaluated candidate, as a prompt shows it.
struct Attempt {
  RowId variant = 0;
  Candidate candidate;
  bool passed = false;
  std::optional<double> score_ns;  ///< nothing where nothing is timed
  std::string outcome;             ///< all that is known, for a prompt
  std::string line;                ///< the same in one line
  bool by_model = false;
  int uses = 0;  ///< how often it was a parent
};

/// What to ask for next.
struct Choice {
  std::string arm;                  ///< "repair", "improve" or "explore": names the prompt ask_<arm>.md
  const Attempt* parent = nullptr;  ///< null: there is none
};

/// The best attempt of every source, the model's last attempts, and which of them the next request is about.
/// Memory is bounded. Used by one thread.
class Archive {
 public:
  static constexpr std::size_t kElites = 12;      ///< sources kept
  static constexpr std::size_t kRemembered = 12;  ///< of the model's own attempts, for the table
  static constexpr int kRepairs = 2;              ///< of one candidate in a row, then another parent is taken
  static constexpr int kExploreEvery = 4;         ///< so many-th request, unless it is a repair

  explicit Archive(std::uint64_t seed) : seed_(seed) {}

  void add(Attempt attempt);
  /// Counts the use of the parent. Valid until the next add().
  [[nodiscard]] Choice choose();
  [[nodiscard]] bool empty() const { return elites_.empty() && recent_.empty(); }

  /// Fastest first.
  [[nodiscard]] std::vector<const Attempt*> elites() const;
  /// Of the model, oldest first.
  [[nodiscard]] const std::vector<Attempt>& recent() const { return recent_; }

 private:
  [[nodiscard]] Attempt& weighted_elite();

  std::uint64_t seed_;
  std::vector<Attempt> elites_;  ///< one a source, fastest first
  std::vector<Attempt> recent_;
  int repairs_ = 0, choices_ = 0;
};

}  // namespace ak::agent
