// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "codegen/emit/launch_text.h"
#include "codegen/export/cpp_expression.h"
#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"
#include "codegen/sets/member_plan.h"
#include "core/plan/include_scan.h"

namespace ak::codegen {
namespace {

constexpr LaunchStyle kStyle{.space = "ak_launch", .stream = "call->stream"};
constexpr std::int64_t kAlignmentBytes = 256;  // of parts of the workspace, as their own allocation has

struct DeviceFact {
  std::string_view name, code;
};
constexpr std::array kDeviceFacts{
    DeviceFact{"SM_COUNT", "Whole(ak_plan::device_attribute(cudaDevAttrMultiProcessorCount))"},
    DeviceFact{"L2_BYTES", "Whole(ak_plan::device_attribute(cudaDevAttrL2CacheSize))"},
    DeviceFact{"SHARED_BYTES_PER_BLOCK",
               "Whole(ak_plan::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin))"},
    DeviceFact{"ARCH",
               "Whole(10 * ak_plan::device_attribute(cudaDevAttrComputeCapabilityMajor) + "
               "ak_plan::device_attribute(cudaDevAttrComputeCapabilityMinor))"},
};

/// Why there is no export; never leaves this file.
struct NoExport {
  std::string why;
};

/// C++ in two steps: what the plan says of numbers, and how they are launched.
class LauncherWriter {
 public:
  explicit LauncherWriter(const ExportSubject& subject)
      : subject_(subject), plan_(subject.candidate.plan), constants_(subject.problem.environment({})) {
    for (const auto& [name, value] : subject.candidate.tunables) constants_[name] = value;
    for (const auto* axes : {&subject.axes, &subject.derived})
      for (const Axis* axis : *axes) variables_[axis->name] = "ak_" + axis->name;
    for (const DeviceFact& fact : kDeviceFacts)
      variables_[std::string(fact.name)] = fmt::format("ak_{}", fact.name);
  }

  /// NAME_launch.cu, which needs NAME.h.
  [[nodiscard]] std::string write() { return heading() + headers() + definitions_text(); }

  /// The same after the text of NAME.h, for one .cu file of a program or by itself.
  [[nodiscard]] std::string write_after(std::string header) {
    constexpr std::string_view kOnce = "#pragma once\n";  // of a main file, compilers warn of it
    header.replace(header.find(kOnce), kOnce.size(),
                   fmt::format("#ifndef {0}_LAUNCH\n#define {0}_LAUNCH\n", name()));
    const std::string definitions = definitions_text();
    return fmt::format(
        "// Calls {1} from C++. One .cu file of a program includes this, or it is compiled by itself:\n"
        "//   nvcc -std=c++17 -gencode arch=compute_{2},code=sm_{2} -x cu -c FILE\n//\n{3}\n{4}{5}#endif  // "
        "{0}_LAUNCH\n",
        name(), subject_.kernel_file, subject_.arch.sm().substr(3), header, headers(), definitions);
  }

 private:
  [[nodiscard]] std::string definitions_text() {
    const std::string body = plan_functions();
    return fmt::format("namespace {}_kernel {{\n\n", name()) + std::string(host_source("host_numbers.cuh")) +
           "\n" + export_text("cuda_checks.cuh", {}) + host_text("host_launch.cuh", kStyle.space) +
           (plan_.tensor_maps.empty() ? "" : "\n" + host_text("host_tensor_map.cuh", kStyle.space)) + "\n" +
           kernel() + derived_functions() + call_type() + body +
           fmt::format("\n}}  // namespace {}_kernel\n", name()) + interface_functions();
  }

  [[nodiscard]] const std::string& name() const { return subject_.name; }

  [[nodiscard]] CppExpression expression(const Expression& source, const char* what) const {
    const Result<CppExpression> written = cpp_expression(source, constants_, variables_);
    if (!written) throw NoExport{fmt::format("{} {}", what, written.error().message)};
    return *written;
  }
  [[nodiscard]] std::string number(const Expression& source, const char* what) const {
    const CppExpression written = expression(source, what);
    if (written.code.empty()) throw NoExport{fmt::format("{} '{}' is a string", what, source.text())};
    return written.code;
  }

  [[nodiscard]] std::string heading() const {
    if (subject_.loaded) return export_text("loaded_heading.cpp", {{"name", name()}});
    return fmt::format(
        "// Host code of {0}: {0}.h says what it does. Build it with nvcc for {1}; {0}.cu is included.\n"
        "#include \"{0}.h\"\n\n",
        name(), subject_.arch.sm());
  }

  // Outside of the namespace that the kernel is put in: included there again, their guards leave nothing.
  [[nodiscard]] std::string headers() const {
    if (subject_.loaded) return "";
    std::set<std::string> names{"cuda_runtime.h", "cstddef", "cstdint", "vector"};
    if (!plan_.tensor_maps.empty()) names.insert("cuda.h");
    for (const IncludeLine& include : scan_includes(subject_.candidate.self_contained()))
      if (!include.name.empty()) names.insert(include.name);
    for (const ExportedTensor& tensor : subject_.tensors)
      if (const auto header = info(tensor.spec->dtype).cuda_header; !header.empty()) names.emplace(header);
    std::string text;
    for (const std::string& header : names) text += fmt::format("#include <{}>\n", header);
    return text + "\n";
  }

  [[nodiscard]] std::string kernel() const {
    if (subject_.loaded) return export_text("loaded_kernels.cpp", {});
    return fmt::format("#include \"{}\"\n\nusing ak_plan::Whole;\n\n", subject_.kernel_file);
  }

  [[nodiscard]] std::string axes() const {
    std::string text;
    for (const Axis* axis : subject_.axes)
      text += fmt::format("  [[maybe_unused]] const Whole ak_{0}(shape.{0});\n", axis->name);
    for (const Axis* axis : subject_.derived)
      text += fmt::format("  [[maybe_unused]] const Whole ak_{} = {};\n", axis->name,
                          number(*axis->derived, "a derived axis"));
    return text;
  }

  /// The sizes of derived axes, by which callers know how large tensors are.
  [[nodiscard]] std::string derived_functions() const {
    std::string text;
    for (const Axis* axis : subject_.derived)
      text += fmt::format(
          "std::int64_t axis_{0}([[maybe_unused]] const {1}_shape& shape) {{\n{2}  return "
          "ak_{0}.value;\n}}\n\n",
          axis->name, name(), axes());
    return text;
  }

  /// Constants stay literals; what depends on sizes becomes a variable.
  [[nodiscard]] std::string definitions() {
    std::string text = axes();
    for (const Axis* axis : subject_.axes)
      text += fmt::format("  ak_plan::require(shape.{0} >= 1, \"{0} has to be at least 1\");\n", axis->name);
    for (const Axis* axis : subject_.derived)
      text +=
          fmt::format("  ak_plan::require(ak_{0}.value >= 1, \"{0} has to be at least 1\");\n", axis->name);
    for (const DeviceFact& fact : kDeviceFacts)
      if (uses(fact.name))
        text += fmt::format("  [[maybe_unused]] const Whole ak_{} = {};\n", fact.name, fact.code);
    for (const auto& [let, source] : plan_.let) {
      const CppExpression value = expression(source, "let");
      if (value.known) {
        constants_[let] = *value.known;
        continue;
      }
      variables_[let] = "ak_" + let;
      text += fmt::format("  [[maybe_unused]] const Whole ak_{} = {};\n", let, value.code);
    }
    return text;
  }

  /// A query of the device takes microseconds, so only what is mentioned.
  [[nodiscard]] bool uses(std::string_view fact) const {
    const auto in = [&](const Expression& one) { return one.names().contains(std::string(fact)); };
    const auto any = [&](const std::vector<Expression>& list) { return std::ranges::any_of(list, in); };
    if (any(plan_.constraints)) return true;
    for (const auto& [let, source] : plan_.let)
      if (in(source)) return true;
    for (const WorkspacePlan& space : plan_.workspace)
      if (in(space.count)) return true;
    for (const TensorMapPlan& map : plan_.tensor_maps)
      if (any(map.dims) || any(map.strides_bytes) || any(map.box) || any(map.element_strides)) return true;
    const auto launches = [&](const LaunchPlanEntry& launch) {
      const bool scalar = std::ranges::any_of(launch.arguments, [&](const ArgumentPlan& argument) {
        const auto* value = std::get_if<ScalarArgument>(&argument);
        const auto* source = value != nullptr ? std::get_if<Expression>(&value->value) : nullptr;
        return source != nullptr && in(*source);
      });
      return scalar || any(launch.grid) || any(launch.block) || any(launch.cluster) ||
             (launch.shared_bytes && in(*launch.shared_bytes)) || (launch.when && in(*launch.when)) ||
             (launch.loop && (in(launch.loop->low) || in(launch.loop->high)));
    };
    return std::ranges::any_of(plan_.prepare, launches) || std::ranges::any_of(plan_.launches, launches);
  }

  [[nodiscard]] std::string constraint(const Expression& source, const char* whose) const {
    const CppExpression value = expression(source, whose);
    if (value.always()) return "";
    if (value.never()) throw NoExport{fmt::format("{} '{}' does not hold", whose, source.text())};
    return fmt::format("  ak_plan::require(truth({}), \"{} has to hold\");\n", value.code, source.text());
  }

  [[nodiscard]] std::string constraints() const {
    std::string text;
    for (const std::string& source : subject_.problem.definition.constraints) {
      // Those of a definition may mention tensors' values, too: only sizes are known here.
      const Result<Expression> parsed = Expression::parse(source);
      if (parsed && cpp_expression(*parsed, constants_, variables_))
        text += constraint(*parsed, "the problem's constraint");
    }
    for (const Expression& source : plan_.constraints) text += constraint(source, "the constraint");
    return text;
  }

  [[nodiscard]] std::int64_t element_bytes(const std::string& dtype) const {
    const auto param = constants_.find(dtype);
    const auto* named = param == constants_.end() ? nullptr : std::get_if<std::string>(&param->second);
    const auto found = parse_dtype(named != nullptr ? *named : dtype);
    if (!found) throw NoExport{fmt::format("'{}' is not an element type", dtype)};
    return info(*found).bytes;
  }
  [[nodiscard]] DType dtype_of(const std::string& dtype) const {
    const auto param = constants_.find(dtype);
    const auto* named = param == constants_.end() ? nullptr : std::get_if<std::string>(&param->second);
    return parse_dtype(named != nullptr ? *named : dtype).value();
  }

  [[nodiscard]] bool prepares() const { return !plan_.prepare.empty(); }

  /// Parts of an allocation each for workspace and for prepared memory; offsets run through them.
  [[nodiscard]] std::string workspace() const {
    std::string text = "  [[maybe_unused]] Whole ak_offset(0);\n";
    if (prepares()) text += "  Whole ak_prepared(0);\n";
    for (const WorkspacePlan& space : plan_.workspace)
      text += fmt::format(
          "  [[maybe_unused]] const Whole ak_at_{0} = {4}, ak_bytes_{0} = {1} * Whole({2});\n"
          "  {4} = {4} + round_up(ak_bytes_{0}, Whole({3}));\n",
          space.name, number(space.count, "the workspace"), element_bytes(space.dtype), kAlignmentBytes,
          space.prepared ? "ak_prepared" : "ak_offset");
    return text;
  }

  /// What happens in a call alone: memory is there, and zero where the plan says so.
  [[nodiscard]] std::string call_begin(bool preparation) const {
    std::string text = "  if (call != nullptr) {\n";
    if (!preparation) text += memory_checks("workspace", "ak_offset");
    if (prepares()) text += memory_checks("prepared", "ak_prepared");
    for (const WorkspacePlan& space : plan_.workspace)
      if (space.init == WorkspaceInit::zero && space.prepared == preparation)
        text += fmt::format(
            "    ak_plan::check(cudaMemsetAsync(static_cast<char*>(call->{1}) + ak_at_{0}.value, 0, "
            "static_cast<std::size_t>(ak_bytes_{0}.value), call->stream));\n",
            space.name, memory_of(space));
    return text + "  }\n";
  }

  [[nodiscard]] static std::string_view memory_of(const WorkspacePlan& space) {
    return space.prepared ? "prepared" : "workspace";
  }

  [[nodiscard]] static std::string memory_checks(std::string_view member, std::string_view bytes) {
    return fmt::format(
        "    ak_plan::require({1}.value == 0 || call->{0} != nullptr, \"{0} is a null pointer\");\n"
        "    ak_plan::require(static_cast<std::int64_t>(call->{0}_bytes) >= {1}.value, \"{0} is too "
        "small\");\n",
        member, bytes);
  }

  [[nodiscard]] std::string pointer(const std::string& wanted) const {
    const auto tensor = std::ranges::find_if(
        subject_.tensors, [&](const ExportedTensor& one) { return one.spec->name == wanted; });
    if (tensor != subject_.tensors.end()) {
      const std::string& owner = tensor->alias.empty() ? tensor->name : tensor->alias;
      const auto parameters = subject_.parameters();
      const auto at =
          std::ranges::find(parameters, owner, [](const ExportedTensor* one) { return one->name; });
      return fmt::format("call->tensors[{}] /* {} */", at - parameters.begin(), wanted);
    }
    const auto space = std::ranges::find(plan_.workspace, wanted, &WorkspacePlan::name);
    return fmt::format("ak_launch::Pointer{{static_cast<char*>(call->{}) + ak_at_{}.value}}",
                       memory_of(*space), wanted);
  }

  [[nodiscard]] std::vector<std::string> sizes(const std::vector<Expression>& list, const char* type) const {
    std::vector<std::string> texts;
    for (const Expression& one : list)
      texts.push_back(fmt::format("static_cast<{}>({}.value)", type, number(one, "a tensor map")));
    return texts;
  }

  [[nodiscard]] std::string named(const std::string& wanted) const {
    const auto map = std::ranges::find(plan_.tensor_maps, wanted, &TensorMapPlan::name);
    if (map == plan_.tensor_maps.end()) return pointer(wanted);
    std::vector<std::string> strides = sizes(map->element_strides, "cuuint32_t");
    if (strides.empty()) strides.assign(map->dims.size(), "1");
    return tensor_map_text({.pointer = pointer(map->tensor),
                            .dtype = dtype_of(map->dtype),
                            .dims = sizes(map->dims, "cuuint64_t"),
                            .strides_bytes = sizes(map->strides_bytes, "cuuint64_t"),
                            .box = sizes(map->box, "cuuint32_t"),
                            .element_strides = strides,
                            .interleave = map->interleave,
                            .swizzle = map->swizzle,
                            .l2_promotion = map->l2_promotion,
                            .oob_fill = map->oob_fill},
                           kStyle);
  }

  [[nodiscard]] std::string scalar(const ScalarArgument& argument) const {
    if (const auto* real = std::get_if<double>(&argument.value))
      return fmt::format("static_cast<{}>({:.17g})", argument.type == ScalarType::f32 ? "float" : "double",
                         *real);
    const std::string value = number(std::get<Expression>(argument.value), "an argument");
    switch (argument.type) {
      case ScalarType::i32:
        return fmt::format("narrow({})", value);
      case ScalarType::i64:
        return fmt::format("static_cast<long long>({}.value)", value);
      case ScalarType::f32:
        return fmt::format("static_cast<float>({}.value)", value);
      case ScalarType::f64:
        return fmt::format("static_cast<double>({}.value)", value);
      case ScalarType::boolean:
        return fmt::format("truth({})", value);
    }
    return "";
  }

  [[nodiscard]] const TensorSpec* scalar_input(const std::string& wanted) const {
    const TensorSpec* found = subject_.problem.definition.find_tensor(wanted);
    return found != nullptr && found->is_scalar() ? found : nullptr;
  }

  [[nodiscard]] std::string scalar_value(const TensorSpec& input, ScalarType type) const {
    const auto parameters = subject_.parameters();
    const auto at =
        std::ranges::find(parameters, &input, [](const ExportedTensor* one) { return one->spec; });
    return fmt::format("static_cast<{}>(call->tensors[{}].{} /* {} */)", cpp_type(type),
                       at - parameters.begin(), is_floating(type) ? "real" : "whole", input.name);
  }

  [[nodiscard]] std::string argument(const ArgumentPlan& argument) const {
    if (const auto* value = std::get_if<ScalarArgument>(&argument)) {
      const auto* source = std::get_if<Expression>(&value->value);
      const TensorSpec* input = source != nullptr ? scalar_input(source->text()) : nullptr;
      return input != nullptr ? scalar_value(*input, value->type) : scalar(*value);
    }
    const auto* by_name = std::get_if<NamedArgument>(&argument);
    const std::string& wanted =
        by_name != nullptr ? by_name->name : std::get<OptionalArgument>(argument).name;
    if (const TensorSpec* input = scalar_input(wanted))
      return scalar_value(*input, scalar_type(input->dtype).value());
    if (by_name != nullptr) return named(wanted);
    const auto& optional = std::get<OptionalArgument>(argument);
    const bool there = subject_.problem.definition.find_tensor(optional.name) != nullptr;
    return there ? pointer(optional.name) : "ak_launch::Pointer{nullptr}";
  }

  [[nodiscard]] std::string dimensions(const std::vector<Expression>& list,
                                       const std::array<std::int64_t, 3>& most, const char* what) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < list.size(); ++i)
      texts.push_back(fmt::format("dimension({}, {})", number(list[i], what), most.at(i)));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// Blocks of a cluster, where they are constants.
  [[nodiscard]] std::optional<std::int64_t> cluster_blocks(const LaunchPlanEntry& launch) const {
    std::int64_t blocks = 1;
    for (const Expression& one : launch.cluster) {
      const CppExpression value = expression(one, "a cluster");
      const auto* known = value.known ? std::get_if<std::int64_t>(&*value.known) : nullptr;
      if (known == nullptr) return std::nullopt;
      blocks *= *known;
    }
    return blocks;
  }

  [[nodiscard]] std::string launch(const LaunchPlanEntry& launch) {
    std::string before, after;
    if (launch.when) {
      const CppExpression condition = expression(*launch.when, "when");
      if (condition.never()) return "";
      if (!condition.known) before = fmt::format("  if (truth({})) {{\n", condition.code), after = "  }\n";
    }
    return before + statements(launch) + after;
  }

  /// The kernel as a launch statement calls it.
  [[nodiscard]] std::string kernel_of(const LaunchPlanEntry& launch) const {
    if (!subject_.loaded) return launch.kernel;
    const std::vector<std::string> all = loaded_kernels(plan_);
    return fmt::format("loaded({})", std::ranges::find(all, launch.kernel) - all.begin());
  }

  [[nodiscard]] std::string statements(const LaunchPlanEntry& launch) const {
    LaunchText text{.kernel = kernel_of(launch),
                    .grid = "ak_grid",
                    .block = "ak_block",
                    .shared_bytes = "0",
                    .known_shared_bytes = 0,
                    .cluster = "",
                    .cluster_blocks = "ak_cluster.x * ak_cluster.y * ak_cluster.z",
                    .known_cluster_blocks = cluster_blocks(launch),
                    .cooperative = launch.cooperative,
                    // The first launch of a call waits for whatever is ahead of it in the stream.
                    .early = launch.pdl ? "ak_launches > 1" : "",
                    .arguments = {}};
    std::string numbers =
        fmt::format("  const dim3 ak_grid({}), ak_block({});\n", dimensions(launch.grid, kMaxGrid, "a grid"),
                    dimensions(launch.block, kMaxBlock, "a block"));
    if (launch.shared_bytes) {
      const CppExpression shared = expression(*launch.shared_bytes, "shared memory");
      const auto* known = shared.known ? std::get_if<std::int64_t>(&*shared.known) : nullptr;
      text.known_shared_bytes = known != nullptr ? std::optional(*known) : std::nullopt;
      text.shared_bytes = known != nullptr ? std::to_string(*known) : "ak_shared";
      if (known == nullptr)
        numbers += fmt::format("  const unsigned int ak_shared = dimension({} + Whole(1), {}) - 1;\n",
                               shared.code, kMaxSharedBytes);
    }
    if (text.known_cluster_blocks.value_or(0) != 1) {
      numbers += fmt::format(
          "  [[maybe_unused]] const dim3 ak_cluster({});\n",
          dimensions(launch.cluster, {kMaxClusterBlocks, kMaxClusterBlocks, kMaxClusterBlocks}, "a cluster"));
      text.cluster = "ak_cluster.x, ak_cluster.y, ak_cluster.z";
    }
    for (const ArgumentPlan& each : launch.arguments) text.arguments.push_back(argument(each));
    return "  {\n" + numbers + "  ++ak_launches;\n  if (call != nullptr) {\n" +
           launch_statements(text, kStyle) + "  }\n  }\n";
  }

  [[nodiscard]] std::string launches(const std::vector<LaunchPlanEntry>& list) {
    std::string text = "  int ak_launches = 0;\n";
    for (const LaunchPlanEntry& one : list) {
      if (!one.loop) {
        text += launch(one);
        continue;
      }
      const std::string low = number(one.loop->low, "for"), high = number(one.loop->high, "for");
      const auto shadowed = variables_.find(one.loop->variable);
      if (shadowed != variables_.end())
        throw NoExport{fmt::format("'{}' is the variable of a loop, and more", one.loop->variable)};
      variables_[one.loop->variable] = "ak_" + one.loop->variable;
      text += fmt::format(
          "  for (std::int64_t ak_i = {}.value; ak_i < {}.value; ++ak_i) {{\n"
          "  [[maybe_unused]] const Whole ak_{}(ak_i);\n{}  }}\n",
          low, high, one.loop->variable, launch(one));
      variables_.erase(one.loop->variable);
    }
    return text + "  ak_plan::require(ak_launches > 0, \"no kernel is for this shape\");\n";
  }

  [[nodiscard]] std::string call_type() const {
    return export_text(
        "call.cu", {{"prepared", prepares() ? "  void* prepared;\n  std::size_t prepared_bytes;\n" : ""}});
  }

  /// One for calls, and one for what prepares weights where something does.
  [[nodiscard]] std::string plan_functions() {
    return plan_function(false) + (prepares() ? plan_function(true) : "");
  }

  /// Checks everything, and launches where there is a call. Returns the bytes of the memory.
  [[nodiscard]] std::string plan_function(bool preparation) {
    // In this order: each adds to the names that those after it may use.
    const std::string defined = definitions(), required = constraints(), space = workspace();
    const std::string begun = call_begin(preparation),
                      launched = launches(preparation ? plan_.prepare : plan_.launches);
    return export_text(
        "plan_function.cu",
        {{"does", preparation
                      ? "Prepares weights where there is a call. Returns the bytes of prepared memory."
                      : "Goes through the launch plan; launches where there is a call. Returns the bytes "
                        "of workspace."},
         {"function", preparation ? "prepare" : "go"},
         {"name", name()},
         {"definitions", defined},
         {"constraints", required},
         {"workspace", space},
         {"call_begin", begun},
         {"launches", launched},
         {"bytes", preparation ? "ak_prepared" : "ak_offset"}});
  }

  [[nodiscard]] std::string prepare_signature() const {
    std::vector<std::string> parameters;
    for (const ExportedTensor* weight : subject_.weights())
      parameters.push_back("const void* " + weight->name);
    return fmt::format(
        "cudaError_t {0}_prepare(const {0}_shape& shape, {1}, void* prepared,\n"
        "    std::size_t prepared_bytes, cudaStream_t stream)",
        name(), fmt::join(parameters, ", "));
  }

  [[nodiscard]] std::string signature() const {
    std::vector<std::string> parameters;
    for (const ExportedTensor* tensor : subject_.parameters()) {
      if (tensor->scalar()) {
        parameters.push_back(
            fmt::format("{} {}", cpp_type(scalar_type(tensor->spec->dtype).value()), tensor->name));
        continue;
      }
      const bool written =
          !tensor->input || std::ranges::any_of(subject_.tensors, [&](const ExportedTensor& other) {
            return other.alias == tensor->name;
          });
      parameters.push_back(fmt::format("{}void* {}", written ? "" : "const ", tensor->name));
    }
    if (prepares())
      parameters.insert(parameters.end(), {"const void* prepared", "std::size_t prepared_bytes"});
    return fmt::format(
        "cudaError_t {0}_launch(const {0}_shape& shape, {1}, void* workspace,\n"
        "    std::size_t workspace_bytes, cudaStream_t stream)",
        name(), fmt::join(parameters, ", "));
  }

  [[nodiscard]] std::string tensor_checks(const ExportedTensor& tensor) const {
    return fmt::format(
        "    if ({0} == nullptr) return cudaErrorInvalidValue;\n"
        "    if (reinterpret_cast<std::uintptr_t>({0}) % {1} != 0) return cudaErrorMisalignedAddress;\n",
        tensor.name, alignment_bytes(subject_.arch));
  }

  [[nodiscard]] static std::string tensor_pointer(const ExportedTensor& tensor) {
    return fmt::format("{{const_cast<void*>(static_cast<const void*>({}))}}", tensor.name);
  }

  [[nodiscard]] std::string prepare_functions() const {
    if (!prepares()) return "";
    std::vector<std::string> pointers;
    std::string checks;
    for (const ExportedTensor* tensor : subject_.parameters())
      pointers.push_back(tensor->spec->weight ? tensor_pointer(*tensor) : "{nullptr}");
    for (const ExportedTensor* weight : subject_.weights()) checks += tensor_checks(*weight);
    return export_text("prepare_functions.cu", {{"name", name()},
                                                {"signature", prepare_signature()},
                                                {"checks", checks},
                                                {"tensors", fmt::format("{}", fmt::join(pointers, ", "))}});
  }

  [[nodiscard]] std::string interface_functions() const {
    std::string pointers, checks;
    for (const ExportedTensor* tensor : subject_.parameters()) {
      if (tensor->scalar()) {
        const bool real = info(tensor->spec->dtype).floating;
        pointers += fmt::format("{0}{{nullptr, static_cast<double>({1}), {2}}}", pointers.empty() ? "" : ", ",
                                tensor->name, real ? "0" : tensor->name);
        continue;
      }
      pointers += (pointers.empty() ? "" : ", ") + tensor_pointer(*tensor);
      checks += tensor_checks(*tensor);
    }
    std::string derived;
    for (const Axis* axis : subject_.derived)
      derived += fmt::format(
          "\nstd::int64_t {0}_axis_{1}(const {0}_shape& shape) {{\n  try {{\n"
          "    return {0}_kernel::axis_{1}(shape);\n"
          "  }} catch (const {0}_kernel::ak_plan::Refusal&) {{\n    return 0;\n  }}\n}}\n",
          name(), axis->name);
    return derived + "\n" +
           export_text("launch_functions.cu",
                       {{"name", name()},
                        {"signature", signature()},
                        {"checks", checks},
                        {"tensors", pointers},
                        {"also_refused",
                         prepares() ? fmt::format("    {}_kernel::prepare(shape, nullptr);\n", name()) : ""},
                        {"prepared", prepares() ? "const_cast<void*>(prepared), prepared_bytes, " : ""}}) +
           prepare_functions();
  }

  const ExportSubject& subject_;
  const LaunchPlan& plan_;
  Environment constants_;
  std::map<std::string, std::string> variables_;

 public:
  [[nodiscard]] ChosenMember member() {
    const std::string before = definitions();
    const auto known = constants_.find(kMemberName);
    if (known != constants_.end()) return {"", to_string(known->second)};
    if (!variables_.contains(kMemberName)) return {"", "0"};
    return {before, fmt::format("static_cast<int>(ak_{}.value)", kMemberName)};
  }

  /// Of what prepares weights; empty where nothing does.
  [[nodiscard]] std::string prepare_declarations() const {
    return prepares() ? export_text("prepare.h", {{"name", name()},
                                                  {"axes", prepared_axes_text(subject_)},
                                                  {"signature", prepare_signature()}})
                      : "";
  }

  [[nodiscard]] std::string declaration() const {
    std::string text = signature() + ";\n";
    for (const Axis* axis : subject_.derived)
      text += fmt::format(
          "\n/// {1} = {2}; 0 where that has no value.\n"
          "std::int64_t {0}_axis_{1}(const {0}_shape& shape);\n",
          name(), axis->name, axis->derived->text());
    return text;
  }
};

}  // namespace

/// Vectors of 16 bytes are what kernels load at most before Blackwell, 32 since.
int alignment_bytes(const Arch& arch) { return arch.number() >= 100 ? 32 : 16; }

std::string shape_text(const TensorSpec& tensor) {
  if (tensor.is_scalar()) return fmt::format("{}, a scalar", info(tensor.dtype).name);
  return fmt::format("{} [{}]", info(tensor.dtype).name, fmt::join(*tensor.shape, ", "));
}

std::vector<const ExportedTensor*> ExportSubject::parameters() const {
  std::vector<const ExportedTensor*> list;
  for (const ExportedTensor& tensor : tensors)
    if (tensor.alias.empty()) list.push_back(&tensor);
  return list;
}

std::vector<const ExportedTensor*> ExportSubject::weights() const {
  std::vector<const ExportedTensor*> list;
  for (const ExportedTensor& tensor : tensors)
    if (tensor.spec->weight) list.push_back(&tensor);
  return list;
}

std::string export_header(const ExportSubject& subject) {
  const Definition& definition = subject.problem.definition;
  std::string axes, tensors;
  for (const Axis* axis : subject.axes)
    axes += fmt::format("  std::int64_t {} = 0;{}{}\n", axis->name,
                        axis->description.empty() ? "" : "  ///< ", comment_text(axis->description));
  for (const ExportedTensor& tensor : subject.tensors) {
    const std::string words = shape_text(*tensor.spec);
    if (!tensor.alias.empty())
      tensors += fmt::format("/// Output {}, {}, takes the place of {}.\n", tensor.name, words, tensor.alias);
    else
      tensors +=
          fmt::format("/// @param {}  {}, {}{}{}{}\n", tensor.name, tensor.input ? "input" : "output", words,
                      tensor.spec->zeroed ? "; it has to hold zeros" : "",
                      tensor.spec->description.empty() ? "" : ": ", comment_text(tensor.spec->description));
  }
  const std::string computes = "Computes " + definition.name + ".";
  const LauncherWriter writer(subject);
  return export_text(
      "launch.h",
      {{"definition", definition.name},
       {"name", subject.name},
       {"axes", axes},
       {"description", definition.description.empty() ? computes : comment_text(definition.description)},
       {"alignment", std::to_string(alignment_bytes(subject.arch))},
       {"prepared", subject.candidate.plan.prepare.empty()
                        ? ""
                        : fmt::format("/// Weights come prepared, too: {0}_prepare().\n", subject.name)},
       {"tensors", tensors},
       {"declaration", writer.declaration() + writer.prepare_declarations()}});
}

std::vector<std::string> loaded_kernels(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const auto* list : {&plan.prepare, &plan.launches})
    for (const LaunchPlanEntry& launch : *list)
      if (std::ranges::find(names, launch.kernel) == names.end()) names.push_back(launch.kernel);
  return names;
}

Result<ChosenMember> exported_member(const ExportSubject& subject) {
  try {
    return LauncherWriter(subject).member();
  } catch (const NoExport& none) {
    return InputError{none.why};
  }
}

Result<std::string> export_launcher(const ExportSubject& subject) {
  try {
    return LauncherWriter(subject).write();
  } catch (const NoExport& none) {
    return InputError{none.why};
  }
}

Result<std::string> export_launch_header(const ExportSubject& subject) {
  try {
    return LauncherWriter(subject).write_after(export_header(subject));
  } catch (const NoExport& none) {
    return InputError{none.why};
  }
}

}  // namespace ak::codegen
