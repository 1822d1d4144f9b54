// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/device_worker.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include "core/text/json_reader.h"

#include "runtime/cuda/device_context.h"
#include "runtime/emulated/emulated_driver.h"
#include "runtime/process/device_messages.h"
#include "runtime/timing/calibrate.h"
#include "runtime/worker/device_problem.h"
#include "runtime/worker/device_sandbox.h"

namespace ak::runtime {
namespace {

/// For `doctor`: it decides nothing.
Json greeting() {
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::temp_directory_path(error), error);
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return {{"role", "device"},
          {"version", AK_VERSION},
          {"unix_ms", std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()},
          {"free_bytes", error ? Json() : Json(space.available)}};
}

/// The request that progress belongs to, while it is being answered.
class ScopedCurrent {
 public:
  ScopedCurrent(const WorkerMessage*& current, const WorkerMessage& request) : current_(current) {
    current_ = &request;
  }
  ~ScopedCurrent() { current_ = nullptr; }
  ScopedCurrent(const ScopedCurrent&) = delete;
  ScopedCurrent& operator=(const ScopedCurrent&) = delete;

 private:
  const WorkerMessage*& current_;
};

class DeviceService {
 public:
  DeviceService(WorkerChannel& channel, const DeviceServiceOptions& options)
      : channel_(channel), options_(options) {}

  int serve() {
    channel_.answer_hello(greeting());
    while (!lost_) {
      const auto request = channel_.receive();
      if (!request) break;
      answer(*request);
    }
    return static_cast<int>(ExitCode::ok);
  }

 private:
  void answer(const WorkerMessage& request) {
    try {
      if (request.type == "describe") return describe(request);
      if (request.type == "calibrate") return calibrate(request);
      if (request.type == "open") return open(request);
      if (request.type == "evaluate") return evaluate(request);
      if (options_.other != nullptr) return channel_.respond(request, "answered", options_.other(request));
      channel_.respond(request, "failed",
                       {{"message", fmt::format("unknown request '{}'", request.type)}, {"code", 1}});
    } catch (const CudaError& error) {
      lost_ = process_lost(error.result());
      channel_.respond(request, "failed",
                       {{"message", error.what()}, {"code", static_cast<int>(error.code())}});
    } catch (const Error& error) {
      channel_.respond(request, "failed",
                       {{"message", error.what()}, {"code", static_cast<int>(error.code())}});
    } catch (const Json::exception& error) {
      refuse(request, error.what());
    } catch (const JsonInputError& error) {
      refuse(request, error.what());
    }
  }

  void refuse(const WorkerMessage& malformed, const char* why) {
    channel_.respond(malformed, "failed",
                     {{"message", fmt::format("malformed {}: {}", malformed.type, why)}, {"code", 1}});
  }

  void describe(const WorkerMessage& request) {
    Json devices = Json::array();
    for (const DeviceFacts& facts : describe_devices()) devices.push_back(to_json(facts));
    channel_.respond(request, "devices", {{"devices", devices}});
  }

  // What a candidate left in this process could say anything.
  void calibrate(const WorkerMessage& request) {
    if (problem_) fail(ExitCode::internal_error, "a calibration after a problem was opened");
    const ScopedCurrent current(current_, request);
    const CalibrationTask task = calibration_task_from_json(request.body);
    install(task.device, task.arch);
    channel_.respond(request, "calibrated", to_json(runtime::calibrate(task.device, task.ordinal, [this] {
                       report({.activity = "waiting",
                               .what = "for another process that times on this GPU",
                               .limit_ms = 30'000});
                     })));
  }

  void open(const WorkerMessage& request) {
    const ScopedCurrent current(current_, request);
    problem_.reset();  // before the next one, so that two never share the device's memory
    OpenProblem problem = open_problem_from_json(request.body);
    const bool gpu = problem.device == DeviceKind::cuda;
    const std::string scratch = problem.scratch_dir;
    // What watches the worker's kernels would watch, and slow down, those of PyTorch.
    if (!options_.confined && problem.python) problem.python->on_cpu = true;
    install(problem.device, problem.arch, problem.sm_count);
    problem_ = std::make_unique<DeviceProblem>(
        std::move(problem), [this](const Progress& progress) { report(progress); }, options_.make_profiler);
    // The driver has its files and threads by now, and no candidate has been loaded.
    if (!confinement_ && options_.confined) confinement_ = confine(device_permissions(gpu, scratch));
    if (!confinement_) confinement_ = Confinement{.degradation = "its kernels are being watched"};
    channel_.respond(request, "opened",
                     {{"landlock_abi", confinement_->landlock_abi},
                      {"filtered", confinement_->filtered},
                      {"degradation", confinement_->degradation}});
  }

  void install(DeviceKind device, const Arch& arch, int sm_count = 0) {
    const bool wanted = device == DeviceKind::emulator;
    const bool other =
        emulator_ && (emulator_->target() != arch || (sm_count > 0 && emulator_->sm_count() != sm_count));
    if (emulator_ && (!wanted || other)) emulator_.reset();
    if (wanted && !emulator_) emulator_.emplace(arch, sm_count);
  }

  void evaluate(const WorkerMessage& request) {
    if (!problem_) fail(ExitCode::internal_error, "an evaluation before any problem was opened");
    const ScopedCurrent current(current_, request);
    const DeviceAnswer answer = run(device_task_from_json(request.body));
    // What device printf left in stdio goes out with this answer.
    std::fflush(stdout);
    lost_ = answer.lost;
    channel_.respond(request, "evaluated", to_json(answer));
  }

  // A CPU device's memory is this process's own.
  DeviceAnswer run(const DeviceTask& task) {
    try {
      return problem_->run(task);
    } catch (const std::bad_alloc&) {
      DeviceAnswer answer;
      answer.outcome = {.status = Status::out_of_memory,
                        .stage = StageId::check,
                        .message = "the device worker ran out of memory on this candidate; it was restarted",
                        .diagnostics = {}};
      answer.lost = true;  // what else could not be allocated meanwhile is anyone's guess
      return answer;
    }
  }

  void report(const Progress& progress) {
    if (current_ == nullptr) return;
    channel_.respond(
        *current_, "progress",
        {{"doing", progress.activity}, {"what", progress.what}, {"limit_ms", progress.limit_ms}});
  }

  WorkerChannel& channel_;
  const DeviceServiceOptions& options_;
  std::optional<Confinement> confinement_;
  std::optional<EmulatedDriver> emulator_;  ///< before the problem, which works on it to its end
  std::unique_ptr<DeviceProblem> problem_;
  const WorkerMessage* current_ = nullptr;
  bool lost_ = false;
};

}  // namespace

int serve_device(WorkerChannel& channel, const DeviceServiceOptions& options) {
  channel.limit_resident_memory(options.resident_bytes);
  return DeviceService(channel, options).serve();
}

}  // namespace ak::runtime
