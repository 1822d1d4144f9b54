// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/waiting_jobs.h"

#include <array>
#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

const auto kAny = [](const EvaluationJob&) { return true; };

TEST_CASE("the highest priority is first, and of one priority what came first") {
  std::array<EvaluationJob, 3> jobs;
  WaitingJobs waiting;
  CHECK(waiting.next(kAny) == nullptr);
  for (EvaluationJob& job : jobs) waiting.add(job);
  CHECK(waiting.next(kAny) == &jobs[0]);
  jobs[2].request.priority = 1;
  CHECK(waiting.next(kAny) == &jobs[2]);
  waiting.remove(jobs[2]);
  waiting.remove(jobs[0]);
  CHECK(waiting.next(kAny) == &jobs[1]);
}

TEST_CASE("a job whose task was lost goes before those that came earlier") {
  std::array<EvaluationJob, 3> jobs;
  WaitingJobs waiting;
  waiting.add(jobs[0]);
  waiting.add(jobs[1]);
  waiting.add_first(jobs[2]);
  CHECK(waiting.next(kAny) == &jobs[2]);
}

TEST_CASE("a job that may not run yet is passed over and keeps its place") {
  std::array<EvaluationJob, 2> jobs;
  jobs[0].request.priority = 5;
  WaitingJobs waiting;
  for (EvaluationJob& job : jobs) waiting.add(job);
  CHECK(waiting.next([&](const EvaluationJob& job) { return &job != &jobs[0]; }) == &jobs[1]);
  CHECK(waiting.next([](const EvaluationJob&) { return false; }) == nullptr);
  CHECK(waiting.next(kAny) == &jobs[0]);
}

}  // namespace
}  // namespace ak::runtime
