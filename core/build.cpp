// SPDX-License-Identifier: Apache-2.0
#include "core/build.h"

#include <algorithm>

#include "core/error.h"
#include "core/message/message_fields.h"
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

Json to_json(const Diagnostic& diagnostic) {
  return {{"severity", diagnostic.severity},
          {"message", diagnostic.message},
          {"line", diagnostic.line},
          {"column", diagnostic.column}};
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

// What a compiler's words and numbers stay below by far; a worker that says more is broken or hostile.
constexpr std::size_t kMaxWords = 64u << 10;     // as BuildResult::log is capped
constexpr std::size_t kMaxName = 64u << 10;      // mangled names of templates get long
constexpr std::size_t kMaxDiagnostics = 10'000;  // a line each, of such a log
constexpr std::size_t kMaxKernels = 10'000;      // a launch plan has less
constexpr std::size_t kMaxParameters = 4'096;    // parameters take 32764 bytes at most (CUDA 12.1)
constexpr std::size_t kMaxProgram = 256u << 20;  // as a message between processes
constexpr std::int64_t kMaxRegisters = 255;      // CUDA programming guide, table of compute capabilities
constexpr std::int64_t kMaxThreads = 1'024 * 1'024 * 64;   // as __launch_bounds__ can ask for
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 28;  // far above any memory of a thread or a block
constexpr std::int64_t kMaxBarriers = 1'024;               // 16 exist
constexpr std::int64_t kMaxLine = INT32_MAX;
constexpr std::int64_t kMaxMs = 86'400'000;  // a day

constexpr Field<Diagnostic> kDiagnosticFields[] = {
    {"severity", take::severity<&Diagnostic::severity>},
    {"message", take::words<&Diagnostic::message, kMaxWords>},
    {"line", take::integer<&Diagnostic::line, 0, kMaxLine>},
    {"column", take::integer<&Diagnostic::column, 0, kMaxLine>}};

Diagnostic read_diagnostic(const JsonReader& at) { return read_fields(at, kDiagnosticFields); }

void take_status(const JsonReader& at, Outcome& outcome) {
  const auto status = parse_status(at.text());
  if (!status) at.fail("the name of a status");
  outcome.status = *status;
}

void take_stage(const JsonReader& at, Outcome& outcome) {
  const auto stage = parse_stage(at.text());
  if (!stage) at.fail("the name of a stage");
  outcome.stage = *stage;
}

constexpr Field<Outcome> kOutcomeFields[] = {
    {"status", take_status},
    {"stage", take_stage},
    {"message", take::words<&Outcome::message, kMaxWords>},
    {"diagnostics", take::list<&Outcome::diagnostics, read_diagnostic, kMaxDiagnostics>}};

void take_outcome(const JsonReader& at, BuildResult& result) {
  result.outcome = read_fields(at, kOutcomeFields);
  // Results in a cache may be older than gates.
  const auto gate = at.find("gate");
  if (!gate || gate->json().is_null()) return;
  result.outcome.gate = parse_gate(gate->text());
  if (!result.outcome.gate) gate->fail("the name of a gate");
}

// Shown in messages: a type's letters, digits and brackets.
std::string one_type(const JsonReader& at) {
  std::string type = take::bounded_text(at, 64);
  const bool is_type = std::ranges::all_of(type, [](char c) { return is_word(c) || c == '[' || c == ']'; });
  if (!is_type) at.fail("a type of PTX");
  return type;
}

constexpr Field<KernelFacts> kKernelFields[] = {
    {"expression", take::text<&KernelFacts::expression, kMaxName>},
    {"lowered_name", take::text<&KernelFacts::lowered_name, kMaxName>},
    {"registers", take::integer<&KernelFacts::registers, 0, kMaxRegisters>},
    {"spill_store_bytes", take::integer<&KernelFacts::spill_store_bytes, 0, kMaxBytes>},
    {"spill_load_bytes", take::integer<&KernelFacts::spill_load_bytes, 0, kMaxBytes>},
    {"stack_bytes", take::integer<&KernelFacts::stack_bytes, 0, kMaxBytes>},
    {"static_shared_bytes", take::integer<&KernelFacts::static_shared_bytes, 0, kMaxBytes>},
    {"constant_bytes", take::integer<&KernelFacts::constant_bytes, 0, kMaxBytes>},
    {"barriers", take::integer<&KernelFacts::barriers, 0, kMaxBarriers>},
    {"parameter_types", take::list<&KernelFacts::parameter_types, one_type, kMaxParameters>},
    {"max_threads", take::integer<&KernelFacts::max_threads, 0, kMaxThreads>}};

KernelFacts read_kernel(const JsonReader& at) { return read_fields(at, kKernelFields); }

void take_cubin(const JsonReader& at, BuildResult& result) {
  result.cubin = base64_decode(take::bounded_text(at, kMaxProgram));
}

constexpr Field<BuildResult> kResultFields[] = {
    {"outcome", take_outcome},
    {"key", take::text<&BuildResult::key, 64>},
    {"ptx", take::text<&BuildResult::ptx, kMaxProgram>},
    {"cubin", take_cubin},
    {"log", take::words<&BuildResult::log, 2 * kMaxWords>},
    {"kernels", take::list<&BuildResult::kernels, read_kernel, kMaxKernels>},
    {"nvrtc_version", take::text<&BuildResult::nvrtc_version, 16>},
    {"cache_hit", take::flag<&BuildResult::cache_hit>},
    {"compile_ms", take::number<&BuildResult::compile_ms, 0, kMaxMs>}};

}  // namespace

bool is_name_expression(std::string_view text) {
  const bool trigraph = text.find("??") != std::string_view::npos;  // one of them is a '#', one a backslash
  return !text.empty() && !trigraph && std::ranges::all_of(text, [](char c) {
    return is_word(c) || std::string_view(" :<>,()*&+-/=!?|^~.").find(c) != std::string_view::npos;
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
    return read_fields(JsonReader(json), kResultFields);
  } catch (const JsonInputError& error) {
    fail(ExitCode::bad_input, "build result: {}", error.what());
  }
}

}  // namespace ak
