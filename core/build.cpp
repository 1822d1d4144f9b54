// SPDX-License-Identifier: Apache-2.0
#include "core/build.h"

#include <algorithm>

#include "core/error.h"
#include "core/text/characters.h"
#include "core/text/hash.h"

namespace ak {
namespace {

// Every field is preceded by its length, so that no two different units give the same text.
void append_field(std::string& text, std::string_view field) {
  text += std::to_string(field.size());
  text += ':';
  text += field;
}

Arch arch_from_json(const Json& json) {
  const Result<Arch> arch = parse_arch(json.get<std::string>());
  if (!arch) fail(ExitCode::bad_input, "translation unit: {}", arch.error().message);
  return *arch;
}

Status status_from_json(const Json& json) {
  const auto name = json.get<std::string>();
  const std::optional<Status> status = parse_status(name);
  if (!status) fail(ExitCode::bad_input, "build result: unknown status '{}'", name);
  return *status;
}

Json to_json(const Diagnostic& diagnostic) {
  return {{"severity", diagnostic.severity},
          {"message", diagnostic.message},
          {"line", diagnostic.line},
          {"column", diagnostic.column}};
}

Diagnostic diagnostic_from_json(const Json& json) {
  Diagnostic diagnostic;
  json.at("severity").get_to(diagnostic.severity);
  json.at("message").get_to(diagnostic.message);
  json.at("line").get_to(diagnostic.line);
  json.at("column").get_to(diagnostic.column);
  return diagnostic;
}

StageId stage_from_json(const Json& json) {
  const auto name = json.get<std::string>();
  const auto stage = parse_stage(name);
  if (!stage) fail(ExitCode::bad_input, "build result: unknown stage '{}'", name);
  return *stage;
}

Json to_json(const Outcome& outcome) {
  Json diagnostics = Json::array();
  for (const Diagnostic& diagnostic : outcome.diagnostics) diagnostics.push_back(to_json(diagnostic));
  return {{"status", to_string(outcome.status)},
          {"stage", to_string(outcome.stage)},
          {"message", outcome.message},
          {"diagnostics", std::move(diagnostics)},
          {"gate", outcome.gate ? Json(to_string(*outcome.gate)) : Json()}};
}

Outcome outcome_from_json(const Json& json) {
  Outcome outcome;
  outcome.status = status_from_json(json.at("status"));
  outcome.stage = stage_from_json(json.at("stage"));
  json.at("message").get_to(outcome.message);
  for (const Json& entry : json.at("diagnostics")) outcome.diagnostics.push_back(diagnostic_from_json(entry));
  // Results in a cache may be older than gates.
  if (json.contains("gate") && json["gate"].is_string())
    outcome.gate = parse_gate(json["gate"].get<std::string>());
  return outcome;
}

Json to_json(const KernelFacts& kernel) {
  return {{"expression", kernel.expression},
          {"lowered_name", kernel.lowered_name},
          {"registers", kernel.registers},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"stack_bytes", kernel.stack_bytes},
          {"static_shared_bytes", kernel.static_shared_bytes},
          {"constant_bytes", kernel.constant_bytes},
          {"barriers", kernel.barriers},
          {"parameter_types", kernel.parameter_types},
          {"max_threads", kernel.max_threads}};
}

KernelFacts kernel_from_json(const Json& json) {
  KernelFacts kernel;
  json.at("expression").get_to(kernel.expression);
  json.at("lowered_name").get_to(kernel.lowered_name);
  json.at("registers").get_to(kernel.registers);
  json.at("spill_store_bytes").get_to(kernel.spill_store_bytes);
  json.at("spill_load_bytes").get_to(kernel.spill_load_bytes);
  json.at("stack_bytes").get_to(kernel.stack_bytes);
  json.at("static_shared_bytes").get_to(kernel.static_shared_bytes);
  json.at("constant_bytes").get_to(kernel.constant_bytes);
  json.at("barriers").get_to(kernel.barriers);
  json.at("parameter_types").get_to(kernel.parameter_types);
  json.at("max_threads").get_to(kernel.max_threads);
  return kernel;
}

TranslationUnit read_unit(const Json& json) {
  TranslationUnit unit;
  json.at("file_name").get_to(unit.file_name);
  json.at("source").get_to(unit.source);
  for (const Json& header : json.at("headers")) {
    unit.headers.emplace_back(header.at("name").get<std::string>(), header.at("text").get<std::string>());
  }
  json.at("options").get_to(unit.options);
  json.at("kernels").get_to(unit.kernels);
  unit.arch = arch_from_json(json.at("arch"));
  return unit;
}

BuildResult read_result(const Json& json) {
  BuildResult result;
  result.outcome = outcome_from_json(json.at("outcome"));
  json.at("key").get_to(result.key);
  json.at("ptx").get_to(result.ptx);
  result.cubin = base64_decode(json.at("cubin").get<std::string>());
  json.at("log").get_to(result.log);
  for (const Json& entry : json.at("kernels")) result.kernels.push_back(kernel_from_json(entry));
  json.at("nvrtc_version").get_to(result.nvrtc_version);
  json.at("cache_hit").get_to(result.cache_hit);
  json.at("compile_ms").get_to(result.compile_ms);
  return result;
}

}  // namespace

bool is_name_expression(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_word(c) || std::string_view(" :<>,()*&+-/").find(c) != std::string_view::npos;
  });
}

std::string TranslationUnit::hash() const {
  std::string text;
  append_field(text, arch.sm());
  append_field(text, file_name);
  append_field(text, source);
  append_field(text, std::to_string(headers.size()));
  for (const auto& [name, content] : headers) {
    append_field(text, name);
    append_field(text, content);
  }
  append_field(text, std::to_string(options.size()));
  for (const std::string& option : options) append_field(text, option);
  for (const std::string& kernel : kernels) append_field(text, kernel);
  return sha256_hex(text);
}

Json to_json(const TranslationUnit& unit) {
  Json headers = Json::array();
  for (const auto& [name, text] : unit.headers) headers.push_back({{"name", name}, {"text", text}});
  return {{"file_name", unit.file_name}, {"source", unit.source},   {"headers", std::move(headers)},
          {"options", unit.options},     {"kernels", unit.kernels}, {"arch", unit.arch.sm()}};
}

TranslationUnit translation_unit_from_json(const Json& json) {
  try {
    return read_unit(json);
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "translation unit: {}", error.what());
  }
}

Json to_json(const BuildResult& result) {
  Json kernels = Json::array();
  for (const KernelFacts& kernel : result.kernels) kernels.push_back(to_json(kernel));
  return {{"outcome", to_json(result.outcome)},
          {"key", result.key},
          {"ptx", result.ptx},
          {"cubin", base64_encode(result.cubin)},
          {"log", result.log},
          {"kernels", std::move(kernels)},
          {"nvrtc_version", result.nvrtc_version},
          {"cache_hit", result.cache_hit},
          {"compile_ms", result.compile_ms}};
}

BuildResult build_result_from_json(const Json& json) {
  try {
    return read_result(json);
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "build result: {}", error.what());
  }
}

}  // namespace ak
