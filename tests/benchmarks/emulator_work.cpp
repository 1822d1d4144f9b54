// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/emulator_work.h"

#include <cstring>
#include <ctime>

namespace ak::benchmark {
namespace {

constexpr std::uint64_t kArenaBytes = 1ull << 30;  // reserved, not committed

template <class T>
T value_or_fail(Result<T, Outcome> result, const std::string& what) {
  if (!result) fail(ExitCode::environment, "{}: {}", what, result.error().message);
  return std::move(result).value();
}

}  // namespace

double thread_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Work::Work(std::string name, runtime::Compiler& compiler, const TranslationUnit& unit)
    : name_(std::move(name)), arena_(std::make_unique<emulator::Arena>(kArenaBytes)) {
  const BuildResult built = compiler.compile(unit);
  if (built.outcome.status != Status::ok)
    fail(ExitCode::environment, "{}: {}\n{}", name_, built.outcome.message, built.log);
  for (const KernelFacts& kernel : built.kernels) lowered_names_[kernel.expression] = kernel.lowered_name;
  arena_->track_initialized(true);
  module_ = value_or_fail(runtime::EmulatedModule::load(*arena_, built.ptx), name_);
}

void Work::add_memory(const std::string& buffer, std::uint64_t bytes, bool zeroed) {
  const auto address = arena_->allocate(bytes, buffer);
  if (!address) fail(ExitCode::environment, "{}: no room for {} bytes", name_, bytes);
  buffers_[buffer] = {.address = *address, .bytes = bytes, .zeroed = zeroed};
}

void Work::add_input(const std::string& buffer, std::span<const std::byte> bytes) {
  add_memory(buffer, bytes.size());
  const std::uint64_t address = buffers_.at(buffer).address;
  std::memcpy(arena_->host(address, bytes.size()), bytes.data(), bytes.size());
  arena_->mark_initialized(address, bytes.size(), true);
  arena_->set_region(address, bytes.size(), buffer, true);
}

std::vector<std::byte> Work::arguments_of(const ResolvedLaunch& launch,
                                          const emulator::Program& program) const {
  AK_ASSERT(launch.arguments.size() == program.parameters.size(), "a plan gives every parameter");
  std::vector<std::byte> bytes(program.parameter_bytes);
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    std::uint64_t value = 0;
    if (const auto* scalar = std::get_if<ResolvedScalar>(&launch.arguments[i]))
      value = static_cast<std::uint64_t>(scalar->integer);
    else if (const auto& name = std::get<ResolvedPointer>(launch.arguments[i]).name; !name.empty())
      value = buffers_.at(name).address;
    const emulator::Parameter& parameter = program.parameters[i];
    AK_ASSERT(parameter.bytes <= sizeof value, "pointers and integers only");
    std::memcpy(bytes.data() + parameter.offset, &value, parameter.bytes);
  }
  return bytes;
}

void Work::add_launch(const ResolvedLaunch& launch) {
  const std::string& kernel = lowered_names_.at(launch.kernel);
  const emulator::Program& program = value_or_fail(module_->kernel(kernel), name_)->program;
  Launch& added = launches_.emplace_back(Launch{.program = &program, .request = {}});
  added.request.grid = launch.grid;
  added.request.block = launch.block;
  added.request.cluster = launch.cluster;
  added.request.dynamic_shared_bytes = launch.shared_bytes;
  added.request.cooperative = launch.cooperative;
  added.request.parameters = arguments_of(launch, program);
}

Sample Work::execute(const emulator::LaunchOptions& options) {
  for (const auto& [name, buffer] : buffers_) {
    if (!buffer.zeroed) continue;
    std::memset(arena_->host(buffer.address, buffer.bytes), 0, buffer.bytes);
    arena_->mark_initialized(buffer.address, buffer.bytes, true);
  }
  Sample sample;
  for (Launch& launch : launches_) {
    launch.request.options = options;
    launch.request.launch_base = next_block_;
    const auto& grid = launch.request.grid;
    next_block_ += std::uint64_t{grid[0]} * grid[1] * grid[2];
    const double start_ns = thread_time_ns();
    const emulator::LaunchReport report = emulator::run_grid(*launch.program, *arena_, launch.request);
    sample.time_ns += thread_time_ns() - start_ns;
    for (const emulator::Finding& finding : report.findings.all())
      fail(ExitCode::environment, "{}: {}", name_, emulator::describe(*launch.program, finding));
    const emulator::CounterSummary counts = emulator::summarize(*launch.program, report.counters);
    sample.thread_instructions += counts.thread_instructions;
    sample.warp_instructions += counts.warp_instructions;
    for (const auto& [type, flops] : counts.tensor_flops) sample.tensor_fmas += flops / 2;
  }
  return sample;
}

}  // namespace ak::benchmark
