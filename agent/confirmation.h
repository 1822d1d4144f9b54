// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/champion.h"
#include "agent/held_out_check.h"
#include "agent/loop.h"

namespace ak::agent {

/// The checks that the leader of a search must pass when the search has ended, in this order: shapes that no one could
/// know, the examiners' checkers, being compared with those close to it, other devices of its pool, and being
/// measured again in a fresh process. One that fails is
/// disqualified, and the next best goes through the same. What could not be done is said in the reports, and
/// costs no one the lead.
class Confirmation {
 public:
  /// Commits an evaluation that is not a step of the search; `device` is null for the search's own.
  using Commit = std::function<void(const Completed&, const DeviceFacts* device, std::string arm)>;

  /// All must outlive it. @param depth that was reached
  Confirmation(const LoopOptions& options, Evaluator& evaluator, const Clock& clock, Depth depth,
               Champion& champion, Commit commit);

  /// @param search_time each step may take as long, and two minutes at least
  void run(std::chrono::steady_clock::duration search_time, LoopResult& result);

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  template <class Step>
  [[nodiscard]] bool attempt(std::string& note, Step step);
  // Each is false when the leader failed and was disqualified.
  [[nodiscard]] bool held_out(LoopResult& result);
  [[nodiscard]] std::optional<bool> found_wrong(Completed& found, LoopResult& result);
  [[nodiscard]] bool examined(std::vector<ExaminationReport>& reports);
  [[nodiscard]] bool examined(std::size_t examiner, ExaminationReport& report);
  [[nodiscard]] EvaluationRequest examination_request(const DeviceFacts& device);
  [[nodiscard]] bool agreed(LoopResult& result);
  [[nodiscard]] bool measured(FinalMeasurement& report);
  [[nodiscard]] bool compared(std::vector<Tie>& ties);
  [[nodiscard]] bool predicted_alike(const Champion::Entry& other) const;
  [[nodiscard]] std::optional<PairedRatio> ratio_to_champion(const Champion::Entry& other,
                                                             bool& champion_failed);
  void in_turns_with_libraries(LibraryTurnsReport& report);
  void profile(ProfileReport& report);

  void announce(std::string_view step) const;
  [[nodiscard]] std::string unavailable_reason() const;
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] std::optional<Completed> evaluate(Evaluator& evaluator, EvaluationRequest request);
  [[nodiscard]] std::string unfinished() const { return stopped() ? "interrupted" : "out of time"; }

  const LoopOptions& options_;
  Evaluator& evaluator_;
  const Clock& clock_;
  Depth depth_;
  bool on_gpu_;
  Champion& champion_;
  Commit commit_;
  Deadline deadline_{};
  bool unconfirmed_ = false;  ///< another device contradicts the leader, and who is right is not known
  std::string fault_;         ///< how the leader was found wrong
  std::optional<HeldOutShapes> shapes_;                ///< of this search; drawn when first needed
  std::vector<std::unique_ptr<Evaluator>> examiners_;  ///< as in the options; made when first needed
};

}  // namespace ak::agent
