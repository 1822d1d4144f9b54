// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile_answers.h"

#include <algorithm>
#include <array>

#include "core/message/message_fields.h"
#include "core/text/characters.h"
#include "runtime/build/build_key.h"

namespace ak::runtime {
namespace {

constexpr std::size_t kMaxVersion = 16;       // "13.0"
constexpr std::size_t kMaxArchs = 256;        // NVRTC 13.0 knows 20
constexpr std::size_t kMaxReason = 4'096;     // a few sentences
constexpr std::int64_t kMaxLandlock = 1'000;  // 7 in Linux 6.15

std::string one_arch(const JsonReader& at) {
  const auto arch = parse_arch(take::bounded_text(at, kMaxVersion));
  if (!arch) at.reject(arch.error().message);
  return arch->sm();
}

void take_version(const JsonReader& at, CompilerFacts& facts) {
  facts.nvrtc_version = take::bounded_text(at, kMaxVersion);
  if (facts.nvrtc_version.empty() ||
      !std::ranges::all_of(facts.nvrtc_version, [](char c) { return is_digit(c) || c == '.'; }))
    at.fail("a version such as 13.0");
}

constexpr Field<CompilerFacts> kFactsFields[] = {
    {"nvrtc_version", take_version},
    {"archs", take::list<&CompilerFacts::archs, one_arch, kMaxArchs>},
    {"landlock_abi", take::integer<&CompilerFacts::landlock_abi, 0, kMaxLandlock>},
    {"degradation", take::words<&CompilerFacts::degradation, kMaxReason>}};

/// How a build may end in a worker; the other ends are the parent's to give.
struct End {
  Status status;
  StageId stage = StageId::build;
  std::optional<Gate> gate = {};  ///< it may name this one, or none
};
constexpr std::array kEnds{End{Status::ok},
                           End{Status::compile_error},
                           End{Status::invalid_candidate, StageId::build, Gate::includes},
                           End{Status::unsupported},
                           End{Status::out_of_memory, StageId::build, Gate::compile_limits},
                           End{Status::resource_exceeded, StageId::resources, Gate::resources}};

/// An identifier of PTX.
bool is_symbol(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return is_word(c) || c == '$' || c == '%' || c == '.'; });
}

bool may_end_as(const Outcome& outcome) {
  return std::ranges::any_of(kEnds, [&](const End& end) {
    return end.status == outcome.status && end.stage == outcome.stage &&
           (!outcome.gate || outcome.gate == end.gate);
  });
}

}  // namespace

Result<CompilerFacts> read_compiler_facts(const Json& hello) {
  try {
    const JsonReader at(hello);
    if (const auto reason = at.find("unavailable"))
      return InputError{sanitize(take::bounded_text(*reason, kMaxReason), kMaxReason)};
    return read_fields(at, kFactsFields);
  } catch (const JsonInputError& error) {
    return InputError{fmt::format("broke the protocol: hello: {}", error.what())};
  }
}

std::optional<std::string> contradiction(const BuildResult& result, const TranslationUnit& unit) {
  const bool built = result.outcome.status == Status::ok;
  if (!may_end_as(result.outcome))
    return fmt::format("a build cannot end as {} in stage {}", to_string(result.outcome.status),
                       to_string(result.outcome.stage));
  if (built && (result.ptx.empty() || result.cubin.empty())) return "it built no program";
  if (result.kernels.size() > unit.kernels.size() || (built && result.kernels.size() != unit.kernels.size()))
    return fmt::format("it has {} kernels, where {} were asked for", result.kernels.size(),
                       unit.kernels.size());
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    const KernelFacts& kernel = result.kernels[i];
    if (kernel.expression != unit.kernels[i])
      return fmt::format("kernel {} is not '{}'", i, sanitize(unit.kernels[i], 200));
    if (!is_symbol(kernel.lowered_name)) return fmt::format("the symbol of kernel {} is no identifier", i);
  }
  return std::nullopt;
}

Result<BuildResult> read_built(const Json& body, const TranslationUnit& unit,
                               const std::string& nvrtc_version) {
  try {
    BuildResult result = build_result_from_json(body);
    result.key = BuildKey::of(unit, nvrtc_version).text();
    result.nvrtc_version = nvrtc_version;
    result.cache_hit = false;
    if (auto wrong = contradiction(result, unit)) return InputError{std::move(*wrong)};
    return result;
  } catch (const Error& error) {
    return InputError{error.what()};
  }
}

}  // namespace ak::runtime
