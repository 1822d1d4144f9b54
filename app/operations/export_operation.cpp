// SPDX-License-Identifier: Apache-2.0
// A kernel of the database as a folder for other programs.
#include <fmt/format.h>

#include "app/export/kernel_export.h"
#include "app/operations/kernel_request.h"
#include "app/operations/written_path.h"
#include "core/error.h"
#include "core/text/file.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

app::ExportChoice chosen_export(const Json& request, const Context& context) {
  if (request.contains("variant"))
    return app::export_choice(fmt::format("{}", request["variant"].get<std::int64_t>()), "",
                              context.database);
  const auto instance = instance_of(problem_of(request, ""), request, {});
  const std::string best =
      app::best_variant_of(instance->definition.name, request.value("device", ""), context.database);
  return app::export_choice(best, "", context.database);
}

/// As `arch` says, else what it was evaluated for.
Arch exported_arch(const Json& request, const app::ExportChoice& choice) {
  if (!request.contains("arch")) {
    if (!choice.stored) fail(ExitCode::usage, "this kernel was never evaluated: name its target with arch");
    return choice.stored->arch;
  }
  const Result<Arch> arch = parse_arch(request["arch"].get<std::string>());
  if (!arch) fail(ExitCode::usage, "arch: {}", arch.error().message);
  return *arch;
}

}  // namespace

Answer export_kernel(const Json& request, const Context& context, const Callbacks&) {
  const fs::path folder = new_folder(request["folder"]);
  const app::ExportChoice choice = chosen_export(request, context);
  const codegen::Problem problem = problem_of(request, choice.kernel.problem);
  const auto instance = instance_of(problem, {}, choice.kernel.params);
  const Arch target = exported_arch(request, choice);
  const auto files =
      codegen::export_files(*instance, choice.kernel.candidate, target, app::export_facts(choice, *instance));
  if (!files) fail(ExitCode::no_kernel, "this kernel cannot be exported: {}", files.error().message);
  Json names = Json::array();
  for (const codegen::ExportedFile& file : *files) {
    fs::create_directories((folder / file.path).parent_path());
    write_file_atomically(folder / file.path, file.text);
    names.push_back(file.path);
  }
  return {.content = {{"folder", folder.string()},
                      {"name", codegen::export_name(instance->definition)},
                      {"problem", instance->definition.name},
                      {"arch", target.sm()},
                      {"variant", choice.kernel.variant.value_or(0)},
                      {"files", std::move(names)},
                      {"note", "README.md says how it is used from C++, CMake and PyTorch"}}};
}

}  // namespace ak::operations
