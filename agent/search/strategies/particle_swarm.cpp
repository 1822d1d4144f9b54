// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "agent/search/member.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

constexpr std::size_t kParticles = 12;  // chosen for budgets of some hundreds
// Constriction of Clerc and Kennedy, "The particle swarm: explosion, stability, and convergence", 2002.
constexpr double kInertia = 0.73, kAcceleration = 1.5;

/// Particle swarm on ordinals, every step snapped to an unseen point.
class ParticleSwarm final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    const std::size_t turn = next_++ % kParticles;
    Particle& particle = particles_[turn];
    const PointNumber point = particle.best && history.best()
                                  ? history.snap(engine, step(particle, history, engine))
                                  : history.draw_unseen(engine);
    const Ordinals snapped = history.points().ordinals(point);
    particle.position.assign(snapped.begin(), snapped.end());
    turns_[point] = turn;
    return point;
  }

  void learn(const History&, const Observation& answer, Engine&) override {
    const auto turn = turns_.find(answer.point);
    if (turn == turns_.end()) return;
    auto& best = particles_[turn->second].best;
    if (answer.log_time && (!best || *answer.log_time < *best->log_time)) best = answer;
    turns_.erase(turn);
  }

 private:
  struct Particle {
    std::vector<double> position, velocity;
    std::optional<Observation> best;
  };

  static Ordinals step(Particle& particle, const History& history, Engine& engine) {
    const Points& points = history.points();
    const Ordinals own = points.ordinals(particle.best->point);
    const Ordinals all = points.ordinals(history.best()->point);
    particle.velocity.resize(points.axes());
    Ordinals result(own);
    for (std::size_t axis = 0; axis < points.axes(); ++axis) {
      const double last = static_cast<double>(points.extent(axis) - 1), from = particle.position[axis];
      double& velocity = particle.velocity[axis];
      velocity = kInertia * velocity + kAcceleration * draw_unit(engine) * (own[axis] - from) +
                 kAcceleration * draw_unit(engine) * (all[axis] - from);
      velocity = std::clamp(velocity, -last / 2, last / 2);
      result[axis] = static_cast<char16_t>(std::lround(std::clamp(from + velocity, 0.0, last)));
    }
    return result;
  }

  std::array<Particle, kParticles> particles_;
  std::map<PointNumber, std::size_t> turns_;  ///< of the particle that asked for a pending point
  std::size_t next_ = 0;
};

}  // namespace

const Strategy kParticleSwarm{"particle-swarm", "particle swarm", alone<ParticleSwarm>};

}  // namespace ak::agent
