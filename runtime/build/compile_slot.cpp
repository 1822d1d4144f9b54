// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_slot.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace ak::runtime {
namespace {

// Loading NVRTC takes 0.1 s (measured); a machine that swaps may need much longer.
constexpr std::chrono::seconds kStartLimit{60};
// So many times its limit a build may take where the machine is busy (chosen).
constexpr int kBusyMachine = 10;

}  // namespace

void CompileSlot::start(std::vector<std::string> command) {
  command.insert(command.end(), {"--role", "compile"});
  process_ = std::make_unique<WorkerProcess>(std::move(command));
  started_ = touched_ = false;
  deadline_ = std::chrono::steady_clock::now() + kStartLimit;
}

Result<CompilerFacts> CompileSlot::await_hello() {
  auto hello = process_->await_hello(deadline_);
  if (!hello) return hello.error();
  started_ = true;
  return read_compiler_facts(*hello);
}

Result<CompilerFacts> CompileSlot::take_hello(const WorkerMessage& hello) {
  if (hello.type != "hello" || hello.id != 0)
    return InputError{"broke the protocol: it began without a hello"};
  auto facts = read_compiler_facts(hello.body);
  if (!facts) return facts;
  started_ = true;
  if (job_) start_clock();  // it has been waiting in the worker's input
  return facts;
}

std::optional<BuildJob> CompileSlot::stop() {
  process_.reset();
  started_ = false;
  return std::exchange(job_, std::nullopt);
}

void CompileSlot::give(BuildJob job) {
  AK_ASSERT(process_ && !job_, "a worker has one build at a time");
  process_->send({job.ticket, "compile", to_json(job.unit), {}});
  job_ = std::move(job);
  touched_ |= job_->origin != BuildOrigin::own;
  if (started_) start_clock();
}

BuildJob CompileSlot::take_job() {
  AK_ASSERT(job_, "a build has ended that the worker was given");
  BuildJob job = std::move(*job_);
  job_.reset();
  return job;
}

CompileSlot::TimePoint CompileSlot::deadline() const {
  return process_ && (job_ || !started_) ? deadline_ : TimePoint::max();
}

void CompileSlot::start_clock() {
  const auto now = std::chrono::steady_clock::now();
  deadline_ = now + job_->limit;
  latest_ = now + kBusyMachine * job_->limit;
  computed_before_ = process_->cpu_time();
}

// Whether a candidate compiles is not to depend on what else the machine does.
bool CompileSlot::prolong() {
  const auto now = std::chrono::steady_clock::now();
  const auto left = job_->limit - (process_->cpu_time() - computed_before_);
  if (left <= left.zero() || now >= latest_) return false;
  deadline_ = std::min(now + std::chrono::ceil<std::chrono::milliseconds>(left), latest_);
  return true;
}

}  // namespace ak::runtime
