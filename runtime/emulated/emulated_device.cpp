// SPDX-License-Identifier: Apache-2.0
#include "runtime/emulated/emulated_device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/emulated/emulated_cost.h"
#include "runtime/emulated/emulated_counts.h"
#include "runtime/emulated/emulated_launch.h"

namespace ak::runtime {
namespace {

// From one launch of next to nothing to the next: what a host takes to enqueue one, 2 to
// 4 us (runtime/timing/timing.cpp).
constexpr std::uint64_t kLaunchGapNs = 4'000;
constexpr std::size_t kPrintBytes = 1u << 20;  ///< of one launch: the GPU driver's default

emulator::DeviceIdentity identity_of(const DeviceFacts& facts, std::uint64_t launch, std::uint64_t start_ns) {
  return {.sm_count = static_cast<std::uint32_t>(std::max(1, facts.sm_count)),
          .warps_per_sm = static_cast<std::uint32_t>(facts.max_threads_per_sm / 32),
          .clock_mhz = static_cast<std::uint32_t>(std::max(1, facts.clock_mhz)),
          .launch = launch,
          .start_ns = start_ns,
          .timer_step_ns = facts.arch.major >= 9 ? 32u : 1'024u};
}

}  // namespace

std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

EmulatedDevice::EmulatedDevice(const Arch& target, std::uint64_t start_ns, int sm_count)
    : target_(target),
      facts_(emulated_device_facts(target, sm_count)),
      arena_(static_cast<std::uint64_t>(facts_.memory_bytes)),
      now_ns_(start_ns) {
  arena_.track_initialized(true);
}

// ---- memory

CUresult EmulatedDevice::allocate(CUdeviceptr& address, std::size_t bytes) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = arena_.allocate(bytes);
  if (!found) return CUDA_ERROR_OUT_OF_MEMORY;
  address = *found;
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::release(CUdeviceptr address) {
  return arena_.release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EmulatedDevice::fill(CUdeviceptr address, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  std::byte* to = arena_.host(address, bytes);
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memset(to, value, bytes);
  arena_.mark_initialized(address, bytes, true);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::copy_to_host(void* to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  const std::byte* source = arena_.host(from, bytes);
  if (source == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, source, bytes);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::copy_from_host(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  std::byte* destination = arena_.host(to, bytes);
  if (destination == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(destination, from, bytes);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  const std::byte* source = arena_.host(from, bytes);
  std::byte* destination = arena_.host(to, bytes);
  if (source == nullptr || destination == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memmove(destination, source, bytes);
  arena_.mark_initialized(to, bytes, true);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::create_memory(CUmemGenericAllocationHandle& handle, std::size_t bytes) {
  if (bytes > arena_.free_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  handle = ++last_handle_;
  memories_[handle] = {.bytes = bytes, .address = 0};
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::release_memory(CUmemGenericAllocationHandle handle) {
  return memories_.erase(handle) > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EmulatedDevice::reserve_addresses(CUdeviceptr& address, std::size_t bytes) {
  const CUresult result = allocate(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  arena_.set_mapped(address, false);
  reservations_[address] = {.bytes = bytes, .mapped = 0};
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle) {
  const auto reservation = reservations_.find(address);
  const auto memory = memories_.find(handle);
  if (reservation == reservations_.end() || memory == memories_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (bytes != reservation->second.bytes || bytes != memory->second.bytes) return CUDA_ERROR_NOT_SUPPORTED;
  if (reservation->second.mapped != 0) return CUDA_ERROR_INVALID_VALUE;
  if (memory->second.address != 0 && memory->second.address != address) return CUDA_ERROR_NOT_SUPPORTED;
  memory->second.address = address;
  reservation->second.mapped = handle;
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::set_access(CUdeviceptr address) {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second.mapped == 0) return CUDA_ERROR_INVALID_VALUE;
  arena_.set_mapped(address, true);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::unmap(CUdeviceptr address) {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second.mapped == 0) return CUDA_ERROR_INVALID_VALUE;
  reservation->second.mapped = 0;
  arena_.set_mapped(address, false);
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::free_addresses(CUdeviceptr address) {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second.mapped != 0) return CUDA_ERROR_INVALID_VALUE;
  reservations_.erase(reservation);
  return release(address);
}

// ---- programs

CUresult EmulatedDevice::load(CUmodule& module, const char* text) {
  auto loaded = EmulatedModule::load(arena_, text);
  if (!loaded) {
    const bool full = loaded.error().status == Status::out_of_memory;
    return refuse(full ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED, loaded.error());
  }
  module = reinterpret_cast<CUmodule>(loaded.value().get());
  modules_[module] = std::move(loaded).value();
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::unload(CUmodule module) {
  return modules_.erase(module) > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult EmulatedDevice::find_kernel(CUfunction& function, CUmodule module, const char* name) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (!found->second->has_kernel(name)) return CUDA_ERROR_NOT_FOUND;
  auto kernel = found->second->kernel(name);
  if (!kernel) return refuse(CUDA_ERROR_NOT_SUPPORTED, kernel.error());
  function = reinterpret_cast<CUfunction>(kernel.value());
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::find_variable(CUdeviceptr& address, std::size_t& bytes, CUmodule module,
                                       const char* name) const {
  const auto found = modules_.find(module);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto variable = found->second->variable(name);
  if (!variable) return CUDA_ERROR_NOT_FOUND;
  address = variable->address;
  bytes = variable->bytes;
  return CUDA_SUCCESS;
}

CUresult EmulatedDevice::launch(const CUlaunchConfig& config, EmulatedFunction& function, void** arguments) {
  emulator::LaunchRequest request;
  const CUresult read = read_launch(config, function, arguments, facts_, request);
  if (read != CUDA_SUCCESS) return read;
  request.options = {.check = inspection_.check,
                     .count_memory = inspection_.count_cost,
                     .seed = inspection_.order_seed,
                     .instruction_budget = inspection_.instruction_budget};
  request.launch_base = launched_blocks_;
  launched_blocks_ += std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2];
  request.device = identity_of(facts_, ++launches_, now_ns_);
  std::size_t printed = 0;
  request.print = [&printed](const std::string& text) {
    if (printed + text.size() > kPrintBytes) return;
    printed += text.size();
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
  if (inspection_.follow_bytes) request.touched = &touched_;
  if (may_begin_early(config)) request.before = last_footprint_;
  const emulator::LaunchReport report = emulator::run_grid(function.program, arena_, request);
  last_footprint_ = report.footprint;
  std::uint64_t instructions = 0;
  for (const emulator::OpCount& op : report.counters.ops) instructions += op.warps;
  warp_instructions_ += instructions;
  now_ns_ += request.device.elapsed_ns(instructions) + kLaunchGapNs;
  count(function.program, request, report.counters);
  return judge(function.program, report);
}

void EmulatedDevice::count(const emulator::Program& program, const emulator::LaunchRequest& request,
                           const emulator::Counters& counters) {
  if (!inspection_.count_cost) return;
  const LaunchShape shape{.blocks = std::uint64_t{request.grid[0]} * request.grid[1] * request.grid[2],
                          .threads = request.block[0] * request.block[1] * request.block[2],
                          .shared_bytes = program.static_shared_bytes + request.dynamic_shared_bytes};
  const emulator::CounterSummary sum = emulator::summarize(program, counters);
  counts_.cost_ns += emulated_cost_ns(sum, shape, target_);
  add_counts(counts_.counts, sum);
  for (const emulator::LineCounters& line :
       emulator::summarize_lines(program, counters, inspection_.own_file)) {
    if (line.file.ends_with(inspection_.own_file)) add_counts(counts_.by_line[line.line], line.counts);
  }
}

/// Each once: a benchmark launches the same kernel many times.
void EmulatedDevice::say_notes(const emulator::Program& program, const emulator::Findings& findings) {
  for (const emulator::Finding& note : findings.notes()) {
    const int line = emulator::place_of(program, note.first.op, inspection_.own_file).line;
    if (notes_said_.emplace(line, note.kind).second)
      print_stderr("note: {}\n", sanitize(emulator::describe(program, note, inspection_.own_file)));
  }
}

CUresult EmulatedDevice::judge(const emulator::Program& program, const emulator::LaunchReport& report) {
  say_notes(program, report.findings);
  if (report.findings.empty()) return CUDA_SUCCESS;
  return refuse(result_of(report.findings.all().front().kind),
                emulator::to_outcome(program, report.findings, StageId::check, inspection_.own_file));
}

CUresult EmulatedDevice::refuse(CUresult result, Outcome outcome) {
  outcome.message = sanitize(outcome.message);
  for (Diagnostic& diagnostic : outcome.diagnostics) diagnostic.message = sanitize(diagnostic.message);
  last_failure_ = result;
  words_ = outcome.message;
  if (!outcome_) outcome_ = std::move(outcome);
  return result;
}

const std::string& EmulatedDevice::message_for(CUresult result) const {
  static const std::string kNone;
  return result == last_failure_ ? words_ : kNone;
}

// ---- what an inspector knows

void EmulatedDevice::name_region(BufferView view, const std::string& name, bool read_only) {
  if (view.bytes > 0) arena_.set_region(view.address, view.bytes, name, read_only);
}

void EmulatedDevice::mark_contents(BufferView view, bool initialized) {
  if (view.bytes > 0) arena_.mark_initialized(view.address, view.bytes, initialized);
}

std::byte* EmulatedDevice::host(BufferView view) {
  std::byte* const memory = arena_.host(view.address, view.bytes);
  AK_ASSERT(memory != nullptr || view.bytes == 0, "the harness works on memory that it allocated");
  return memory;
}

void EmulatedDevice::set_inspection(const InspectionOptions& inspection) {
  inspection_ = inspection;
  if (inspection.follow_bytes) touched_ = {};
  outcome_.reset();
}

std::optional<Outcome> EmulatedDevice::take_outcome() { return std::exchange(outcome_, std::nullopt); }
std::uint64_t EmulatedDevice::take_warp_instructions() { return std::exchange(warp_instructions_, 0); }
LaunchCounts EmulatedDevice::take_counts() { return std::exchange(counts_, {}); }

TouchedBytes EmulatedDevice::touched_bytes(BufferView view) const {
  const std::uint64_t offset = view.address - emulator::kGlobalBase;
  return {.read = touched_.bytes_read(offset, view.bytes),
          .written = touched_.bytes_written(offset, view.bytes)};
}

}  // namespace ak::runtime
