// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

namespace ak::agent {

/// Which of several arms to pull next when they pay and cost differently, and when what pays changes: the
/// discounted upper confidence bound of Garivier and Moulines ("On Upper-Confidence Bound Policies for
/// Switching Bandit Problems", ALT 2011), over the mean cost as in Ding, Qin, Zhang and Liu ("Multi-Armed
/// Bandit with Budget Constraint and Variable Costs", AAAI 2013). Draws nothing at random: the same rewards
/// give the same choices. Used by one thread.
class Bandit {
 public:
  /// The index of the arm to pull: the first that never was, else the one with the highest bound per cost.
  /// @param arms at least one; those that were never named before are new
  [[nodiscard]] std::size_t choose(std::span<const std::string> arms) const;

  /// @param reward in [0, 1]  @param cost in any unit, the same for all arms; 0 where nothing is paid
  void credit(const std::string& arm, double reward, double cost);
  /// A reward that comes later, for a pull that was credited before.
  void add_reward(const std::string& arm, double reward);

 private:
  struct Arm {
    double pulls = 0, reward = 0, cost = 0;  ///< sums, old ones discounted
  };
  std::map<std::string, Arm> arms_;
};

}  // namespace ak::agent
