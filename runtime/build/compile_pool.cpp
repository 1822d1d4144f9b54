// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_pool.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "runtime/build/compile.h"
#include "runtime/build/compile_worker.h"

namespace ak::runtime {
namespace {

// Loading NVRTC takes 0.1 s (measured); a machine that swaps may need much longer.
constexpr std::chrono::seconds kStartLimit{60};
// NVRTC never gives memory back to the system; 16 workers at this size fit beside a run.
constexpr std::size_t kRecycleBytes = std::size_t{512} << 20;
// A worker that starts no more will not start the fourth time either.
constexpr int kMaxFailedStarts = 3;
constexpr int kMaxWorkers = 16;
// So many times its limit a build may take where the machine is busy (chosen).
constexpr int kBusyMachine = 10;

std::size_t bytes_of(const TranslationUnit& unit) {
  std::size_t bytes = unit.source.size();
  for (const auto& [name, text] : unit.headers) bytes += name.size() + text.size();
  return bytes;
}

int worker_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxWorkers);
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
  return {Status::compile_error,
          fmt::format("the compiler crashed on this source: its process {}", lost.reason)};
}

Result<CompilerFacts> read_facts(const Json& hello) {
  if (hello.contains("unavailable")) return InputError{hello["unavailable"].get<std::string>()};
  CompilerFacts facts;
  facts.nvrtc_version = hello.value("nvrtc_version", "");
  facts.archs = hello.value("archs", std::vector<std::string>{});
  facts.landlock_abi = hello.value("landlock_abi", 0);
  facts.degradation = hello.value("degradation", "");
  return facts;
}

}  // namespace

CompilePool::CompilePool(CompilePoolOptions options) : options_(std::move(options)) {
  AK_ASSERT(!options_.worker_command.empty(), "compile workers need a command");
  ready_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready_ || !wake_) fail(ExitCode::environment, "making an event descriptor for the compile workers");
  if (!options_.cache_dir.empty()) cache_.emplace(options_.cache_dir);
  slots_.resize(static_cast<std::size_t>(worker_count(options_.workers)));
  remove_stale_pch_folders();
  auto facts = start_first(slots_.front());
  if (!facts) fail(ExitCode::environment, "starting a compile worker: {}", facts.error().message);
  facts_ = std::move(facts).value();
  thread_ = std::thread([this] { run(); });
}

CompilePool::~CompilePool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  for (auto& slot : slots_) stop(slot);
}

BuildTicket CompilePool::submit(TranslationUnit unit, std::optional<std::chrono::milliseconds> deadline) {
  const std::lock_guard lock(mutex_);
  submitted_.push_back({++last_ticket_, std::move(unit), deadline.value_or(options_.deadline)});
  ++unfinished_;
  wake();
  return last_ticket_;
}

std::optional<FinishedBuild> CompilePool::poll() { return wait(Clock::time_point::min()); }

std::optional<FinishedBuild> CompilePool::wait(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return !finished_.empty() || unfinished_ == 0; };
  if (deadline != Clock::time_point::min()) changed_.wait_until(lock, deadline, done);
  if (finished_.empty()) return std::nullopt;
  FinishedBuild build = std::move(finished_.front());
  finished_.pop_front();
  eventfd_t ignored = 0;
  if (finished_.empty()) ::eventfd_read(ready_.get(), &ignored);
  return build;
}

void CompilePool::cancel(BuildTicket ticket) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(ticket);
  wake();
}

void CompilePool::wake() { ::eventfd_write(wake_.get(), 1); }

void CompilePool::start(Slot& slot) {
  auto command = options_.worker_command;
  command.insert(command.end(), {"--role", "compile"});
  slot.process = std::make_unique<WorkerProcess>(std::move(command));
  slot.started = false;
  slot.deadline = Clock::now() + kStartLimit;
}

// Ends the worker; what it was working on goes back to the caller.
std::optional<CompilePool::Job> CompilePool::stop(Slot& slot) {
  slot.process.reset();
  std::error_code error;
  if (!slot.pch_folder.empty()) std::filesystem::remove_all(slot.pch_folder, error);
  slot.pch_folder.clear();
  slot.started = false;
  return std::exchange(slot.job, std::nullopt);
}

// A worker that is killed while it starts is no reason to give up; one that says why it cannot work is.
Result<CompilerFacts> CompilePool::start_first(Slot& slot) {
  for (int attempt = 1;; ++attempt) {
    start(slot);
    auto facts = greet(slot);
    if (facts || slot.started || attempt == kMaxFailedStarts || Clock::now() >= slot.deadline) return facts;
  }
}

Result<CompilerFacts> CompilePool::greet(Slot& slot) {
  auto hello = slot.process->await_hello(slot.deadline);
  if (!hello) return hello.error();
  slot.started = true;
  slot.pch_folder = pch_folder(slot.process->pid());
  return read_facts(*hello);
}

void CompilePool::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    step();
    wait_for_events();
  }
}

void CompilePool::step() {
  const auto cancelled = accept();
  for (const auto ticket : cancelled) interrupt(ticket);
  for (auto& slot : slots_) serve(slot);
  assign();
}

// Takes over what callers asked for; builds that need no worker end here. Returns the cancelled tickets.
std::vector<BuildTicket> CompilePool::accept() {
  std::deque<Job> submitted;
  std::vector<BuildTicket> cancelled;
  {
    const std::lock_guard lock(mutex_);
    submitted.swap(submitted_);
    cancelled.swap(cancelled_);
  }
  for (auto& job : submitted)
    if (!finish_without_worker(job)) waiting_.push_back(std::move(job));
  return cancelled;
}

bool CompilePool::finish_without_worker(const Job& job) {
  if (const std::size_t bytes = bytes_of(job.unit);
      bytes > kMaxTranslationUnitBytes && gate_enabled(Gate::compile_limits)) {
    finish(job, Status::invalid_candidate,
           fmt::format("the source has {} bytes with its headers; at most {} are allowed", bytes,
                       kMaxTranslationUnitBytes));
    return true;
  }
  if (!cache_) return false;
  auto known = cache_->find(build_key(job.unit, facts_.nvrtc_version));
  if (known) finish(job, std::move(*known));
  return known.has_value();
}

void CompilePool::interrupt(BuildTicket ticket) {
  const auto matches = [&](const Job& job) { return job.ticket == ticket; };
  if (const auto found = std::ranges::find_if(waiting_, matches); found != waiting_.end()) {
    finish(*found, Status::interrupted, "the build was cancelled");
    waiting_.erase(found);
  }
  for (auto& slot : slots_) {
    if (!slot.job || slot.job->ticket != ticket) continue;
    const auto job = stop(slot);
    finish(*job, Status::interrupted, "the build was cancelled");
  }
}

void CompilePool::wait_for_events() {
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  auto next = Clock::time_point::max();
  for (const auto& slot : slots_) {
    if (!slot.process) continue;
    fds.push_back({slot.process->descriptor(), POLLIN, 0});
    if (slot.job || !slot.started) next = std::min(next, slot.deadline);
  }
  ::poll(fds.data(), fds.size(), next == Clock::time_point::max() ? -1 : milliseconds_until(next));
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
}

void CompilePool::serve(Slot& slot) {
  if (!slot.process) return;
  auto reply = slot.process->receive(Clock::time_point::min());
  if (const auto* lost = std::get_if<WorkerLost>(&reply)) return lose(slot, *lost);
  if (const auto* message = std::get_if<WorkerMessage>(&reply))
    return slot.started ? take_answer(slot, *message) : take_hello(slot, *message);
  if (Clock::now() < slot.deadline) return;
  if (!slot.started) return lose(slot, {"did not start in time", -1, 0});
  if (slot.job && gate_enabled(Gate::compile_limits) && !prolong(slot)) expire(slot);
}

void CompilePool::take_hello(Slot& slot, const WorkerMessage& message) {
  auto facts = read_facts(message.body);
  if (!facts) return lose(slot, {facts.error().message, -1, 0});
  slot.started = true;
  slot.pch_folder = pch_folder(slot.process->pid());
  failed_starts_ = 0;
  if (slot.job) start_clock(slot);  // it has been waiting in the worker's input
}

void CompilePool::take_answer(Slot& slot, const WorkerMessage& message) {
  if (!slot.job || message.id != slot.job->ticket || message.type != "built")
    return lose(slot, {"answered what it was not asked", -1, 0});
  BuildResult result;
  try {
    result = build_result_from_json(message.body);
  } catch (const std::exception& error) {
    return lose(slot, {fmt::format("gave a malformed answer: {}", error.what()), -1, 0});
  }
  if (cache_) cache_->store(result);
  const Job job = std::move(*slot.job);
  slot.job.reset();
  // After running out of memory a compiler is not to be trusted with another source.
  const bool exhausted = result.outcome.status == Status::out_of_memory;
  if (exhausted || slot.process->resident_bytes() > kRecycleBytes) stop(slot);
  finish(job, std::move(result));
}

void CompilePool::lose(Slot& slot, const WorkerLost& lost) {
  const bool started = slot.started;
  auto job = stop(slot);
  if (job && started && lost.signal == SIGKILL && !job->killed_once) {
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

void CompilePool::start_clock(Slot& slot) {
  const auto now = Clock::now();
  slot.deadline = now + slot.job->limit;
  slot.latest = now + kBusyMachine * slot.job->limit;
  slot.computed_before = slot.process->cpu_time();
}

// Whether a candidate compiles is not to depend on what else the machine does.
bool CompilePool::prolong(Slot& slot) {
  const auto now = Clock::now();
  const auto left = slot.job->limit - (slot.process->cpu_time() - slot.computed_before);
  if (left <= left.zero() || now >= slot.latest) return false;
  slot.deadline = std::min(now + std::chrono::ceil<std::chrono::milliseconds>(left), slot.latest);
  return true;
}

void CompilePool::expire(Slot& slot) {
  const auto job = stop(slot);
  finish(*job, Status::timeout,
         fmt::format("compilation took longer than {} s", static_cast<double>(job->limit.count()) / 1000));
}

void CompilePool::assign() {
  while (!waiting_.empty()) {
    Slot* slot = free_slot();
    if (slot == nullptr) return;
    if (!slot->process) start(*slot);
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    slot->process->send({job.ticket, "compile", to_json(job.unit), {}});
    slot->job = std::move(job);
    if (slot->started) start_clock(*slot);
  }
}

// A running worker rather than a new one.
CompilePool::Slot* CompilePool::free_slot() {
  const auto idle = std::ranges::find_if(slots_, [](const Slot& slot) { return slot.process && !slot.job; });
  if (idle != slots_.end()) return &*idle;
  const auto empty = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.process; });
  return empty != slots_.end() ? &*empty : nullptr;
}

void CompilePool::finish(const Job& job, Status status, std::string message) {
  BuildResult result;
  result.key = build_key(job.unit, facts_.nvrtc_version);
  result.nvrtc_version = facts_.nvrtc_version;
  result.outcome = {status, StageId::build, std::move(message), {}};
  // Whatever else ends a build without the compiler's own word is one of the limits it runs under.
  if (status != Status::interrupted && status != Status::infrastructure_error)
    result.outcome.gate = Gate::compile_limits;
  finish(job, std::move(result));
}

void CompilePool::finish(const Job& job, BuildResult result) {
  const std::lock_guard lock(mutex_);
  finished_.push_back({job.ticket, std::move(result)});
  --unfinished_;
  ::eventfd_write(ready_.get(), 1);
  changed_.notify_all();
}

}  // namespace ak::runtime
