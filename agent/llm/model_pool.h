// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/llm_proposer_options.h"

namespace ak::agent {

/// Which of the models may be asked now: who is busy, who rests during an outage, and who was given up. Models
/// are known by their index in the options; those of one name are given up together. One thread.
class ModelPool {
 public:
  /// `options` must outlive it.
  explicit ModelPool(const LlmProposerOptions& options) : options_(options), states_(options.models.size()) {}

  /// One index of each name that can be asked now.
  [[nodiscard]] std::vector<std::size_t> free() const;
  /// None can be asked for a while, busy or not: they rest or were given up.
  [[nodiscard]] bool resting() const;
  [[nodiscard]] bool given_up(std::size_t model) const { return !states_[model].end_reason.empty(); }
  /// Why no model is left, in words; empty while one is.
  [[nodiscard]] const std::string& end_reason() const { return end_reason_; }

  void set_busy(std::size_t model, bool busy) { states_[model].busy = busy; }
  void note_answer(std::size_t model);
  /// A failure after the retries of its request: the model rests where that may pass, or is given up. Says so.
  void note_failure(std::size_t model, const LlmFailure& failure);
  /// An exchange has ended with a candidate or without. Models that never give one are given up.
  void note_exchange(std::size_t model, bool useful);

 private:
  struct State {
    bool busy = false;
    int failures_in_a_row = 0;
    int useless_in_a_row = 0;  ///< exchanges without a candidate
    std::string end_reason;    ///< why it is no longer asked; empty while it is
    std::optional<std::chrono::steady_clock::time_point> out_since;  ///< set during an outage
    std::chrono::steady_clock::time_point paused_until;
    std::chrono::milliseconds pause{};  ///< the last one
  };
  void rest(State& model, const std::string& name, const LlmFailure& failure);
  void give_up(const std::string& name, const std::string& why);

  const LlmProposerOptions& options_;
  std::vector<State> states_;  ///< alongside options_.models
  std::string end_reason_;
};

}  // namespace ak::agent
