// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/kernel_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>

#include "codegen/source/frozen_constants.h"
#include "core/error.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

/// What has no counterpart in fp64, or holds several values.
constexpr std::array<std::string_view, 16> kNarrowOnly{
    "float2", "float3", "float4", "half2", "__half2", "nv_bfloat162", "__nv_bfloat162",          "uint4",
    "int4",   "wmma",   "asm",    "__fp8", "nvcuda",  "cp_async",     "__pipeline_memcpy_async", "ak"};

/// Types and functions of narrow formats, and what they become.
const std::map<std::string_view, std::string_view>& substitutes() {
  static const std::map<std::string_view, std::string_view> table{
      {"float", "ak_real"},
      {"half", "ak_real"},
      {"__half", "ak_real"},
      {"nv_bfloat16", "ak_real"},
      {"__nv_bfloat16", "ak_real"},
      {"__half2float", "static_cast<ak_real>"},
      {"__float2half", "static_cast<ak_real>"},
      {"__float2half_rn", "static_cast<ak_real>"},
      {"__bfloat162float", "static_cast<ak_real>"},
      {"__float2bfloat16", "static_cast<ak_real>"},
      {"__float2bfloat16_rn", "static_cast<ak_real>"},
      {"expf", "exp"},
      {"__expf", "exp"},
      {"exp2f", "exp2"},
      {"logf", "log"},
      {"__logf", "log"},
      {"log2f", "log2"},
      {"log1pf", "log1p"},
      {"expm1f", "expm1"},
      {"sqrtf", "sqrt"},
      {"rsqrtf", "rsqrt"},
      {"powf", "pow"},
      {"__powf", "pow"},
      {"fabsf", "fabs"},
      {"fmaxf", "fmax"},
      {"fminf", "fmin"},
      {"fmaf", "fma"},
      {"tanhf", "tanh"},
      {"sinf", "sin"},
      {"__sinf", "sin"},
      {"cosf", "cos"},
      {"__cosf", "cos"},
      {"tanf", "tan"},
      {"erff", "erf"},
      {"erfcf", "erfc"},
      {"floorf", "floor"},
      {"ceilf", "ceil"},
      {"roundf", "round"},
      {"truncf", "trunc"},
      {"rintf", "rint"},
      {"fmodf", "fmod"},
      {"atanf", "atan"},
      {"atan2f", "atan2"},
      {"cbrtf", "cbrt"}};
  return table;
}

/// `source` with whole words replaced, outside of comments and strings.
std::string with_substitutes(std::string_view source) {
  const std::string code = blank_comments_and_strings(source);
  std::string result;
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word(code[at])) {
      result += source[at++];
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    const auto found = substitutes().find(std::string_view(code).substr(at, end - at));
    result +=
        found == substitutes().end() ? std::string(source.substr(at, end - at)) : std::string(found->second);
    at = end;
  }
  return result;
}

/// Of `text`, where in it the bracket at `open` closes; the end where it never does.
std::size_t closing_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.size();
}

/// Floating scalars arrive as the launch plan passes them, and have in the body the type that the kernel gives them:
/// "T alpha" becomes "float ak_alpha", and the body begins with "T alpha = static_cast<T>(ak_alpha);".
std::string with_passed_scalars(const std::string& text, const TrustedKernel& kernel) {
  const std::string code = blank_comments_and_strings(text);
  const std::size_t name = code.find(kernel.signature.name, code.find("__global__"));
  const std::size_t open = code.find('(', name), close = closing_bracket(code, open);
  const std::size_t body = code.find('{', close);
  if (body == std::string::npos) return text;
  std::string parameters = text.substr(open, close - open), first;
  for (const KernelParameter& parameter : kernel.signature.parameters) {
    const auto passed = kernel.scalars.find(parameter.name);
    if (passed == kernel.scalars.end()) continue;
    const std::string type = with_substitutes(parameter.type);
    const std::regex declared("\\b" + type + "(\\s+(?:const\\s+)?)" + parameter.name + "\\b");
    parameters = std::regex_replace(parameters, declared, passed->second + "$1ak_" + parameter.name);
    first += fmt::format("\n  {0} {1} = static_cast<{0}>(ak_{1});", type, parameter.name);
  }
  return text.substr(0, open) + parameters + text.substr(close, body + 1 - close) + first +
         text.substr(body + 1);
}

void check_types(const TrustedKernel& kernel) {
  const std::string code = blank_comments_and_strings(kernel.code);
  for (const std::string_view word : kNarrowOnly) {
    if (mentions(code, word))
      fail(ExitCode::bad_input,
           "{} uses {}, of which there is no version in fp64: leave --reference-is-right out and write "
           "reference.cu",
           kernel.signature.name, word);
  }
}

bool is_wide(const ReferenceTensor& tensor) { return info(tensor.dtype).floating; }

/// How the copy of a tensor is typed.
std::string copy_type(const ReferenceTensor& tensor) {
  return is_wide(tensor) ? "ak_real" : std::string(info(tensor.dtype).cuda_type);
}

Json conversion(const std::string& kernel, const std::string& from, const std::string& to,
                const ReferenceTensor& tensor) {
  return {{"kernel", kernel},
          {"grid", {fmt::format("ceil_div({}, 256)", tensor.elements)}},
          {"block", {256}},
          {"args", {from, to, {{"i64", tensor.elements}}}}};
}

Json plan_of(const TrustedKernel& kernel) {
  Json plan = Json::object();
  if (kernel.let.is_object()) plan["let"] = kernel.let;
  plan["workspace"] = Json::array();
  plan["launches"] = Json::array();
  Json launch = kernel.launch, results = Json::array();
  launch["kernel"] = with_substitutes(kernel.name);
  if (launch.contains("shared_bytes"))
    launch["shared_bytes"] = fmt::format("2 * ({})", launch["shared_bytes"].get<std::string>());
  for (const ReferenceTensor& tensor : kernel.tensors) {
    if (!tensor.output && !is_wide(tensor)) continue;
    const std::string copy = "ak_" + tensor.name;
    plan["workspace"].push_back({{"name", copy},
                                 {"dtype", is_wide(tensor) ? "float64" : info(tensor.dtype).name},
                                 {"count", tensor.elements},
                                 {"init", tensor.zeroed ? "zero" : "none"}});
    for (Json& argument : launch["args"])
      if (argument == tensor.name) argument = copy;
    if (tensor.output)
      results.push_back(conversion(fmt::format("ak_result<{}, out_t_{}>", copy_type(tensor), tensor.name),
                                   copy, tensor.name, tensor));
    else
      plan["launches"].push_back(
          conversion(fmt::format("ak_widen<{}>", info(tensor.dtype).cuda_type), tensor.name, copy, tensor));
  }
  plan["launches"].push_back(launch);
  for (Json& result : results) plan["launches"].push_back(std::move(result));
  return plan;
}

std::string headers(const TrustedKernel& kernel) {
  std::string text;
  for (const ReferenceTensor& tensor : kernel.tensors) {
    const std::string line = fmt::format("#include <{}>\n", info(tensor.dtype).cuda_header);
    if (!info(tensor.dtype).cuda_header.empty() && text.find(line) == std::string::npos) text += line;
  }
  return text;
}

constexpr const char* kConversions = R"(
#ifdef AK_EXACT
using ak_real = double;
#else
using ak_real = float;
#endif

template <class T>
__global__ void ak_widen(const T* from, ak_real* to, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = static_cast<ak_real>(static_cast<float>(from[i]));
}
template <>
__global__ void ak_widen(const double* from, ak_real* to, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = static_cast<ak_real>(from[i]);
}

template <class T, class Out>
__global__ void ak_result(const T* from, Out* to, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  T value = from[i];
#ifdef AK_MUTATION_LAST_TILE
  if (i >= count - 32) value = 0;
#endif
  to[i] = static_cast<Out>(value);
}

)";

}  // namespace

std::string reference_of_kernel(const TrustedKernel& kernel) {
  check_types(kernel);
  const std::string code = with_passed_scalars(with_substitutes(kernel.code), kernel);
  const std::string guessed =
      kernel.guessed_launch ? "// FILL-IN: grid and block of the kernel's launch above are guesses.\n" : "";
  return fmt::format(
      "/* alphakernel\n{}\n*/\n// The kernel of which its owner says that it is right, in fp64 (exact) and "
      "fp32 (twin).\n{}{}{}{}",
      plan_of(kernel).dump(2), guessed, headers(kernel), kConversions, code);
}

}  // namespace ak::codegen
