// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "codegen/emit/emit.h"
#include "codegen/emit/launch_text.h"
#include "codegen/emit/stand_alone_commands.h"
#include "codegen/emit/stand_alone_launches.h"
#include "codegen/source/frozen_constants.h"
#include "codegen/source/reference_types.h"
#include "core/device/device_catalog.h"
#include "core/error.h"
#include "core/plan/include_scan.h"
#include "core/plan/work.h"

namespace ak::codegen {
namespace {

/// Device facts that plans are resolved with: the test is written where there may be no device. Grids that
/// follow SM_COUNT are then sized for these devices; results do not depend on it.
/// A plan may hold for some architectures only: the first that it holds for.
constexpr std::array kTypicalDevices{"h200", "b200", "rtx_pro_6000_max_q", "a100"};

constexpr std::string_view kSpace = "ak_test";  // of the harness

std::int64_t property(const char* device, std::string_view name) {
  return std::llround(DeviceCatalog::shipped().find(device)->value(name).value());
}

std::optional<ResolvedPlan> resolve_for_test(const ProblemInstance& problem, const Candidate& candidate,
                                             const Workload& workload) {
  for (const char* device : kTypicalDevices) {
    Environment environment = problem.environment(workload.axes);
    for (const auto& [name, value] : candidate.tunables) environment[name] = value;
    environment["ARCH"] = std::int64_t{DeviceCatalog::shipped().find(device)->arch.number()};
    environment["SM_COUNT"] = property(device, "sm_count");
    environment["L2_BYTES"] = property(device, "l2_mib") << 20;
    environment["SHARED_BYTES_PER_BLOCK"] = property(device, "shared_bytes_per_block");
    if (Result<ResolvedPlan> plan = resolve(candidate.plan, environment)) return std::move(plan).value();
  }
  return std::nullopt;
}

std::string c_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + "\"";
}

/// Text whose kernels have names of C++: two namespaces hold the same kernels.
std::string without_c_linkage(std::string text) {
  constexpr std::string_view kExtern = "extern", kC = "\"C\"", kSpaces = " \t\r\n";
  for (std::size_t at = text.find(kExtern); at != std::string::npos; at = text.find(kExtern, at + 1)) {
    const std::size_t language = text.find_first_not_of(kSpaces, at + kExtern.size());
    if (language == std::string::npos || text.compare(language, kC.size(), kC) != 0) continue;
    const std::size_t kernel = text.find_first_not_of(kSpaces, language + kC.size());
    if (kernel != std::string::npos && text.compare(kernel, 10, "__global__") == 0)
      text.erase(at, kernel - at);
  }
  return text;
}

/// Text without its `#include` lines, which `headers` gets, and without what only one copy of a
/// file may have.
std::string without_includes(const std::string& source, std::vector<std::string>& headers) {
  std::set<int> lines;
  for (const IncludeLine& include : scan_includes(source)) {
    for (int line = include.line; line <= include.last_line; ++line) lines.insert(line);
    if (std::ranges::find(headers, include.name) == headers.end() && !include.name.empty())
      headers.push_back(include.name);
  }
  std::string result;
  std::size_t at = 0;
  for (int line = 1; at < source.size(); ++line) {
    const std::size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    if (!lines.contains(line)) result += source.substr(at, end - at);
    at = end;
  }
  return without_c_linkage(std::move(result));
}

/// Text after the comment that holds the launch plan.
std::string after_plan(const std::string& source) {
  const std::size_t end = source.find("*/");
  return end == std::string::npos ? source : source.substr(end + 2);
}

/// One workload with the plans of the kernel and of its reference.
struct TestedWorkload {
  const Workload* workload;
  ResolvedPlan candidate, reference;
};

class TestWriter {
 public:
  /// @param exported  the name of an exported kernel whose launch function is tested; empty:
  /// the kernel's file
  TestWriter(const ProblemInstance& problem, const Candidate& candidate, const Arch& arch,
             std::string kernel_file, std::string exported = "")
      : exported_(std::move(exported)),
        problem_(problem),
        candidate_(candidate),
        arch_(arch),
        kernel_file_(std::move(kernel_file)),
        tensors_(tensor_names(problem.definition)) {
    const Result<Candidate> reference = parse_candidate("reference.cu", problem.reference_cu);
    AK_ASSERT(reference.ok(), "a loaded problem has a reference that parses");
    reference_ = *reference;
    reference_text_ = without_includes(after_plan(reference_.self_contained()), headers_);
    for (const Workload& workload : problem.workloads) {
      auto own = resolve_for_test(problem, candidate, workload);
      auto exact = resolve_for_test(problem, reference_, workload);
      if (own && exact) tested_.push_back({&workload, std::move(*own), std::move(*exact)});
    }
  }

  [[nodiscard]] std::string write() const {
    return heading() + includes() + host_text("host_launch.cuh", kSpace) + "\n" + random_values() +
           std::string(host_source("stand_alone_harness.cuh")) + tensor_map_harness() +
           fmt::format("\n// ---- the kernel {}\n#include {}\n", std::string(100, '-'),
                       c_string(exported_.empty() ? kernel_file_ : exported_ + ".h")) +
           references() + candidate_launches() + tables() + main_function();
  }

  [[nodiscard]] std::string tool_commands() const {
    if (tested_.empty()) return "";
    const TestedWorkload& profiled = most_informative();
    return stand_alone_commands(
        stem(),
        {.name = profiled.workload->name, .kernel = &profiled.candidate, .reference = &profiled.reference},
        small().workload->name);
  }

  [[nodiscard]] std::string all_commands() const { return build_command() + "\n" + tool_commands(); }

 private:
  [[nodiscard]] std::string stem() const { return kernel_file_.substr(0, kernel_file_.rfind('.')); }

  // Line numbers for profilers and checkers change nothing in the code.
  [[nodiscard]] std::string build_command() const {
    std::string flags = "-O3 -std=c++20 -lineinfo";
    for (const std::string& option : candidate_.plan.options) flags += " " + nvcc_flag(option);
    return fmt::format("nvcc {0} {1} {2}.test.cu -o {2}_test", flags, nvcc_target(arch_), stem());
  }

  [[nodiscard]] std::string heading() const {
    if (!exported_.empty())
      return fmt::format(
          "// Checks {0}_launch() against the problem's reference and times it with a cold L2.\n"
          "// CMakeLists.txt builds it. {0}_benchmark --help says what is printed.\n",
          exported_);
    return fmt::format(
               "// Stand-alone test of {0}, a kernel for {1}.\n"
               "//   {2} && ./{3}_test\n"
               "// {0} must lie in the same folder. ./{3}_test --help says what is printed.\n"
               "// Grids that follow the number of SMs are sized for {4} of them; results do not depend on "
               "it.\n",
               kernel_file_, problem_.definition.name, build_command(), stem(),
               property(kTypicalDevices.front(), "sm_count")) +
           tool_comment();
  }

  [[nodiscard]] std::string tool_comment() const {
    std::string text = "// Where its time goes, and what its memory accesses and barriers do:\n";
    std::istringstream lines(tool_commands());
    for (std::string line; std::getline(lines, line);) text += "//   " + line + "\n";
    return tested_.empty() ? "" : text;
  }

  [[nodiscard]] double bytes_of(const TestedWorkload& tested) const {
    const Result<Work> work = work_of(problem_, *tested.workload);
    return work ? work->bytes : 0;
  }

  /// The timed workload of the greatest weight and, of several, of the most bytes.
  [[nodiscard]] const TestedWorkload& most_informative() const {
    return *std::ranges::max_element(tested_, {}, [&](const TestedWorkload& tested) {
      return std::tuple(tested.workload->tier != WorkloadTier::deep, tested.workload->has(WorkloadRole::time),
                        tested.workload->weight, bytes_of(tested));
    });
  }

  /// For tools that take hundreds of times as long: the largest that is meant for the CPU device, else the
  /// smallest of all.
  [[nodiscard]] const TestedWorkload& small() const {
    return *std::ranges::max_element(tested_, {}, [&](const TestedWorkload& tested) {
      const bool meant = tested.workload->tier == WorkloadTier::emulator;
      return std::pair(meant, meant ? bytes_of(tested) : -bytes_of(tested));
    });
  }

  [[nodiscard]] std::string includes() const {
    std::string text;
    for (const std::string_view header : {"cuda_runtime.h", "algorithm", "cmath", "cstdio", "cstdlib",
                                          "cstring", "new", "string", "utility", "vector"})
      text += fmt::format("#include <{}>\n", header);
    std::vector<std::string> headers = headers_;
    if (!candidate_.plan.tensor_maps.empty()) headers.emplace_back("cuda.h");
    for (const auto* tensors : {&problem_.definition.inputs, &problem_.definition.outputs}) {
      for (const TensorSpec& tensor : *tensors) headers.emplace_back(info(tensor.dtype).cuda_header);
    }
    std::ranges::sort(headers);
    headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
    for (const std::string& header : headers) {
      if (!header.empty()) text += fmt::format("#include <{}>\n", header);
    }
    return text + "\n";
  }

  [[nodiscard]] std::string tensor_map_harness() const {
    return candidate_.plan.tensor_maps.empty() ? "" : "\n" + host_text("host_tensor_map.cuh", kSpace);
  }

  /// Text that serves other problems or params, too, and so has more than this one needs.
  [[nodiscard]] static std::string partly_used(std::string_view text) {
    return fmt::format(
        "#pragma nv_diagnostic push\n#pragma nv_diag_suppress 177\n{}\n#pragma nv_diagnostic pop\n", text);
  }

  /// The harness's own text, so that both draw the same inputs of a seed.
  [[nodiscard]] static std::string random_values() {
    const std::string_view text = host_source("../../core/plan/random_values.cuh");
    constexpr std::string_view kGuard = "#pragma once\n";  // this is no header
    return "\n" + partly_used(text.substr(text.find(kGuard) + kGuard.size())) + "\n";
  }

  /// The reference twice: exact, and as the honest version in the kernel's own precision.
  [[nodiscard]] std::string references() const {
    FrozenConstants constants = frozen_constants(problem_, reference_.tunables);
    const std::string code = blank_comments_and_strings(reference_text_);
    std::string text = fmt::format("\n// ---- the reference {}\n#define ALPHAKERNEL 1\n{}",
                                   std::string(97, '-'), macro_lines(constants, code));
    const auto copy = [&](std::string_view name, std::string_view macro, bool exact) {
      std::string functions;
      for (std::size_t i = 0; i < tested_.size(); ++i)
        functions += launch_function(fmt::format("launch_{}", i), tested_[i].reference, tensors_);
      text += fmt::format("#define {0} 1\nnamespace {1} {{\n{2}{3}{4}\n{5}}}  // namespace {1}\n#undef {0}\n",
                          macro, name, declaration_lines(constants, code), reference_types(problem_, exact),
                          partly_used(reference_text_), functions);
    };
    copy("ak_exact", "AK_EXACT", true);
    copy("ak_twin", "AK_TWIN", false);
    return text + "#undef ALPHAKERNEL\n";
  }

  [[nodiscard]] std::string candidate_launches() const {
    std::string text = fmt::format("\n// ---- launches, shapes and tables {}\nnamespace ak_candidate {{\n",
                                   std::string(82, '-'));
    for (std::size_t i = 0; i < tested_.size(); ++i)
      text += exported_.empty() ? launch_function(fmt::format("launch_{}", i), tested_[i].candidate, tensors_)
                                : exported_call(i);
    return text + "}  // namespace ak_candidate\n";
  }

  [[nodiscard]] std::string exported_shape(std::size_t index) const {
    std::vector<std::string> sizes;
    for (const Axis& axis : problem_.definition.axes)
      if (axis.varies()) sizes.push_back(fmt::format("{}LL", tested_[index].workload->axes.at(axis.name)));
    return fmt::format("{}_shape{{{}}}", exported_, fmt::join(sizes, ", "));
  }

  [[nodiscard]] std::string exported_argument(std::size_t index) const {
    const TensorSpec& tensor = *problem_.definition.find_tensor(tensors_[index]);
    if (!tensor.is_scalar()) return fmt::format("tensor[{}].address", index);
    const ScalarType type = scalar_type(tensor.dtype).value();
    return fmt::format("static_cast<{}>(tensor[{}].{})", cpp_type(type), index,
                       is_floating(type) ? "real" : "whole");
  }

  /// The same by the exported function. Outputs that share an input's memory are not parameters of it.
  [[nodiscard]] std::string exported_call(std::size_t index) const {
    std::string arguments;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (!problem_.aliases.contains(tensors_[i])) arguments += exported_argument(i) + ", ";
    return fmt::format(
        "void launch_{0}(const std::vector<ak_test::Pointer>& tensor,\n"
        "    const std::vector<ak_test::Pointer>& workspace) {{\n"
        "  const {1}_shape shape = {2};\n"
        "  if (const char* why = {1}_refusal(shape)) std::fprintf(stderr, \"refused: %s\\n\", why);\n"
        "{4}"
        "  AK_CHECK({1}_launch(shape, {3}{5}workspace[0].address, {1}_workspace_bytes(shape), nullptr));\n"
        "}}\n",
        index, exported_, exported_shape(index), arguments, exported_preparation(), prepared_argument());
  }

  [[nodiscard]] bool prepares() const { return !candidate_.plan.prepare.empty(); }

  /// Weights are prepared in every call, whose time that is part of, too.
  [[nodiscard]] std::string exported_preparation() const {
    if (!prepares()) return "";
    std::string weights;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (problem_.definition.find_tensor(tensors_[i])->weight) weights += exported_argument(i) + ", ";
    return fmt::format(
        "  AK_CHECK({0}_prepare(shape, {1}workspace[1].address, {0}_prepared_bytes(shape), nullptr));\n",
        exported_, weights);
  }
  [[nodiscard]] std::string prepared_argument() const {
    return prepares() ? fmt::format("workspace[1].address, {}_prepared_bytes(shape), ", exported_) : "";
  }

  [[nodiscard]] std::string candidate_sequence(std::size_t index) const {
    if (exported_.empty())
      return sequence_row(fmt::format("ak_candidate::launch_{}", index), tested_[index].candidate);
    const auto bytes = [&](std::string_view memory) {
      return fmt::format("{{static_cast<long long>({}_{}_bytes({})), false}}", exported_, memory,
                         exported_shape(index));
    };
    return fmt::format("{{&ak_candidate::launch_{}, {{{}{}}}}}", index, bytes("workspace"),
                       prepares() ? ", " + bytes("prepared") : "");
  }

  [[nodiscard]] std::string tensor_row(const TensorSpec& tensor, bool input) const {
    const DTypeInfo& type = info(tensor.dtype);
    const std::string_view exact = type.floating ? "double" : "long long";
    const std::string fill = tensor.is_scalar() ? "nullptr"
                                                : fmt::format("ak_test::fill_{}_with<{}>",
                                                              type.floating     ? "floating"
                                                              : type.values > 1 ? "packed"
                                                                                : "integer",
                                                              type.cuda_type);
    const auto alias = problem_.aliases.find(tensor.name);
    const auto target =
        alias == problem_.aliases.end() ? tensors_.end() : std::ranges::find(tensors_, alias->second);
    const std::string row =
        fmt::format("    {{{}, {}, 8, {}, {}, {}, ", c_string(tensor.name), type.bytes, type.floating,
                    tensor.zeroed, target == tensors_.end() ? -1 : target - tensors_.begin());
    if (input)
      return row + fmt::format("{}, ak_test::gather_with<{}>, nullptr, nullptr, nullptr, nullptr, {{}}}},\n",
                               fill, type.cuda_type);
    return row + fmt::format(
                     "nullptr, nullptr, ak_test::scale_with<{0}>, ak_test::compare_with<{1}, {0}>,\n"
                     "     ak_test::widen_with<{1}>, ak_test::widen_with<{0}>,\n     {2}}},\n",
                     exact, type.cuda_type, rule_row(tensor));
  }

  /// ak_test::Rule.
  [[nodiscard]] std::string rule_row(const TensorSpec& output) const {
    const Tolerance& tolerance = problem_.tolerance;
    const OutputRule rule = tolerance.rule(output.name);
    const DType working = tolerance.working_type(output.dtype);
    std::uint64_t exact_sets = 0;
    for (std::size_t i = 0; i < problem_.distributions.size() && i < 64; ++i)
      if (rule.must_be_exact(problem_.distributions[i].name)) exact_sets |= std::uint64_t{1} << i;
    const auto source = std::ranges::find(tensors_, rule.gather);
    return fmt::format("{{{:.9g}, {:.9g}, {:.17g}, {:.9g}, {}, {:.17g}, {}ull, {}, {}}}", rule.factor,
                       rule.floor_ulps, info(working).unit_roundoff, steps_to_poorer_mantissa(working),
                       rule.per_row, rule.equal_share.value_or(-1), exact_sets, rule.set,
                       rule.gather.empty() ? -1 : source - tensors_.begin());
  }

  /// Elements along the last axis.
  [[nodiscard]] std::int64_t row_length(const TensorSpec& tensor, const AxisValues& sizes) const {
    if (!tensor.shape || tensor.shape->empty()) return 1;
    TensorSpec row = tensor;
    row.shape = {tensor.shape->back()};
    return element_count(problem_.definition, row, sizes);
  }

  /// As C++ has it.
  [[nodiscard]] static std::string cpp_number(double value) {
    if (std::isnan(value)) return std::signbit(value) ? "-__builtin_nan(\"\")" : "__builtin_nan(\"\")";
    if (std::isinf(value)) return value < 0 ? "-__builtin_inf()" : "__builtin_inf()";
    if (value == 0 && std::signbit(value)) return "-0.0";  // -0 is an integer, which has no sign
    return fmt::format("{:.17g}", value);
  }

  /// A row of ak_draws. Elements are counted where it is used; rows matter to some kinds only.
  [[nodiscard]] static std::string draw_row(const ak_random::Draw& draw) {
    constexpr std::array kOfRows{
        InputKind::rising,       InputKind::spiked,         InputKind::late_spike,
        InputKind::row_scales,   InputKind::permutation,    InputKind::offsets,
        InputKind::even_offsets, InputKind::skewed_offsets, InputKind::single_offsets,
        InputKind::row_pointers, InputKind::row_columns,    InputKind::even_row_columns};
    const bool of_rows = std::ranges::find(kOfRows, draw.kind) != kOfRows.end();
    std::vector<std::string> choices;
    for (int i = 0; i < draw.choice_count; ++i) choices.push_back(cpp_number(draw.choices[i]));
    return fmt::format(
        "{{ak_random::Kind::{}, static_cast<float>({:.9g}), static_cast<float>({:.9g}), {}, {{{}}}, "
        "static_cast<long long>({}ull), {}ll, 0, {}, {}}}",
        to_string(draw.kind), draw.scale, draw.shift, draw.choice_count, fmt::join(choices, ", "),
        static_cast<std::uint64_t>(draw.low), draw.high, of_rows ? draw.row : 1, draw.bound);
  }

  /// "{0, 1}" for every distribution: which rows of `draws` its inputs are drawn by. Adds the missing ones.
  [[nodiscard]] std::vector<std::string> draw_sets(const Workload& workload,
                                                   std::vector<std::string>& draws) const {
    std::vector<std::string> sets;
    for (const InputDistribution* distribution : problem_.distributions_of(workload)) {
      const auto drawn = problem_.draws(*distribution, workload.axes);
      if (!drawn) fail(ExitCode::bad_input, "workload '{}': {}", workload.name, drawn.error().message);
      std::vector<std::size_t> rows;
      for (const ak_random::Draw& draw : drawn.value()) {
        const std::string row = draw_row(draw);
        const auto found = std::ranges::find(draws, row);
        rows.push_back(static_cast<std::size_t>(found - draws.begin()));
        if (found == draws.end()) draws.push_back(row);
      }
      sets.push_back(fmt::format("{{{}}}", fmt::join(rows, ", ")));
    }
    return sets;
  }

  /// Places among all distributions, for ak_test::Rule::exact_sets.
  [[nodiscard]] std::vector<std::ptrdiff_t> distribution_numbers(const Workload& workload) const {
    std::vector<std::ptrdiff_t> numbers;
    for (const InputDistribution* distribution : problem_.distributions_of(workload))
      numbers.push_back(distribution - problem_.distributions.data());
    return numbers;
  }

  [[nodiscard]] std::string workload_row(std::size_t index, std::vector<std::string>& draws) const {
    const TestedWorkload& tested = tested_[index];
    const Workload& workload = *tested.workload;
    std::vector<std::int64_t> counts, rows;
    for (const auto* tensors : {&problem_.definition.inputs, &problem_.definition.outputs}) {
      for (const TensorSpec& tensor : *tensors) {
        counts.push_back(element_count(problem_.definition, tensor, workload.axes));
        rows.push_back(row_length(tensor, workload.axes));
      }
    }
    const Result<Work> known = work_of(problem_, workload);
    const Work work = known ? *known : Work{};
    const auto sequence = [&](std::string_view space, const ResolvedPlan& plan) {
      return sequence_row(fmt::format("{}::launch_{}", space, index), plan);
    };
    return fmt::format(
        "    {{{}, {{{}}}, {{{}}}, {:.1f}, {:.1f}, {}, {}, {{{}}}, {{{}}},\n     {},\n     {},\n     {}}},\n",
        c_string(workload.name), fmt::join(counts, ", "), fmt::join(rows, ", "), work.bytes, work.flops,
        workload.has(WorkloadRole::time), workload.tier == WorkloadTier::deep,
        fmt::join(distribution_numbers(workload), ", "), fmt::join(draw_sets(workload, draws), ", "),
        candidate_sequence(index), sequence("ak_exact", tested.reference),
        sequence("ak_twin", tested.reference));
  }

  [[nodiscard]] std::string tables() const {
    std::string text = "\nconst std::vector<ak_test::Tensor> ak_tensors{\n";
    for (const TensorSpec& tensor : problem_.definition.inputs) text += tensor_row(tensor, true);
    for (const TensorSpec& tensor : problem_.definition.outputs) text += tensor_row(tensor, false);
    std::vector<std::string> draws;
    std::string workloads;
    for (std::size_t i = 0; i < tested_.size(); ++i) workloads += workload_row(i, draws);
    text +=
        "};\n\n// Kind, scale, shift, choices, lowest and highest integer, elements, elements of a row.\n"
        "const std::vector<ak_random::Draw> ak_draws{\n";
    for (const std::string& draw : draws) text += fmt::format("    {},\n", draw);
    text +=
        "};\n\n// Name, elements of every tensor and of its rows, bytes and operations of one call, timed, "
        "huge,\n// distributions, draws of each; then the launches with their\n"
        "// workspace: of the kernel, of the exact reference, of the reference in low precision.\n"
        "const std::vector<ak_test::Workload> ak_workloads{\n";
    return text + workloads + "};\n";
  }

  [[nodiscard]] std::string main_function() const {
    return fmt::format(
        "\nint main(int argc, char** argv) {{\n"
        "  const ak_test::Options options = ak_test::read_options(argc, argv);\n"
        "  ak_test::Tester tester(ak_tensors, {}, ak_draws, options);\n"
        "  return ak_test::run_all(tester, ak_workloads, options);\n"
        "}}\n",
        problem_.definition.inputs.size());
  }

  std::string exported_;
  const ProblemInstance& problem_;
  const Candidate& candidate_;
  Arch arch_;
  std::string kernel_file_;
  std::vector<std::string> tensors_;
  Candidate reference_;
  std::vector<std::string> headers_;
  std::string reference_text_;
  std::vector<TestedWorkload> tested_;
};

}  // namespace

std::string emit_stand_alone_test(const ProblemInstance& problem, const Candidate& candidate,
                                  const Arch& arch, const std::string& kernel_file) {
  return TestWriter(problem, candidate, arch, kernel_file).write();
}

std::string emit_exported_benchmark(const ProblemInstance& problem, const Candidate& candidate,
                                    const Arch& arch, const std::string& name) {
  return TestWriter(problem, candidate, arch, name + ".cu", name).write();
}

std::string stand_alone_test_commands(const ProblemInstance& problem, const Candidate& candidate,
                                      const Arch& arch, const std::string& kernel_file) {
  return TestWriter(problem, candidate, arch, kernel_file).all_commands();
}

}  // namespace ak::codegen
