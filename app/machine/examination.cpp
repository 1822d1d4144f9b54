// SPDX-License-Identifier: Apache-2.0
#include "app/machine/examination.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/llm/api/model_info_client.h"
#include "app/setup/program_paths.h"
#include "app/setup/target.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "runtime/build/compile_answers.h"
#include "runtime/cuda/cuda_toolkit.h"
#include "runtime/emulated/emulated_probe.h"
#include "runtime/evaluator/local_evaluator.h"
#include "runtime/evaluator/probe_answers.h"
#include "runtime/process/worker_process.h"
#include "runtime/reference/python_installation.h"

namespace ak::app {
namespace {

bool loads(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

MachinePart look_for_driver() {
  std::string why;
  const std::vector<DeviceFacts> devices = runtime::probe_devices(worker_command(), why);
  MachinePart finding{
      .part = "driver",
      .present = !devices.empty(),
      .detail = why,
      .cost = "kernels run on the CPU emulator: checked, costs estimated",
      .remedy = "install the NVIDIA driver 580 or newer and check that nvidia-smi lists the GPU"};
  if (finding.present) {
    const DeviceFacts& first = devices.front();
    finding.detail = fmt::format("CUDA {}.{}, {} GPU{}, first: {} ({})", first.driver_version / 1000,
                                 first.driver_version % 1000 / 10, devices.size(),
                                 devices.size() == 1 ? "" : "s", first.name, first.arch.sm());
  }
  return finding;
}

MachinePart look_at_cpu_device() {
  const std::string wrong = runtime::try_emulated_device(emulated_by_default());
  return {.part = "CPU device",
          .present = wrong.empty(),
          .detail = wrong.empty()
                        ? fmt::format("a test kernel ran; {} at a time; costs are estimates, not GPU "
                                      "times",
                                      runtime::emulator_count())
                        : wrong,
          .cost = "without a GPU no kernel is checked",
          .remedy = "allow more memory (ulimit -v, container limits)"};
}

/// The facts a worker of this role greets with, as `read` finds them in its message.
template <class Facts>
Result<Facts> ask_worker(const std::string& role, Result<Facts> (*read)(const Json& hello)) {
  std::vector<std::string> argv = worker_command();
  argv.insert(argv.end(), {"--role", role});
  runtime::WorkerProcess worker(std::move(argv));
  const auto hello = worker.await_hello(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  if (!hello) return hello.error();
  return read(*hello);
}

/// What a compile worker says of itself: it loads NVRTC and confines itself as it does for real work.
MachinePart look_at_compile_worker() {
  MachinePart nvrtc{.part = "NVRTC",
                    .detail = "",
                    .cost = "nothing can be built",
                    .remedy = "install the CUDA 13 toolkit or set CUDA_HOME to its folder",
                    .essential = true};
  const auto toolkit = runtime::find_cuda_toolkit();
  if (!toolkit) {
    nvrtc.detail = toolkit.error().message;
    return nvrtc;
  }
  const auto facts = ask_worker("compile", runtime::read_compiler_facts);
  if (!facts) {
    nvrtc.detail = facts.error().message;
    return nvrtc;
  }
  nvrtc.present = true;
  nvrtc.detail = fmt::format("{} in {}; builds for {}", facts->nvrtc_version, toolkit->nvrtc_library.string(),
                             fmt::join(facts->archs, " "));
  return nvrtc;
}

/// A line for each protection: a worker confines itself and tries what is then forbidden.
std::vector<MachinePart> look_at_sandbox() {
  const auto protections = ask_worker("sandbox", runtime::read_protections);
  if (!protections)
    return {{.part = "sandbox",
             .detail = protections.error().message,
             .cost = "workers do not start",
             .remedy = "allow programs to start child processes"}};
  std::vector<MachinePart> findings;
  for (const runtime::ProtectionReport& one : *protections)
    findings.push_back({.part = one.part,
                        .present = one.in_force,
                        .detail = one.detail,
                        .cost = one.cost,
                        .remedy = one.remedy});
  return findings;
}

MachinePart look_for_headers() {
  const auto toolkit = runtime::find_cuda_toolkit();
  MachinePart finding{.part = "headers",
                      .present = toolkit.ok() && !toolkit->include_dirs.empty(),
                      .detail = "",
                      .cost = "candidates that include cuda_fp16.h and similar ones do not build",
                      .remedy = "install the toolkit's headers (cuda-cudart-dev, cuda-cccl)",
                      .essential = true};
  if (finding.present) finding.detail = toolkit->include_dirs.front().string();
  return finding;
}

/// A worker takes hold of the counters as a profile does.
MachinePart look_for_cupti() {
  const auto obstacle = ask_worker("counters", runtime::read_obstacle);
  const std::string unavailable_reason = obstacle ? *obstacle : obstacle.error().message;
  return {
      .part = "CUPTI",
      .present = unavailable_reason.empty(),
      .detail = unavailable_reason.empty() ? "hardware counters can be read" : unavailable_reason,
      .cost = unavailable_reason.empty()
                  ? ""
                  : "no hardware counters: profiles are based on the compiler's facts and the CPU device",
      .remedy = unavailable_reason.empty()
                    ? ""
                    : "a GPU, cuda-cupti of the toolkit, no other profiler at the same time, and where the "
                      "driver keeps counters to administrators its module option "
                      "NVreg_RestrictProfilingToAdminUsers=0"};
}

/// What of kTorchUses a PyTorch is new enough for: "references (1.13): yes, ...".
std::string torch_uses_text(const runtime::PythonInstallation& python) {
  std::vector<std::string> uses;
  for (const runtime::TorchUse& use : runtime::kTorchUses)
    uses.push_back(fmt::format("{} ({}.{}): {}", use.what, use.least.major, use.least.minor,
                               python.suits(use.least) ? "yes" : "no"));
  return fmt::format("{}", fmt::join(uses, ", "));
}

MachinePart look_for_python(const Config& config) {
  MachinePart finding{
      .part = "Python",
      .detail = "",
      .cost = "problems whose reference is a Python file cannot be used",
      .remedy =
          "install PyTorch 1.13 or newer (Debian: python3-torch) and name its interpreter with "
          "ALPHAKERNEL_PYTHON or the configuration's \"python\""};
  try {
    const runtime::PythonInstallation python = runtime::find_python(config.python);
    finding.present = true;
    finding.detail =
        fmt::format("{} {} with PyTorch {} ({}); {}", python.program, python.version, python.torch,
                    python.cuda.empty() ? "CPU" : "CUDA " + python.cuda, torch_uses_text(python));
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

MachinePart look_for_nvml() {
  const bool present = loads("libnvidia-ml.so.1");
  return {.part = "NVML",
          .present = present,
          .detail = present ? "found" : "libnvidia-ml.so.1 was not found",
          .cost = "clocks, temperature and throttling are not recorded",
          .remedy = "it comes with the NVIDIA driver"};
}

/// Nearest existing folder of a path that may not exist yet.
std::filesystem::path existing_parent(std::filesystem::path path) {
  while (!path.empty() && !std::filesystem::exists(path) && path.has_relative_path())
    path = path.parent_path();
  return path.empty() ? "." : path;
}

constexpr double kMinFreeGb =
    2;  // a night of 100,000 variants leaves under 1 GB of database and cache entries

MachinePart look_at_disk(const std::string& what, const std::filesystem::path& path) {
  const std::filesystem::path folder = existing_parent(path);
  struct statvfs info = {};
  const bool known = statvfs(folder.c_str(), &info) == 0;
  const double free_gb =
      known ? static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9 : 0;
  const bool writable = access(folder.c_str(), W_OK) == 0;
  return {.part = "disk",
          .present = known && writable && free_gb >= kMinFreeGb,
          .detail = fmt::format("{} {}: {:.0f} GB free{}", what, path.string(), free_gb,
                                writable ? "" : ", not writable"),
          .cost = "results and builds may not be kept",
          .remedy = "free space, or name another place with --db, --cache or docs/config.md"};
}

/// "12 algorithms: 10 of /opt/share/alphakernel/templates, 2 compiled in".
std::string templates_text(const std::map<std::filesystem::path, int>& algorithms) {
  int all = 0;
  std::vector<std::string> places;
  for (const auto& [root, count] : algorithms) {
    all += count;
    places.push_back(is_compiled_in(root) ? fmt::format("{} compiled in", count)
                                          : fmt::format("{} of {}", count, root.string()));
  }
  return fmt::format("{} algorithms: {}", all, fmt::join(places, ", "));
}

MachinePart look_for_templates() {
  std::map<std::filesystem::path, int> whole;
  std::string broken;
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    entry.input_error.empty() ? static_cast<void>(++whole[entry.folder.parent_path()])
                              : static_cast<void>(broken = entry.input_error);
  }
  return {.part = "templates",
          .present = !whole.empty() && broken.empty(),
          .detail = broken.empty() ? templates_text(whole) : broken,
          .cost = "--algorithm cannot name them",
          .remedy = "fix the file named, or set ALPHAKERNEL_TEMPLATES"};
}

/// "context 1000000, answers of 128000 tokens, efforts low high"; what is not known is left out.
std::string limits_of(const agent::ModelEntry& entry) {
  std::vector<std::string> parts;
  if (entry.context_tokens > 0) parts.push_back(fmt::format("context of {} tokens", entry.context_tokens));
  if (entry.max_output_tokens > 0)
    parts.push_back(fmt::format("answers of {} tokens", entry.max_output_tokens));
  if (!entry.efforts.empty()) parts.push_back(fmt::format("efforts {}", fmt::join(entry.efforts, " ")));
  return parts.empty() ? "no limits are known" : fmt::format("{}", fmt::join(parts, ", "));
}

/// What the provider answers about the model. Throws Error(environment) with what to do when it cannot be asked.
std::string said_of(const agent::LlmModel& model) {
  if (!model.info_client) return "";
  const agent::ModelLook look = model.info_client->look();
  if (look.failure)
    fail(ExitCode::environment, "{}: {}: {}; {}", model.name, info(look.failure->fault).name,
         look.failure->message, look.remedy);
  if (!look.entry) return "; the provider says nothing of it: " + look.undecided;
  const auto counted = model.info_client->count_tokens(
      {.model = model.entry.name, .system = "", .messages = {{"user", "How long is this?"}}});
  return "; the provider says: " + limits_of(*look.entry) +
         (counted ? fmt::format(", and counts tokens ({} of four words)", *counted)
                  : ", and counts no tokens: " + counted.error().message);
}

/// Whether the configured models can be asked, as far as that can be told without asking; where models are
/// named, their providers are asked about them.
MachinePart look_for_model(const Config& config, const std::vector<std::string>& named) {
  MachinePart finding{.part = "model",
                      .detail = "none is configured",
                      .cost = "candidates come from templates and search alone",
                      .remedy = "name one with --model or in the configuration (docs/providers.md)",
                      .essential = !named.empty()};
  const std::vector<std::string>& names = named.empty() ? config.models : named;
  if (names.empty()) return finding;
  try {
    std::vector<std::string> models;
    for (const std::string& name : names) {
      const agent::LlmModel model = agent::open_model(name, config.llm);
      models.push_back(model.name + (model.entry.price ? "" : "; price unknown") +
                       (named.empty() ? "" : "; by the table: " + limits_of(model.entry) + said_of(model)));
    }
    finding.present = true;
    finding.detail = fmt::format("{}", fmt::join(models, ", "));
  } catch (const Error& error) {
    finding.detail = error.what();
  }
  return finding;
}

}  // namespace

std::vector<MachinePart> examine_machine(const Config& config, const std::vector<std::string>& models) {
  std::vector<MachinePart> findings{look_for_driver(), look_at_cpu_device(), look_at_compile_worker()};
  for (MachinePart& finding : look_at_sandbox()) findings.push_back(std::move(finding));
  findings.push_back(look_for_headers());
  findings.push_back(look_for_cupti());
  findings.push_back(look_for_nvml());
  findings.push_back(look_for_python(config));
  findings.push_back(look_at_disk("database", database_file("", config)));
  findings.push_back(look_at_disk(
      "build cache", config.cache.empty() ? default_cache_dir() : std::filesystem::path(config.cache)));
  findings.push_back(look_for_templates());
  findings.push_back(look_for_model(config, models));
  return findings;
}

}  // namespace ak::app
