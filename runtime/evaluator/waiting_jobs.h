// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "runtime/evaluator/evaluation_job.h"

namespace ak::runtime {

/// Jobs that wait for a device, in order of arrival. One thread.
class WaitingJobs {
 public:
  void add(EvaluationJob& job) { jobs_.push_back(&job); }
  /// A job whose task was lost with its worker goes before all others.
  void add_first(EvaluationJob& job) { jobs_.insert(jobs_.begin(), &job); }
  void remove(const EvaluationJob& job) { std::erase(jobs_, &job); }

  /// Of those that may run the one of the highest priority, of several the first; null: none may.
  [[nodiscard]] EvaluationJob* next(const std::function<bool(const EvaluationJob&)>& may_run) const {
    EvaluationJob* best = nullptr;
    for (EvaluationJob* job : jobs_)
      if (may_run(*job) && (best == nullptr || job->request.priority > best->request.priority)) best = job;
    return best;
  }

 private:
  std::vector<EvaluationJob*> jobs_;
};

}  // namespace ak::runtime
