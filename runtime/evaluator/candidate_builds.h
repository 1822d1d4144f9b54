// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/problem_build.h"

namespace ak::runtime {

/// The builds of an evaluator: of candidates, of the rivals they are compared with, and of each problem's
/// references. One thread.
class CandidateBuilds {
 public:
  /// `assembler` must outlive it. Throws Error(environment) when nothing can be compiled here.
  CandidateBuilds(const EvaluatorOptions& options, const SourceAssembler& assembler);

  /// What a device needs of a problem for an architecture; the first request starts its builds. Valid as long
  /// as this. Throws as ProblemBuild does.
  ProblemBuild& problem(const std::shared_ptr<const ProblemInstance>& problem, const Arch& arch);

  enum class Part : std::uint8_t { candidate, rival };
  /// Queues a build for the evaluation `owner`.
  void start(Ticket owner, Part part, TranslationUnit unit, BuildOrigin origin = BuildOrigin::candidate);
  /// Of an evaluation that ends: those of its builds that are left finish nowhere.
  void cancel(Ticket owner);

  struct Built {
    Ticket owner = 0;
    Part part = Part::candidate;
    BuildResult result;
  };
  /// The next finished build of an evaluation; those of problems are taken on the way. Throws Error when a
  /// reference does not compile (ProblemBuild::take).
  [[nodiscard]] std::optional<Built> poll();

  [[nodiscard]] int workers() const { return pool_.workers(); }  ///< at most
  /// Readable when poll() may have something.
  [[nodiscard]] int descriptor() const { return pool_.descriptor(); }

 private:
  struct Owner {
    Ticket ticket;
    Part part;
  };
  [[nodiscard]] bool of_problem(const FinishedBuild& build);

  const SourceAssembler& assembler_;
  PythonChoice python_;  ///< as EvaluatorOptions::python
  CompilePool pool_;
  std::vector<std::unique_ptr<ProblemBuild>> problems_;
  std::map<BuildTicket, Owner> owners_;  ///< of builds in progress
};

}  // namespace ak::runtime
