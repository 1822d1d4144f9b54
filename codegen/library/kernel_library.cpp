// SPDX-License-Identifier: Apache-2.0
#include "codegen/library/kernel_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "codegen/emit/emit.h"
#include "codegen/emit/launch_text.h"
#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"
#include "codegen/export/run_function.h"
#include "core/error.h"
#include "library_texts.h"

namespace ak::codegen {
namespace {

// As library.h.in has them.
constexpr std::size_t kMaxRank = 8, kMaxAxes = 16, kMaxTensors = 32;

std::string library_text(std::string_view name, std::initializer_list<TextValue> values = {}) {
  return filled_file(library_texts(), name, values);
}

std::string_view torch_name(DType dtype) {
  switch (dtype) {
    case DType::int4x2:
    case DType::uint4x2:
      return "uint8";
    case DType::boolean:
      return "bool";
    default:
      return info(dtype).name;
  }
}

std::string_view kind_of(const ExportedTensor& tensor) {
  if (!tensor.scalar()) return "tensor";
  if (tensor.spec->dtype == DType::boolean) return "boolean";
  return info(tensor.spec->dtype).floating ? "real" : "whole";
}

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& one : list) text += one + ", ";
  return text;
}

std::string boolean(bool value) { return value ? "true" : "false"; }

std::vector<std::string> places(std::size_t count, std::string_view form) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(fmt::format(fmt::runtime(form), i));
  return list;
}

/// The tables by which a generic caller reads tensors, and functions of one form for all operators.
class OperatorWriter {
 public:
  OperatorWriter(const ExportSubject& subject, std::string operator_name)
      : subject_(subject), operator_(std::move(operator_name)) {}

  [[nodiscard]] Result<std::string> text() const {
    if (const std::string why = objection(); !why.empty()) return InputError{why};
    const Result<ChosenMember> member = exported_member(subject_);
    if (!member) return member.error();
    const bool prepares = !subject_.candidate.plan.prepare.empty();
    const std::vector<std::string> on = prepared_axes(subject_);
    std::vector<std::string> axis_names, given, prepared;
    const std::vector<std::string> without_input = sizes_without_input(subject_);
    for (const Axis* axis : subject_.axes) {
      axis_names.push_back(python_text(axis->name));
      given.push_back(boolean(std::ranges::find(without_input, axis->name) != without_input.end()));
      prepared.push_back(boolean(prepares && std::ranges::find(on, axis->name) != on.end()));
    }
    const auto inputs = std::ranges::count_if(subject_.tensors, &ExportedTensor::input);
    return library_text(
        "operator.cpp",
        {{"name", subject_.name},
         {"operator", operator_},
         {"definitions", member->definitions},
         {"member", member->value},
         {"sizes", fmt::format("{}", fmt::join(places(subject_.axes.size(), "sizes[{}]"), ", "))},
         {"prepared_facts",
          prepares
              ? fmt::format("  facts.prepared_bytes = static_cast<std::int64_t>({}_prepared_bytes(shape));\n",
                            subject_.name)
              : ""},
         {"derived", derived()},
         {"values", values(false)},
         {"prepared_values", prepares ? "prepared, prepared_bytes, " : ""},
         {"prepare",
          prepares ? library_text("prepare.cpp", {{"name", subject_.name}, {"values", values(true)}}) : ""},
         {"tensors", tensors()},
         {"axis_names", joined(axis_names)},
         {"given", joined(given)},
         {"prepared_axes", joined(prepared)},
         {"inputs", std::to_string(inputs)},
         {"outputs", std::to_string(subject_.tensors.size() - static_cast<std::size_t>(inputs))},
         {"axes", std::to_string(subject_.axes.size())},
         {"derived_count", std::to_string(subject_.derived.size())},
         {"alignment", std::to_string(alignment_bytes(subject_.arch))},
         {"prepares", boolean(prepares)},
         {"prepare_function", prepares ? "prepare" : "nullptr"}});
  }

 private:
  [[nodiscard]] std::string objection() const {
    if (subject_.axes.size() + subject_.derived.size() > kMaxAxes)
      return fmt::format("it has more than {} axes that vary", kMaxAxes);
    if (subject_.tensors.size() > kMaxTensors) return fmt::format("it has more than {} tensors", kMaxTensors);
    const bool tensor_input = std::ranges::any_of(
        subject_.tensors, [](const ExportedTensor& one) { return one.input && !one.scalar(); });
    if (!tensor_input) return "it has no input tensors";
    for (const ExportedTensor& tensor : subject_.tensors)
      if (!tensor.scalar() && tensor.spec->shape->size() > kMaxRank)
        return fmt::format("{} has more than {} dimensions", tensor.name, kMaxRank);
    return "";
  }

  [[nodiscard]] std::string derived() const {
    std::string text;
    for (std::size_t i = 0; i < subject_.derived.size(); ++i)
      text += fmt::format("  derived[{}] = {}_axis_{}(shape_of(sizes));\n", i, subject_.name,
                          subject_.derived[i]->name);
    return text;
  }

  /// What the launch function takes of a call.
  [[nodiscard]] std::string values(bool weights) const {
    std::vector<std::string> list;
    const auto parameters = subject_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ExportedTensor& tensor = *parameters[i];
      if (weights && !tensor.spec->weight) continue;
      list.push_back(tensor.scalar() ? fmt::format("static_cast<{}>(values[{}].{})",
                                                   cpp_type(scalar_type(tensor.spec->dtype).value()), i,
                                                   info(tensor.spec->dtype).floating ? "real" : "whole")
                                     : fmt::format("values[{}].pointer", i));
    }
    return fmt::format("{}", fmt::join(list, ", "));
  }

  /// A fixed size is itself, one that varies is -1 minus its place.
  [[nodiscard]] std::int64_t dimension(const std::string& name) const {
    const auto place = [&](const auto& list) {
      return std::ranges::find(list, name, [](const Axis* axis) { return axis->name; }) - list.begin();
    };
    const auto varying = static_cast<std::int64_t>(subject_.axes.size());
    if (const auto at = place(subject_.axes); at < varying) return -1 - at;
    if (const auto at = place(subject_.derived); at < static_cast<std::int64_t>(subject_.derived.size()))
      return -1 - varying - at;
    return std::ranges::find(subject_.problem.definition.axes, name, &Axis::name)->value.value();
  }

  [[nodiscard]] std::string tensors() const {
    std::string text;
    for (const ExportedTensor& tensor : subject_.tensors) {
      std::vector<std::int64_t> dims;
      if (!tensor.scalar())
        for (const std::string& axis : *tensor.spec->shape) dims.push_back(dimension(axis));
      const auto owner = std::ranges::find(subject_.tensors, tensor.alias, &ExportedTensor::name);
      text += fmt::format("    {{{}, \"{}\", Kind::{}, {}, {}, {}, {}, {}, {{{}}}}},\n",
                          python_text(tensor.spec->name), torch_name(tensor.spec->dtype), kind_of(tensor),
                          tensor.input, tensor.spec->weight, tensor.spec->zeroed,
                          tensor.alias.empty() ? -1 : owner - subject_.tensors.begin(), dims.size(),
                          fmt::join(dims, ", "));
    }
    return text;
  }

  const ExportSubject& subject_;
  std::string operator_;
};

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

/// Machine code that the sources include, for one target; PTX as well where later devices run it.
struct ImageFile {
  std::string path, text;
  const BuildResult* build;
  Arch arch;
  bool ptx;
};

std::vector<ImageFile> image_files(const LibraryKernel& kernel, const std::string& name) {
  std::vector<ImageFile> files;
  for (std::size_t i = 0; i < kernel.builds.size(); ++i) {
    const BuildResult& build = kernel.builds[i];
    const Arch& arch = kernel.archs[i];
    files.push_back({fmt::format("{}.{}.cubin", name, arch.sm()), build.cubin, &build, arch, false});
    if (arch.feature == 0 && !build.ptx.empty())
      files.push_back({fmt::format("{}.{}.ptx", name, arch.sm()), build.ptx, &build, arch, true});
  }
  return files;
}

/// Assembler that includes a file; PTX ends with a zero.
std::string included_data(const std::string& symbol, const ImageFile& file) {
  return fmt::format(
      "asm(\".section .rodata\\n.balign 64\\n.globl {0}\\n.hidden {0}\\n{0}:\\n.incbin \\\"{1}\\\"\\n"
      ".byte 0\\n.previous\\n\");\nextern \"C\" AK_HIDDEN const char {0}[];\n",
      symbol, file.path);
}

std::string image_names(const ImageFile& file, const std::vector<std::string>& kernels) {
  std::string text;
  for (const std::string& kernel : kernels) {
    const auto found = std::ranges::find(file.build->kernels, kernel, &KernelFacts::expression);
    text += found == file.build->kernels.end() ? "nullptr, " : python_text(found->lowered_name) + ", ";
  }
  return text;
}

std::string images_source(const ExportSubject& subject, const std::vector<ImageFile>& files) {
  const std::vector<std::string> kernels = loaded_kernels(subject.candidate.plan);
  std::string data, names, images;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string symbol = fmt::format("{}_image_{}", subject.name, i);
    data += included_data(symbol, files[i]);
    names += fmt::format("const char* const kNames{}[] = {{{}}};\n", i, image_names(files[i], kernels));
    const std::string letter = files[i].arch.feature == 0 ? "0" : fmt::format("'{}'", files[i].arch.feature);
    images += fmt::format("    {{{}, {}, {}, {}, kNames{}}},\n", files[i].arch.number(), letter, files[i].ptx,
                          symbol, i);
  }
  return library_text("images.cpp", {{"name", subject.name},
                                     {"data", data},
                                     {"names", names},
                                     {"images", images},
                                     {"count", std::to_string(files.size())},
                                     {"kernels", std::to_string(kernels.size())}});
}

Json shape_json(const TensorSpec& tensor) { return tensor.is_scalar() ? Json(nullptr) : Json(*tensor.shape); }

Json axes_json(const Definition& definition) {
  Json axes = Json::array();
  for (const Axis& axis : definition.axes) {
    Json one{{"name", axis.name}};
    if (axis.derived)
      one["derived"] = axis.derived->text();
    else if (axis.value)
      one["value"] = *axis.value;
    axes.push_back(std::move(one));
  }
  return axes;
}

Json tensors_json(const ExportSubject& subject, bool inputs) {
  Json list = Json::array();
  for (const ExportedTensor& tensor : subject.tensors) {
    if (tensor.input != inputs) continue;
    Json one{{"name", tensor.name},
             {"dtype", torch_name(tensor.spec->dtype)},
             {"kind", kind_of(tensor)},
             {"shape", shape_json(*tensor.spec)}};
    if (tensor.spec->weight) one["weight"] = true;
    if (tensor.spec->zeroed) one["zeroed"] = true;
    if (!tensor.alias.empty()) one["alias"] = tensor.alias;
    if (tensor.scalar() && !tensor.spec->values.empty()) one["value"] = tensor.spec->values.front();
    list.push_back(std::move(one));
  }
  return list;
}

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params)
    if (const auto* text = std::get_if<std::string>(&value))
      json[name] = *text;
    else
      json[name] = std::get<std::int64_t>(value);
  return json;
}

/// A package says nothing of the machine that it was built on.
std::string shown_name(const Candidate& candidate) {
  const std::filesystem::path path(candidate.name);
  return path.is_absolute() ? path.filename().string() : candidate.name;
}

Json description_of(const LibraryKernel& kernel, const ExportSubject& subject) {
  const Definition& definition = subject.problem.definition;
  Json json{{"name", kernel.name},
            {"definition", definition.name},
            {"algorithm", subject.problem.problem},
            {"params", params_json(subject.problem.params)},
            {"description", definition.description},
            {"inputs", tensors_json(subject, true)},
            {"outputs", tensors_json(subject, false)},
            {"axes", axes_json(definition)},
            {"given", sizes_without_input(subject)},
            {"prepares", !subject.candidate.plan.prepare.empty()},
            {"prepared_axes",
             subject.candidate.plan.prepare.empty() ? std::vector<std::string>{} : prepared_axes(subject)},
            {"kernel", shown_name(subject.candidate)},
            {"images", Json::array()},
            {"shapes", Json::array()},
            // Twice the harness's bound: PyTorch's reference may sum in the element type itself.
            {"bound_ulps",
             2 * subject.problem.tolerance.factor * std::max(subject.problem.tolerance.floor_ulps, 2.0)}};
  for (const Arch& arch : kernel.archs) json["images"].push_back(arch.sm());
  for (const Workload& workload : subject.problem.workloads)
    if (workload.tier != WorkloadTier::deep)
      json["shapes"].push_back(
          {{"name", workload.name}, {"axes", workload.axes}, {"timed", workload.has(WorkloadRole::time)}});
  return json;
}

}  // namespace

Result<LibraryOperator> library_operator(const LibraryKernel& kernel, const std::string& library) {
  AK_ASSERT(!kernel.builds.empty() && kernel.builds.size() == kernel.archs.size(), "a kernel was built");
  const auto newest = std::ranges::max_element(kernel.archs, {}, &Arch::number);
  ExportSubject subject =
      export_subject(kernel.problem, kernel.candidate, *newest, fmt::format("{}_{}", library, kernel.name));
  subject.loaded = true;
  const Result<std::string> launcher = export_launcher(subject);
  if (!launcher) return launcher.error();
  const Result<std::string> tables = OperatorWriter(subject, kernel.name).text();
  if (!tables) return tables.error();
  LibraryOperator made;
  const std::vector<ImageFile> images = image_files(kernel, subject.name);
  made.sources = {{subject.name + "_launch.cpp", *launcher + *tables},
                  {subject.name + "_images.cpp", images_source(subject, images)}};
  made.headers = {{subject.name + ".h", export_header(subject)}};
  for (const ImageFile& image : images) made.images.push_back({image.path, image.text});
  made.description = description_of(kernel, subject);
  made.reference = reference_with_run(kernel.problem);
  return made;
}

std::vector<ExportedFile> library_sources(const std::string& library,
                                          const std::vector<std::string>& operators,
                                          const std::string& archs) {
  std::string declarations, list;
  for (const std::string& name : operators) {
    declarations +=
        fmt::format("extern AK_HIDDEN const ak_library::Operator {}_{}_operator;\n", library, name);
    list += fmt::format("{}&{}_{}_operator", list.empty() ? "" : ", ", library, name);
  }
  std::vector<ExportedFile> files{{"driver.h", library_text("driver.h")},
                                  {"library.h", library_text("library.h")},
                                  {"driver.cpp", library_text("driver.cpp")},
                                  {"table.cpp", library_text("table.cpp", {{"library", library},
                                                                           {"declarations", declarations},
                                                                           {"operators", list},
                                                                           {"archs", archs}})},
                                  {kLibraryModule, library_text("module.cpp", {{"library", library}})}};
  // What the exported launchers include of CUDA.
  for (const char* header : {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h"})
    files.push_back({header, "#include \"driver.h\"\n"});
  return files;
}

std::vector<ExportedFile> library_package(const Json& description) {
  const std::string name = description.at("name"), version = description.at("version");
  std::string operators;
  for (const Json& one : description.at("operators"))
    operators += fmt::format("| `{}` | {} | {} |\n", one.at("name").get<std::string>(),
                             one.at("definition").get<std::string>(),
                             fmt::join(one.at("images").get<std::vector<std::string>>(), ", "));
  return {
      {"pyproject.toml", library_text("pyproject.toml", {{"name", name}, {"version", version}})},
      {"alphakernel_build.py", library_text("alphakernel_build.py", {{"name", name}, {"version", version}})},
      {"README.md",
       library_text("README.md",
                    {{"name", name}, {"name_upper", upper_case(name)}, {"operators", operators}})},
      {name + "/__init__.py",
       library_text("__init__.py", {{"name", name}, {"name_upper", upper_case(name)}, {"version", version}})},
      {name + "/_operators.py", library_text("_operators.py")},
      {name + "/_patch.py", library_text("_patch.py")},
      {name + "/_attention.py", library_text("_attention.py")},
      {name + "/_losses.py", library_text("_losses.py")},
      {name + "/_quantised.py", library_text("_quantised.py")},
      {name + "/cmake/" + name + "-config.cmake", library_text("config.cmake", {{"name", name}})},
      {name + "/library.json", description.dump(1) + "\n"}};
}

}  // namespace ak::codegen
