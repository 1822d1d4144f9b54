// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "codegen/source/reference_types.h"
#include "core/error.h"
#include "core/plan/device_headers.h"
#include "core/plan/include_scan.h"
#include "core/source_names.h"
#include "shim_files.h"

namespace ak::codegen {
namespace {

/// Options every build gets. The language is nvcc's superset for candidates written to C++17 and C++20;
/// -device-as-default-execution-space lets unannotated helpers be device functions, as people write them;
/// libcu++ defines INFINITY and NAN again, which is what warning 47 would tell.
const std::vector<std::string>& standard_options() {
  static const std::vector<std::string> options{
      "--std=c++20",        "--device-as-default-execution-space", "--generate-line-info",
      "--ptxas-options=-v", "--pre-include=ak_prelude.h",          "--diag-suppress=47"};
  return options;
}

struct PlanOption {
  std::string_view name;
  std::string_view nvrtc;
};
constexpr PlanOption kPlanOptions[] = {
    {"fast_math", "--use_fast_math"},       {"ftz", "--ftz=true"},
    {"prec_div_false", "--prec-div=false"}, {"prec_sqrt_false", "--prec-sqrt=false"},
    {"fmad_false", "--fmad=false"},         {"extra_device_vectorization", "--extra-device-vectorization"},
};
constexpr int kMinRegisters = 16, kMaxRegisters = 255;  // what ptxas accepts for --maxrregcount

Result<std::string> nvrtc_option(const std::string& option) {
  for (const PlanOption& known : kPlanOptions) {
    if (option == known.name) return std::string(known.nvrtc);
  }
  constexpr std::string_view kRegisters = "maxrregcount=";
  if (option.rfind(kRegisters, 0) == 0) {
    int count = 0;
    const char* end = option.data() + option.size();
    const auto [rest, status] = std::from_chars(option.data() + kRegisters.size(), end, count);
    if (status == std::errc() && rest == end && count >= kMinRegisters && count <= kMaxRegisters)
      return fmt::format("--maxrregcount={}", count);
  }
  std::vector<std::string_view> names;
  for (const PlanOption& known : kPlanOptions) names.push_back(known.name);
  return InputError{
      fmt::format("launch plan: option '{}' is not allowed; allowed: {}, maxrregcount=N ({} to {})", option,
                  fmt::join(names, ", "), kMinRegisters, kMaxRegisters)};
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

/// A text as part of a macro name: what is not a letter or digit becomes '_'.
std::string macro_part(const std::string& text) {
  std::string part = upper(text);
  std::replace_if(
      part.begin(), part.end(), [](char c) { return !((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')); },
      '_');
  return part;
}

/// Constants a candidate sees: fixed axes, params and tunables.
struct Constants {
  std::string macros;        ///< #define lines
  std::string declarations;  ///< constexpr and using lines

  void integer(const std::string& name, std::int64_t value) {
    const std::string constant = upper(name);
    const bool fits = value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
    macros += fmt::format("#define AK_{} {}\n", constant, value);
    declarations += fmt::format("constexpr {} {} = {};\n", fits ? "int" : "long long", constant, value);
  }

  void param(const std::string& name, const Value& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return integer(name, *number);
    const auto& text = std::get<std::string>(value);
    macros += fmt::format("#define AK_{}_{} 1\n", upper(name), macro_part(text));
    if (const auto dtype = parse_dtype(text); name == "dtype" && dtype) {
      declarations += fmt::format("using scalar_t = {};\n", info(*dtype).cuda_type);
    }
  }
};

Constants problem_constants(const ProblemInstance& problem) {
  Constants constants;
  constants.macros = "#define ALPHAKERNEL 1\n";
  for (const auto& [name, value] : problem.params) constants.param(name, value);
  for (const Axis& axis : problem.definition.axes) {
    const bool is_param = std::any_of(problem.params.begin(), problem.params.end(),
                                      [&](const auto& p) { return upper(p.first) == upper(axis.name); });
    if (axis.value && !is_param) constants.integer(axis.name, *axis.value);
  }
  return constants;
}

/// Headers that declare the dtypes the constants mention, unless the candidate includes them itself.
std::string dtype_headers(const Constants& constants, const std::vector<IncludeLine>& includes) {
  std::string lines;
  for (const DTypeInfo& dtype : dtypes()) {
    if (dtype.cuda_header.empty() || constants.declarations.find(dtype.cuda_type) == std::string::npos)
      continue;
    const bool present = std::any_of(includes.begin(), includes.end(),
                                     [&](const IncludeLine& i) { return i.name == dtype.cuda_header; });
    const std::string line = fmt::format("#include <{}>\n", dtype.cuda_header);
    if (!present && lines.find(line) == std::string::npos) lines += line;
  }
  return lines;
}

/// Constants go after the last include, because names such as N would break headers; macros go there too
/// unless something before that point asks for them. So candidates that differ in tunables alone start with
/// the same text, and one precompiled header serves them all.
/// @param headers texts of the device headers that the source includes
std::string insert_constants(const std::string& file_name, const std::string& source,
                             const std::string& headers, const Constants& constants) {
  const std::vector<IncludeLine> includes = scan_includes(source);
  const int last_line = end_of_includes(source);
  const std::size_t split = offset_behind_line(source, last_line);
  const std::string head = source.substr(0, split);
  const std::string code = blank_comments_and_strings(blank_device_headers(head));
  const bool macros_first =
      code.find("AK_") != std::string::npos || code.find("ALPHAKERNEL") != std::string::npos;
  return fmt::format("{}#line 1 \"{}\"\n{}{}{}{}#line 1 \"{}\"\n{}#line {} \"{}\"\n{}",
                     macros_first ? constants.macros : "", file_name,
                     with_device_headers(head, headers, file_name),
                     head.empty() || head.back() == '\n' ? "" : "\n", dtype_headers(constants, includes),
                     macros_first ? "" : constants.macros, kConstantsFile, constants.declarations,
                     last_line + 1, file_name, source.substr(split));
}

TranslationUnit make_unit(std::string file_name, std::string source, const Arch& arch) {
  TranslationUnit unit;
  unit.file_name = std::move(file_name);
  unit.source = std::move(source);
  unit.options = standard_options();
  unit.arch = arch;
  for (const EmbeddedFile& shim : shim_files()) {
    unit.headers.emplace_back(shim.name.substr(std::string_view("shims/").size()), shim.text);
  }
  return unit;
}

void add_kernels(TranslationUnit& unit, const LaunchPlan& plan) {
  for (const auto* launches : {&plan.prepare, &plan.launches}) {
    for (const LaunchPlanEntry& launch : *launches)
      if (std::ranges::find(unit.kernels, launch.kernel) == unit.kernels.end())
        unit.kernels.push_back(launch.kernel);
  }
}

std::string base_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  // The name is quoted in #line.
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' '; }, '_');
  return name.empty() ? "candidate.cu" : name;
}

}  // namespace

Result<TranslationUnit> assemble(const ProblemInstance& problem, const Candidate& candidate,
                                 const Arch& arch) {
  Constants constants = problem_constants(problem);
  for (const Tunable& tunable : candidate.plan.tunables) {
    const auto value = candidate.tunables.find(tunable.name);
    if (value == candidate.tunables.end())
      return InputError{fmt::format("the tunable {} has no value", tunable.name)};
    constants.integer(tunable.name, value->second);
  }
  const std::string file_name = base_name(candidate.name);
  TranslationUnit unit =
      make_unit(file_name, insert_constants(file_name, candidate.source, candidate.headers, constants), arch);
  for (const std::string& option : candidate.plan.options) {
    Result<std::string> known = nvrtc_option(option);
    if (!known) return known.error();
    unit.options.push_back(std::move(known).value());
  }
  add_kernels(unit, candidate.plan);
  return unit;
}

Result<TranslationUnit> assemble_reference(const ProblemInstance& problem, const Arch& arch,
                                           ReferenceMode mode, const Mutation* mutation) {
  const Result<Candidate> candidate = parse_candidate("reference.cu", problem.reference_cu);
  if (!candidate) return candidate.error();
  const bool exact = mode == ReferenceMode::exact;
  Constants constants = problem_constants(problem);
  constants.macros += exact ? "#define AK_EXACT 1\n" : "#define AK_TWIN 1\n";
  if (mutation) constants.macros += fmt::format("#define {} 1\n", mutation->macro);
  constants.declarations += reference_types(problem, exact);
  TranslationUnit unit =
      make_unit("reference.cu",
                insert_constants("reference.cu", problem.reference_cu, candidate->headers, constants), arch);
  add_kernels(unit, candidate->plan);
  return unit;
}

TranslationUnit assemble_plain(std::string file_name, std::string source, const Arch& arch) {
  const std::string headers = device_header_text(source);
  if (!headers.empty()) source = with_device_headers(source, headers, file_name);
  return make_unit(std::move(file_name), std::move(source), arch);
}

}  // namespace ak::codegen
