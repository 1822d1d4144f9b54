// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/kernel_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "codegen/source/frozen_constants.h"
#include "core/error.h"
#include "core/text/characters.h"
#include "core/text/include_scan.h"

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

/// Scalars of the kernel stay as the launch plan passes them.
std::string with_plain_scalars(std::string text, const KernelSignature& signature) {
  const std::size_t name = text.find(signature.name, text.find("__global__"));
  const std::size_t open = text.find('(', name);
  std::size_t close = open;
  for (int depth = 0; close < text.size(); ++close) {
    depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  for (const KernelParameter& parameter : signature.parameters) {
    if (parameter.pointer || parameter.type != "float") continue;
    const std::string wide = "ak_real " + parameter.name;
    const std::size_t at = text.find(wide, open);
    if (at < close) text.replace(at, std::string_view("ak_real").size(), "float  ");
  }
  return text;
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
  for (const KernelParameter& parameter : kernel.signature.parameters) {
    const bool of_template =
        std::ranges::any_of(kernel.signature.template_parameters,
                            [&](const std::string& one) { return one.ends_with(" " + parameter.type); });
    if (!parameter.pointer && of_template)
      fail(ExitCode::bad_input,
           "{} takes {} as a {}, a type that differs between the exact version and the twin: give it a type "
           "of its own or leave --reference-is-right out",
           kernel.signature.name, parameter.name, parameter.type);
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
  const std::string code = with_plain_scalars(with_substitutes(kernel.code), kernel.signature);
  return fmt::format(
      "/* alphakernel\n{}\n*/\n// The kernel of which its owner says that it is right, in fp64 (exact) and "
      "fp32 (twin).\n{}{}{}",
      plan_of(kernel).dump(2), headers(kernel), kConversions, code);
}

}  // namespace ak::codegen
