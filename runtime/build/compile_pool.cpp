// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_pool.h"

#include <poll.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "runtime/build/build_key.h"
#include "runtime/build/compile_answers.h"
#include "runtime/build/compile_worker.h"
#include "runtime/build/pch_folder.h"

namespace ak::runtime {
namespace {

// NVRTC never gives memory back to the system; workers of this size may take a quarter of the machine's memory.
constexpr std::size_t kRecycleBytes = std::size_t{512} << 20;
// A worker that starts no more will not start the fourth time either.
constexpr int kMaxFailedStarts = 3;
constexpr int kMaxWorkers =
    64;  // keep four GPUs busy, which took 15 evaluations a second each with 16 (measured)

std::size_t bytes_of(const TranslationUnit& unit) {
  std::size_t bytes = unit.source.size();
  for (const auto& [name, text] : unit.headers) bytes += name.size() + text.size();
  return bytes;
}

int worker_count(int wanted) {
  if (wanted > 0) return wanted;
  struct sysinfo machine {};
  const std::size_t memory_bytes = ::sysinfo(&machine) == 0 ? machine.totalram * machine.mem_unit : 0;
  const int fitting = static_cast<int>(std::min<std::size_t>(memory_bytes / 4 / kRecycleBytes, kMaxWorkers));
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, std::max(fitting, 1));
}

int milliseconds_until(std::chrono::steady_clock::time_point when) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(when - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

// What a build ends as when it takes its worker down.
std::pair<Status, std::string> verdict(const WorkerLost& lost) {
  // The kernel's out-of-memory killer uses SIGKILL; our own kills are handled where they happen, and one kill
  // by somebody else is forgiven (lose).
  if (lost.exit_code == kExitOutOfMemory || lost.signal == SIGKILL)
    return {Status::out_of_memory,
            fmt::format("the compiler ran out of memory on this source ({} MiB allowed)",
                        kCompileWorkerBytes >> 20)};
  if (lost.signal == SIGXCPU)
    return {Status::timeout, fmt::format("the compiler used more than {} s of CPU time on this source",
                                         kBuildCpuTime.count())};
  // A machine that stood still is not the source's fault.
  if (lost.exit_code == kExitSilentParent)
    return {Status::infrastructure_error, fmt::format("the compile worker {}", lost.reason)};
  return {Status::compile_error,
          fmt::format("the compiler crashed on this source: its process {}", lost.reason)};
}

}  // namespace

CompilePool::CompilePool(CompilePoolOptions options) : options_(std::move(options)) {
  AK_ASSERT(!options_.worker_command.empty(), "compile workers need a command");
  if (!options_.cache_dir.empty()) cache_.emplace(options_.cache_dir);
  slots_.resize(static_cast<std::size_t>(worker_count(options_.workers)));
  remove_stale_pch_folders();
  auto facts = start_first(slots_.front());
  if (!facts) fail(ExitCode::environment, "starting a compile worker: {}", facts.error().message);
  facts_ = std::move(facts).value();
  thread_ = std::thread([this] { run(); });
}

CompilePool::~CompilePool() {
  queue_.stop();
  thread_.join();
  for (CompileSlot& slot : slots_) slot.stop();
}

BuildTicket CompilePool::submit(TranslationUnit unit, BuildOrigin origin,
                                std::optional<std::chrono::milliseconds> deadline) {
  return queue_.submit(std::move(unit), origin, deadline.value_or(options_.deadline));
}

std::optional<FinishedBuild> CompilePool::poll() { return queue_.wait(Clock::time_point::min()); }

std::optional<FinishedBuild> CompilePool::wait(Clock::time_point deadline) { return queue_.wait(deadline); }

void CompilePool::cancel(BuildTicket ticket) { queue_.cancel(ticket); }

// A worker that is killed while it starts is not a reason to give up; one that says why it cannot work is.
Result<CompilerFacts> CompilePool::start_first(CompileSlot& slot) {
  for (int attempt = 1;; ++attempt) {
    slot.start(options_.worker_command);
    auto facts = slot.await_hello();
    if (facts || slot.started() || attempt == kMaxFailedStarts || Clock::now() >= slot.deadline())
      return facts;
  }
}

void CompilePool::run() {
  for (;;) {
    BuildQueue::Asked asked = queue_.take();
    if (asked.stopping) return;
    accept(std::move(asked));
    for (CompileSlot& slot : slots_) serve(slot);
    assign();
    wait_for_events();
  }
}

// Takes over what callers asked for; builds that need no worker end here.
void CompilePool::accept(BuildQueue::Asked asked) {
  for (BuildJob& job : asked.submitted)
    if (!finish_without_worker(job)) waiting_.push_back(std::move(job));
  for (const BuildTicket ticket : asked.cancelled) interrupt(ticket);
}

bool CompilePool::finish_without_worker(const BuildJob& job) {
  if (const std::size_t bytes = bytes_of(job.unit);
      bytes > kMaxTranslationUnitBytes && gate_enabled(Gate::compile_limits)) {
    finish(job, Status::invalid_candidate,
           fmt::format("the source has {} bytes with its headers; at most {} are allowed", bytes,
                       kMaxTranslationUnitBytes));
    return true;
  }
  if (!cache_ || job.origin == BuildOrigin::leader) return false;
  auto known = cache_->find(cache_key(job));
  if (!known || contradiction(*known, job.unit)) return false;
  queue_.finish(job.ticket, std::move(*known));
  return true;
}

void CompilePool::interrupt(BuildTicket ticket) {
  const auto found = std::ranges::find(waiting_, ticket, &BuildJob::ticket);
  if (found != waiting_.end()) {
    finish(*found, Status::interrupted, "the build was cancelled");
    waiting_.erase(found);
  }
  for (CompileSlot& slot : slots_) {
    if (!slot.job() || slot.job()->ticket != ticket) continue;
    const auto job = slot.stop();
    finish(*job, Status::interrupted, "the build was cancelled");
  }
}

void CompilePool::wait_for_events() {
  std::vector<pollfd> fds{{queue_.asked_descriptor(), POLLIN, 0}};
  auto next = Clock::time_point::max();
  for (CompileSlot& slot : slots_) {
    if (slot.has_worker()) fds.push_back({slot.worker().descriptor(), POLLIN, 0});
    next = std::min(next, slot.deadline());
  }
  ::poll(fds.data(), fds.size(), next == Clock::time_point::max() ? -1 : milliseconds_until(next));
  queue_.quieten();
}

void CompilePool::serve(CompileSlot& slot) {
  if (!slot.has_worker()) return;
  auto reply = slot.worker().receive(Clock::time_point::min());
  if (const auto* lost = std::get_if<WorkerLost>(&reply)) return lose(slot, *lost);
  if (const auto* message = std::get_if<WorkerMessage>(&reply))
    return slot.started() ? take_answer(slot, *message) : take_hello(slot, *message);
  if (Clock::now() < slot.deadline()) return;
  if (!slot.started()) return lose(slot, {"did not start in time", -1, 0});
  if (slot.job() && gate_enabled(Gate::compile_limits) && !slot.prolong()) expire(slot);
}

void CompilePool::take_hello(CompileSlot& slot, const WorkerMessage& message) {
  auto facts = slot.take_hello(message);
  if (!facts) return lose(slot, {facts.error().message, -1, 0});
  if (facts->nvrtc_version != facts_.nvrtc_version)
    return lose(slot, {fmt::format("has NVRTC {}, where the run began with {}", facts->nvrtc_version,
                                   facts_.nvrtc_version),
                       -1, 0});
  failed_starts_ = 0;
}

void CompilePool::take_answer(CompileSlot& slot, const WorkerMessage& message) {
  if (!slot.job() || message.id != slot.job()->ticket || message.type != "built")
    return lose(slot, {"broke the protocol: it answered what it was not asked", -1, 0});
  const TranslationUnit& unit = slot.job()->unit;
  auto read = read_built(message.body, unit, facts_.nvrtc_version);
  if (!read) return lose(slot, {"broke the protocol: " + read.error().message, -1, 0});
  BuildResult result = std::move(read).value();
  result.key = cache_key(*slot.job()).text();
  if (cache_) cache_->store(cache_key(*slot.job()), result);
  const BuildJob job = slot.take_job();
  // After running out of memory a compiler is not to be trusted with another source.
  const bool exhausted = result.outcome.status == Status::out_of_memory;
  if (exhausted || slot.worker().resident_bytes() > kRecycleBytes) slot.stop();
  queue_.finish(job.ticket, std::move(result));
}

void CompilePool::lose(CompileSlot& slot, const WorkerLost& lost) {
  const bool started = slot.started();
  auto job = slot.stop();
  const bool forgiven = lost.signal == SIGKILL || lost.exit_code == kExitSilentParent;
  if (job && started && forgiven && !job->killed_once) {
    job->killed_once = true;
    waiting_.push_front(std::move(*job));
  } else if (job && started) {
    const auto [status, message] = verdict(lost);
    finish(*job, status, message);
  } else if (job) {
    waiting_.push_front(std::move(*job));  // not its fault
  }
  if (!started && ++failed_starts_ >= kMaxFailedStarts) give_up(lost);
}

void CompilePool::give_up(const WorkerLost& lost) {
  for (const auto& job : waiting_)
    finish(job, Status::infrastructure_error, "no compile worker starts: the last one " + lost.reason);
  waiting_.clear();
  failed_starts_ = 0;
}

void CompilePool::expire(CompileSlot& slot) {
  const auto job = slot.stop();
  finish(*job, Status::timeout,
         fmt::format("compilation took longer than {} s", static_cast<double>(job->limit.count()) / 1000));
}

BuildKey CompilePool::cache_key(const BuildJob& job) const {
  const BuildKey key = BuildKey::of(job.unit, facts_.nvrtc_version);
  return job.origin == BuildOrigin::own ? key.of_own() : key;
}

void CompilePool::assign() {
  while (!waiting_.empty()) {
    CompileSlot* slot = free_slot(waiting_.front().origin != BuildOrigin::candidate);
    if (slot == nullptr) return;
    if (!slot->has_worker()) slot->start(options_.worker_command);
    BuildJob job = std::move(waiting_.front());
    waiting_.pop_front();
    slot->give(std::move(job));
  }
}

// A running worker rather than a new one; where only touched ones are left, one of them is replaced.
CompileSlot* CompilePool::free_slot(bool untouched) {
  CompileSlot *empty = nullptr, *touched = nullptr;
  for (CompileSlot& slot : slots_) {
    if (slot.job()) continue;
    if (slot.has_worker() && (slot.untouched() || !untouched)) return &slot;
    (slot.has_worker() ? touched : empty) = &slot;
  }
  if (empty != nullptr || touched == nullptr) return empty;
  touched->stop();
  return touched;
}

void CompilePool::finish(const BuildJob& job, Status status, std::string message) {
  BuildResult result;
  result.key = cache_key(job).text();
  result.nvrtc_version = facts_.nvrtc_version;
  result.outcome = {status, StageId::build, std::move(message), {}};
  // Whatever else ends a build without the compiler's own word is one of the limits it runs under.
  if (status != Status::interrupted && status != Status::infrastructure_error)
    result.outcome.gate = Gate::compile_limits;
  queue_.finish(job.ticket, std::move(result));
}

}  // namespace ak::runtime
