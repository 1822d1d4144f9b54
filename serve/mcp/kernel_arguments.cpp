// SPDX-License-Identifier: Apache-2.0
#include "serve/mcp/kernel_arguments.h"

#include <fmt/format.h>

#include "core/error.h"

namespace ak::mcp {
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

tools::KernelChoice kernel_of(const Json& arguments, const ToolContext& context) {
  const auto given = [&](const char* name) { return arguments.contains(name) ? 1 : 0; };
  if (given("source") + given("path") + given("variant") != 1)
    fail(ExitCode::usage, "say which kernel: exactly one of source, path and variant");
  if (given("source")) return tools::kernel_of_source("kernel.cu", arguments["source"].get<std::string>());
  if (given("path")) return tools::kernel_of_file(arguments["path"].get<std::string>());
  return tools::kernel_of_variant(context.database,
                                  fmt::format("{}", arguments["variant"].get<std::int64_t>()));
}

}  // namespace

codegen::Problem problem_of(const Json& arguments, const std::string& fallback) {
  std::string name = arguments.value("problem", "");
  if (name.empty()) name = fallback;
  if (name.empty()) fail(ExitCode::usage, "say which problem: list_problems names them");
  const bool folder = name.find('/') != std::string::npos || std::filesystem::exists(name + "/problem.json");
  return codegen::load_problem(folder ? std::filesystem::path(name) : codegen::find_problem(name));
}

std::shared_ptr<const ProblemInstance> instance_of(const codegen::Problem& problem, const Json& arguments,
                                                   const Params& defaults) {
  std::map<std::string, std::string> given;
  for (const auto& [name, value] : defaults) given[name] = to_string(value);
  if (arguments.contains("params")) {
    for (const auto& [name, value] : arguments["params"].items()) given[name] = flag_text(value);
  }
  auto instance = codegen::instantiate(problem, codegen::choose_params(problem, given));
  return arguments.contains("shape") ? codegen::with_shape(*instance, shape_text(arguments["shape"]))
                                     : instance;
}

KernelTask kernel_task(const Json& arguments, const ToolContext& context) {
  tools::KernelChoice kernel = kernel_of(arguments, context);
  const codegen::Problem problem = problem_of(arguments, kernel.problem);
  auto instance = instance_of(problem, arguments, kernel.problem == problem.name ? kernel.params : Params{});
  return {.kernel = std::move(kernel), .problem = std::move(instance)};
}

tools::Target target_of(const Json& arguments, const ToolContext& context) {
  return tools::choose_target(arguments.value("device", context.config.device),
                              arguments.value("arch", context.config.arch));
}

}  // namespace ak::mcp
