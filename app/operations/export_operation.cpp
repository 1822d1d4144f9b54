// SPDX-License-Identifier: Apache-2.0
// A kernel of the database as a folder for other programs.
#include <fmt/format.h>

#include "app/export/kernel_export.h"
#include "app/operations/kernel_request.h"
#include "app/operations/written_path.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

app::ExportChoice chosen_export(const Json& request, const Context& context) {
  const std::string device = request.value("device", "");
  if (request.contains("path"))
    return app::export_choice(request["path"].get<std::string>(), device, context.database);
  if (request.contains("variant"))
    return app::export_choice(fmt::format("{}", request["variant"].get<std::int64_t>()), device,
                              context.database);
  const auto instance = instance_of(problem_of(request, ""), request, {});
  const std::string best = app::best_variant_of(instance->definition.name, device, context.database);
  return app::export_choice(best, "", context.database);
}

/// The folder to write into. Throws Error(usage) where the request may not.
fs::path export_folder(const Json& request, const Context& context) {
  const std::string given = request["folder"];
  const bool overwrite = request.at("overwrite").get<bool>();
  if (!context.writes_anywhere)
    return overwrite ? below_working_directory(given, "folder") : new_folder(given);
  if (!overwrite && fs::exists(given)) {
    if (!fs::is_directory(given)) fail(ExitCode::output, "{} is not a folder", given);
    if (!fs::is_empty(given)) fail(ExitCode::output, "{} is not empty; --force writes into it", given);
  }
  return given;
}

void write_exported_files(const fs::path& folder, const std::vector<codegen::ExportedFile>& files) {
  for (const codegen::ExportedFile& file : files) {
    const fs::path parent = (folder / file.path).parent_path();
    std::error_code error;
    fs::create_directories(parent, error);
    if (error) fail(ExitCode::output, "cannot make {}: {}", parent.string(), error.message());
    write_file_atomically(folder / file.path, file.text);
  }
}

/// As `arch` says, else what it was evaluated for.
Arch exported_arch(const Json& request, const app::ExportChoice& choice) {
  if (!request.contains("arch")) {
    if (!choice.stored)
      fail(ExitCode::usage, "this kernel was never evaluated here: name its target with arch");
    return choice.stored->arch;
  }
  const Result<Arch> arch = parse_arch(request["arch"].get<std::string>());
  if (!arch) fail(ExitCode::usage, "arch: {}", arch.error().message);
  return *arch;
}

/// Empty where the request gives none.
std::string given_name(const Json& request) {
  if (!request.contains("name")) return "";
  std::string name = request["name"];
  if (const std::string objection = codegen::name_objection(name); !objection.empty())
    fail(ExitCode::usage, "name: '{}': {}", sanitize(name, 60), objection);
  return name;
}

}  // namespace

Answer export_kernel(const Json& request, const Context& context, const Callbacks&) {
  const std::string name = given_name(request);
  const fs::path folder = export_folder(request, context);
  const app::ExportChoice choice = chosen_export(request, context);
  const codegen::Problem problem = problem_of(request, choice.kernel.problem);
  const auto instance = instance_of(problem, request, choice.kernel.params);
  const Arch target = exported_arch(request, choice);
  app::require_target(choice, *instance, target);
  const bool module = request.at("format") == "kernelbench";
  const auto write = module ? codegen::kernelbench_files : codegen::export_files;
  const auto files =
      write(*instance, choice.kernel.candidate, target, app::export_facts(choice, *instance), name);
  if (!files) fail(ExitCode::no_kernel, "this kernel cannot be exported: {}", files.error().message);
  write_exported_files(folder, *files);
  Json json{{"folder", folder.string()},
            {"name", name.empty() ? codegen::export_name(instance->definition) : name},
            {"problem", instance->definition.name},
            {"arch", target.sm()},
            {"files", Json::array()},
            {"note", module ? "model_new.py has class ModelNew for KernelBench's evaluator"
                            : "README.md says how it is used from C++, CMake and PyTorch"}};
  if (choice.stored) json["variant"] = choice.stored->variant;
  for (const codegen::ExportedFile& file : *files) json["files"].push_back(file.path);
  return {.content = std::move(json)};
}

}  // namespace ak::operations
