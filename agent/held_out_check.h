// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "agent/loop.h"

namespace ak::agent {

/// Shapes of one search that no candidate was searched with, and requests to check candidates on them.
/// Where the kernel is wanted for one shape, they are those around it that a candidate's launch plan accepts.
class HeldOutShapes {
 public:
  /// Draws shapes and inputs with `options.held_out_seed`, or else with the operating system's randomness.
  /// `options` must outlive this. @param device that checks them; @param kind whose ranges they are drawn from
  HeldOutShapes(const LoopOptions& options, const DeviceFacts& device, DeviceKind kind, int count);

  /// A request to check `candidate` on all of them; without workloads where there are none. Throws
  /// Error(bad_input) when the ranges yield no shape.
  [[nodiscard]] const EvaluationRequest& request(const Candidate& candidate);

  /// Of the last request.
  [[nodiscard]] int count() const { return static_cast<int>(request_.workloads.size()); }
  /// The shapes in words: "held_out_1: N=77; held_out_2: N=1000".
  [[nodiscard]] const std::string& text() const { return request_.tag; }
  /// Whether they are those around one shape that the kernel is wanted for.
  [[nodiscard]] bool around_shape() const { return around_shape_; }

 private:
  void draw(const Candidate& candidate);

  const LoopOptions& options_;
  DeviceFacts device_;
  DeviceKind kind_;
  int count_;
  std::uint64_t seed_;
  bool around_shape_;
  EvaluationRequest request_;
};

}  // namespace ak::agent
