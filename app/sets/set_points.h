// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/sets/drawn_shapes.h"
#include "app/sets/member_measurements.h"
#include "core/sets/set_choice.h"
#include "core/sets/time_estimate.h"

namespace ak::app {

/// A tuned point that may be a member, and what is known of it.
struct SetPoint {
  Candidate candidate;
  MemberTimes times;                  ///< on the shapes asked for
  std::vector<double> drawn_ns = {};  ///< on drawn shapes, as times.times_ns
  bool takes_every_shape = true;
  std::string layout;
  std::vector<std::int64_t> ps = {};      ///< by term of its time: the estimate of it on any shape
  std::vector<double> estimated_ns = {};  ///< what that says of all shapes
};

/// Points that may be members of a set, and the shapes that it is chosen on: those asked for, where every point was timed;
/// drawn ones, where every point was or those that come near the fastest; guessed ones, where estimates stand for times.
/// Shapes are numbered in this order. One thread.
class SetPoints {
 public:
  explicit SetPoints(const ProblemInstance& problem) : problem_(problem) {}

  std::vector<SetPoint> list;
  std::vector<Workload> asked, drawn, guessed;

  [[nodiscard]] std::size_t shape_count() const { return asked.size() + drawn.size() + guessed.size(); }
  /// Of the shapes asked for.
  [[nodiscard]] std::vector<AxisValues> axes() const;
  [[nodiscard]] std::vector<Candidate> candidates() const;

  /// By shape asked for, of the point that is the fastest there.
  [[nodiscard]] std::vector<double> fastest_times() const;
  /// Shapes asked for on which a point may be a member: others are at most as much faster as a set may be slower.
  [[nodiscard]] static std::vector<std::size_t> shapes_near(const SetPoint& point,
                                                            const std::vector<double>& fastest);
  /// Of those with the most shapes, a fallback before others, the one of the least mean time: all others share shapes with it.
  [[nodiscard]] std::size_t widest_and_fastest() const;
  /// By point and drawn shape.
  [[nodiscard]] std::vector<std::vector<double>> estimated_on_drawn() const;

  void keep(const DrawnTimes& times);
  /// Leaves out points whose list of compiler options is not that of the fastest ones: a program is compiled with one list.
  /// Whether there were any.
  bool keep_one_list_of_options();
  /// Makes the point of the most shapes asked for the fallback, where no point takes every shape. The shapes that it does not
  /// take are left out, and returned.
  std::vector<Workload> let_widest_take_all();
  /// Leaves out drawn shapes that the widest fallback does not take: a set of it alone has to be possible, also after points
  /// were left out.
  void keep_drawn_that_are_taken(const MemberMeasurements& measurements);
  /// Leaves out shapes of which the estimates say too little: a fallback has to have an estimate on each, or a time where it
  /// was drawn. No time is 0: such a sum lacks a term that no timed shape has.
  void keep_where_estimates_say_something();

  /// Times of all points as sums of terms, and what these say of every shape. Points of one template are fitted together.
  void estimate(const MemberMeasurements& measurements);
  [[nodiscard]] TimeEstimate estimate_of(const SetPoint& point) const;
  /// On other shapes; infinite where the point does not take one.
  [[nodiscard]] std::vector<double> estimated_on(const MemberMeasurements& measurements,
                                                 const SetPoint& point,
                                                 const std::vector<Workload>& shapes) const;

  [[nodiscard]] SetChoice choose(const SetLimits& limits) const;

 private:
  /// What the terms of a point's time are on every shape; nothing on one that it does not take.
  struct ShapeAmounts;

  [[nodiscard]] const AxisValues& sizes_of(std::size_t shape) const;
  [[nodiscard]] double time_on(const SetPoint& point, std::size_t shape) const;
  [[nodiscard]] ShapeAmounts amounts_of(const MemberMeasurements& measurements, const SetPoint& point) const;

  const ProblemInstance& problem_;
};

}  // namespace ak::app
