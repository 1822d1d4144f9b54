// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/candidate.h"
#include "core/store.h"

namespace ak::agent {

/// An evaluated candidate, as a prompt shows it.
struct Attempt {
  RowId variant = 0;
  Candidate candidate;
  bool passed = false;
  std::optional<double> score_ns;             ///< nothing where nothing is timed
  std::string outcome;                        ///< all that is known, for a prompt
  std::string line;                           ///< the same in one line
  std::string bottleneck = {};                ///< what limits it, by name; empty where not known
  std::string limits = {};                    ///< the same with evidence and remedies, for a prompt
  std::optional<Hypothesis> hypothesis = {};  ///< what its model expected of it
  bool by_model = false;
  int island = 0;             ///< of a model's attempt, where it was made
  std::string approach = {};  ///< see approach_of(); filled in by the archive
  int uses = 0;               ///< how often it was a parent
};

/// What a request is about. The pointers are valid until the archive changes.
struct Choice {
  std::string arm;  ///< names the prompt ask_<arm>.md
  int island = 0;
  const Attempt* parent = nullptr;  ///< null: there is none
  const Attempt* second = nullptr;  ///< of a crossover, the other parent
};

/// Times of the points of one source.
struct Surface {
  std::map<TunableValues, double> times_ns;
};

/// What limits the fastest point of a source that was profiled.
struct KnownLimits {
  std::string bottleneck, text;
  TunableValues point;
  double score_ns = 0;
};

/// What was tried, for prompts: the fastest attempts on a few islands, the model's last attempts, and the
/// points that were timed of each source. On an island the attempts differ in source, and no more than two
/// are of one approach. There is one island, which the templates and the search share with the model, until
/// it stagnates; then another begins with nothing, and they take turns. When all have been opened, one that
/// stagnates is emptied, unless it has the best of all: that one is crossed with another (islands and their
/// resets as in Romera-Paredes et al., "Mathematical discoveries from program search with large language
/// models", Nature 625, 2024; cells by approach as in Mouret and Clune's MAP-Elites, 2015). Memory is
/// bounded. Used by one thread.
class Archive {
 public:
  static constexpr std::size_t kIslands = 3;
  static constexpr std::size_t kElites = 8;         ///< of an island
  static constexpr std::size_t kOfOneApproach = 2;  ///< of these
  static constexpr std::size_t kRemembered = 12;    ///< of the model's own attempts, for the table
  static constexpr int kStale = 6;                  ///< questions of an island without a gain: it stagnates
  static constexpr std::size_t kSurfaces = 64,
                               kPoints = 500;  ///< sources, and points of one, whose times are kept

  explicit Archive(std::uint64_t seed) : seed_(seed) {}

  void add(Attempt attempt);
  /// The verdicts on all candidates from a question of this island are known.
  void note_question(int island) { ++islands_[static_cast<std::size_t>(island)].stale; }

  /// Whose turn it is, and what must be asked there because it stagnates or is empty.
  struct Turn {
    int island = 0;
    std::string forced;  ///< an arm; empty: any that is possible
  };
  [[nodiscard]] Turn next_turn();
  /// Of "improve", "explore", "crossover", those that there are parents for. None: only "fresh" is possible.
  [[nodiscard]] std::vector<std::string> arms(int island) const;
  /// Parents for an arm; their use is counted.
  [[nodiscard]] Choice choose(const std::string& arm, int island);

  /// Of all islands, one a source, fastest first.
  [[nodiscard]] std::vector<const Attempt*> elites() const;
  /// Of the model, oldest first.
  [[nodiscard]] const std::vector<Attempt>& recent() const { return recent_; }
  /// Null where no point of it was profiled. Not every point is: what limits one mostly
  /// limits its neighbours.
  [[nodiscard]] const KnownLimits* limits(const std::string& source) const;
  /// Null where nothing of it was timed.
  [[nodiscard]] const Surface* surface(const std::string& source) const;

 private:
  struct Island {
    std::vector<Attempt> elites;  ///< fastest first
    int stale = 0;                ///< questions since the last gain
  };
  void note_point(const Attempt& attempt);
  void note_limits(const Attempt& attempt);
  void insert(Attempt attempt);
  [[nodiscard]] int island_of(const Attempt& attempt) const;
  [[nodiscard]] Attempt* weighted_elite(int island);
  [[nodiscard]] const Attempt* last_passed() const;
  [[nodiscard]] int best_island() const;
  [[nodiscard]] Turn stagnating(int island);

  std::uint64_t seed_;
  std::vector<Island> islands_{1};
  std::vector<Attempt> recent_;
  std::map<std::string, Surface> surfaces_;    ///< by source
  std::map<std::string, KnownLimits> limits_;  ///< by source
  int turns_ = 0, choices_ = 0;
};

}  // namespace ak::agent
