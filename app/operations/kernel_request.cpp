// SPDX-License-Identifier: Apache-2.0
#include "app/operations/kernel_request.h"

#include <fmt/format.h>

#include "core/error.h"

namespace ak::operations {
namespace {

/// "bf16" of "bf16", "4" of 4, "true" of true: as a flag of the command line would say it.
std::string flag_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string shape_text(const Json& shape) {
  std::vector<std::string> parts;
  for (const auto& [axis, size] : shape.items()) parts.push_back(axis + "=" + flag_text(size));
  return fmt::format("{}", fmt::join(parts, ","));
}

app::KernelChoice kernel_of(const Json& request, const Context& context) {
  const auto given = [&](const char* name) { return request.contains(name) ? 1 : 0; };
  if (given("source") + given("path") + given("variant") != 1)
    fail(ExitCode::usage, "say which kernel: exactly one of source, path and variant");
  if (given("source")) return app::kernel_of_source("kernel.cu", request["source"].get<std::string>());
  if (given("path")) return app::kernel_of_file(request["path"].get<std::string>());
  return app::kernel_of_variant(context.database, fmt::format("{}", request["variant"].get<std::int64_t>()));
}

}  // namespace

codegen::Problem problem_of(const Json& request, const std::string& fallback) {
  const std::string name = request.value("problem", "");
  if (name.empty() && !fallback.empty())
    return codegen::load_problem(codegen::find_problem_of_kernel(fallback));
  if (name.empty()) fail(ExitCode::usage, "say which problem: list_problems names them");
  std::error_code unreadable;
  const bool folder =
      name.find('/') != std::string::npos || std::filesystem::exists(name + "/problem.json", unreadable);
  return codegen::load_problem(folder ? std::filesystem::path(name) : codegen::find_problem(name));
}

std::shared_ptr<const ProblemInstance> instance_of(const codegen::Problem& problem, const Json& request,
                                                   const Params& defaults) {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : defaults) given[name] = to_string(value);
  if (request.contains("params")) {
    for (const auto& [name, value] : request["params"].items()) given[name] = flag_text(value);
  }
  auto instance = codegen::instantiate(problem, codegen::choose_params(problem, given));
  return request.contains("shape") ? codegen::with_shape(*instance, shape_text(request["shape"])) : instance;
}

KernelTask kernel_task(const Json& request, const Context& context) {
  app::KernelChoice kernel = kernel_of(request, context);
  const codegen::Problem problem = problem_of(request, kernel.problem);
  auto instance = instance_of(problem, request, kernel.problem == problem.name ? kernel.params : Params{});
  return {.kernel = std::move(kernel), .problem = std::move(instance)};
}

app::Target target_of(const Json& request, const Context& context) {
  return app::choose_target(request.value("device", context.config.device),
                            request.value("arch", context.config.arch));
}

}  // namespace ak::operations
