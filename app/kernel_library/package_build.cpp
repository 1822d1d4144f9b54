// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "app/export/kernel_export.h"
#include "app/kernel_library/package_compile.h"
#include "app/kernel_library/package_image.h"
#include "app/kernel_library/package_reading.h"
#include "app/setup/assembler.h"
#include "codegen/emit/emit.h"
#include "codegen/library/kernel_library.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "db/database.h"
#include "db/read/table_rows.h"
#include "runtime/process/scratch_folder.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kQueryLimit{60'000};
constexpr int kFormatVersion = 1;

std::shared_ptr<const ProblemInstance> instance_of(const PackageOrder& order, const PackageEntry& entry) {
  const codegen::Problem found = problem_of_package(order.problems, entry.problem);
  return codegen::instantiate(found, codegen::choose_params(found, entry.params));
}

std::shared_ptr<const ProblemInstance> instance_of(const PackageOrder& order, const KernelChoice& kernel) {
  if (kernel.problem.empty())
    fail(ExitCode::usage, "{} does not say which problem it is of", kernel.candidate.name);
  const codegen::Problem problem = problem_of_package(order.problems, kernel.problem);
  std::map<std::string, std::string> given;  // a file need not name those that have the default
  for (const auto& [name, value] : kernel.params) given[name] = to_string(value);
  return codegen::instantiate(problem, codegen::choose_params(problem, given));
}

/// An operator as far as it was made.
struct MadeOperator {
  std::string name;
  std::shared_ptr<const ProblemInstance> problem;
  ExportChoice choice;
  codegen::LibraryOperator files;
  std::vector<codegen::ExportedFile> images;  ///< machine code, as `library check` reads it
};

/// Functions of every package (codegen/library/texts/__init__.py.in).
constexpr std::array<std::string_view, 10> kOfPackage{
    "available", "choice", "description",         "forget_prepared", "patch",
    "prepare",   "served", "quantize_from_float", "replace_linear",  "unpatch"};

void check_name(const std::string& name) {
  std::string why = codegen::name_objection(name);
  if (std::ranges::find(kOfPackage, name) != kOfPackage.end())
    why = "every library has a function of this name";
  if (!why.empty()) fail(ExitCode::usage, "the operator's name '{}': {}", name, why);
}

std::string operator_name(const PackageEntry& entry, const ProblemInstance& problem) {
  const std::string name = entry.name.empty() ? codegen::export_name(problem.definition) : entry.name;
  check_name(name);
  return name;
}

/// A shape of a plan, where it has one, has a size for every axis of the definition that varies, and no other.
void check_axes(const PackageEntry& entry, const ProblemInstance& problem) {
  std::vector<std::string> wanted;
  for (const Axis& axis : problem.definition.axes)
    if (axis.varies()) wanted.push_back(axis.name);
  std::ranges::sort(wanted);
  for (const Json& axes : entry.axes) {
    std::vector<std::string> given;
    for (const auto& [name, size] : axes.items()) given.push_back(name);
    std::ranges::sort(given);
    if (!given.empty() && given != wanted)
      fail(ExitCode::usage, "its axes are {}; expected {}", fmt::join(given, ", "), fmt::join(wanted, ", "));
  }
}

/// What a plan's file says wrong is said with its place there.
std::shared_ptr<const ProblemInstance> checked_problem(const PackageOrder& order, const PackageEntry& entry) {
  try {
    auto problem = instance_of(order, entry);
    static_cast<void>(operator_name(entry, *problem));
    check_axes(entry, *problem);
    return problem;
  } catch (const Error& error) {
    if (entry.place.empty() || error.code() != ExitCode::usage) throw;
    fail(ExitCode::bad_input, "{}: {}", entry.place, error.what());
  }
}

std::vector<Arch> targets_of(const PackageOrder& order, const ExportChoice& choice, const std::string& name) {
  if (!order.archs.empty()) return order.archs;
  if (!choice.stored)
    fail(ExitCode::usage, "{}: this kernel was never evaluated here: name its targets with --arch", name);
  return {choice.stored->arch};
}

/// The names of a set's members by their number.
Json member_names(const ExportChoice& choice, const fs::path& database) {
  Json names = Json::array();
  if (!choice.stored) return names;
  const db::Table members =
      db::query(database,
                "SELECT m.number, v.name FROM kernel_members m JOIN variants v ON v.id = m.member "
                "WHERE m.variant = :variant AND m.member <> m.variant ORDER BY m.number",
                0, kQueryLimit, {{"variant", choice.stored->variant}});
  for (const db::TableRow& row : db::rows_of(members))
    names.push_back(fs::path(row.text("name")).filename().string());
  return names;
}

/// Where, and how long each shape took.
Json measured_json(const ExportChoice& choice, const fs::path& database) {
  if (!choice.stored) return nullptr;
  const db::EvaluatedVariant& stored = *choice.stored;
  Json times = Json::array();
  for (const Measurement& m : stored.result.measurements)
    if (m.role == MeasurementRole::candidate && m.cold)
      times.push_back({{"shape", m.workload},
                       {"median_us", m.median_ns / 1e3},
                       {"estimated", m.method == kEmulatedMethod}});
  return {{"device", stored.device.name},
          {"variant", stored.variant},
          {"key", key_of_variant(database, stored.variant)},
          {"program", stored.version},
          {"times", times}};
}

/// Machine code for the targets; what cannot be built for one of several is noted.
codegen::LibraryKernel built_for(const MadeOperator& made, const std::vector<Arch>& archs,
                                 const Config& config, std::vector<std::string>& notes) {
  codegen::LibraryKernel kernel{.name = made.name,
                                .problem = *made.problem,
                                .candidate = made.choice.kernel.candidate,
                                .builds = {},
                                .archs = {}};
  for (const Arch& arch : archs) {
    try {
      kernel.builds.push_back(built_kernel(made.problem, made.choice.kernel.candidate, arch, config));
      kernel.archs.push_back(arch);
    } catch (const Error& failure) {
      if (failure.code() != ExitCode::bad_input || archs.size() == 1) throw;
      notes.push_back(fmt::format("{} is not built for {}: {}", made.name, arch.sm(), failure.what()));
    }
  }
  if (kernel.builds.empty()) fail(ExitCode::no_kernel, "{} builds for none of the targets", made.name);
  return kernel;
}

MadeOperator made_operator(const PackageOrder& order, const PackageEntry& entry, const Config& config,
                           std::vector<std::string>& notes) {
  MadeOperator made;
  made.choice = export_choice(entry.kernel, order.device, order.database);
  const KernelChoice& kernel = made.choice.kernel;
  made.problem = entry.problem.empty() ? instance_of(order, kernel) : instance_of(order, entry);
  made.name = operator_name(entry, *made.problem);
  const codegen::LibraryKernel built =
      built_for(made, targets_of(order, made.choice, made.name), config, notes);
  Result<codegen::LibraryOperator> files = codegen::library_operator(built, order.name);
  if (!files) fail(ExitCode::no_kernel, "{} can be no operator: {}", made.name, files.error().message);
  made.files = *std::move(files);
  for (std::size_t i = 0; i < built.builds.size(); ++i)
    made.images.push_back({image_path(made.name, built.archs[i]), image_text(built.builds[i])});
  made.files.description["members"] = member_names(made.choice, order.database);
  made.files.description["measured"] = measured_json(made.choice, order.database);
  made.files.description["plan_shapes"] = entry.axes;
  return made;
}

void write_files(const fs::path& folder, const std::vector<codegen::ExportedFile>& files) {
  for (const codegen::ExportedFile& file : files) {
    const fs::path path = folder / file.path;
    make_package_folder(path.parent_path());
    write_file_atomically(path, file.text);
  }
}

std::vector<std::string> compiled_names(const std::vector<codegen::ExportedFile>& files) {
  std::vector<std::string> names;
  for (const codegen::ExportedFile& file : files)
    if (file.path.ends_with(".cpp") && file.path != codegen::kLibraryModule) names.push_back(file.path);
  return names;
}

/// lib<name>.so with the operators, and the module for Python beside it.
void compile_launcher(const PackageOrder& order, const std::vector<MadeOperator>& operators,
                      const std::string& archs, const fs::path& package) {
  const runtime::ScratchFolder scratch;
  std::vector<std::string> names;
  for (const MadeOperator& made : operators) names.push_back(made.name);
  std::vector<codegen::ExportedFile> sources = codegen::library_sources(order.name, names, archs);
  write_files(scratch.path(), sources);
  std::vector<std::string> compiled = compiled_names(sources);
  for (const MadeOperator& made : operators) {
    for (const auto* list : {&made.files.sources, &made.files.headers, &made.files.images})
      write_files(scratch.path(), *list);
    for (const std::string& name : compiled_names(made.files.sources)) compiled.push_back(name);
  }
  const PackageCompiler compiler(order.compiler);
  std::vector<std::string> all = compiled;
  all.emplace_back(codegen::kLibraryModule);
  compiler.compile(scratch.path(), all);
  make_package_folder(package);
  const std::string library = fmt::format("lib{}.so", order.name);
  compiler.link(scratch.path(), compiled, package / library,
                {fmt::format("-Wl,-soname,{}", library), "-static-libstdc++", "-static-libgcc", "-ldl"});
  compiler.link(scratch.path(), {codegen::kLibraryModule}, package / "_launcher.abi3.so",
                {(package / library).string(), "-Wl,-rpath,$ORIGIN", "-static-libstdc++", "-static-libgcc"});
}

/// Operators of one kernel are one, with the other names as aliases.
bool joined(std::vector<MadeOperator>& operators, const PackageEntry& entry,
            const std::vector<std::string>& words, const std::string& word) {
  const auto known = std::ranges::find(words, word);
  if (known == words.end() || entry.problem.empty()) return false;
  check_name(entry.name);
  MadeOperator& made = operators[static_cast<std::size_t>(known - words.begin())];
  Json& description = made.files.description;
  if (entry.name != made.name) description["aliases"].push_back(entry.name);
  for (const Json& axes : entry.axes) description["plan_shapes"].push_back(axes);
  return true;
}

/// The other names of an operator count, too.
void check_different(const std::vector<MadeOperator>& operators) {
  std::map<std::string, std::string> owners;
  for (const MadeOperator& made : operators) {
    std::vector<std::string> names = made.files.description.value("aliases", std::vector<std::string>{});
    names.push_back(made.name);
    for (const std::string& name : names) {
      const auto [owner, added] = owners.emplace(name, made.name);
      if (!added && (owner->second != made.name || name == made.name))
        fail(ExitCode::usage,
             "two operators are called {}: {} and {}; give one another name: --kernel OTHER=FILE", name,
             owner->second, made.name);
    }
  }
}

std::vector<MadeOperator> made_operators(const PackageOrder& order, const Config& config, BuiltPackage& built,
                                         const std::function<void(const std::string&)>& progress) {
  std::vector<MadeOperator> operators;
  std::vector<std::string> words;
  for (const PackageEntry& entry : order.entries) {
    if (entry.kernel.empty()) {
      built.missing.push_back(entry);
      continue;
    }
    if (joined(operators, entry, words, entry.kernel)) continue;
    MadeOperator made = made_operator(order, entry, config, built.notes);
    progress(
        fmt::format("{}: {} for {}", made.name, made.choice.kernel.candidate.name,
                    fmt::join(made.files.description.at("images").get<std::vector<std::string>>(), ", ")));
    operators.push_back(std::move(made));
    words.push_back(entry.kernel);
  }
  check_different(operators);
  return operators;
}

/// Patched attention that is to learn is computed by kernels forwards and backwards, or not at all.
void note_lonely_gradients(const std::vector<MadeOperator>& operators, std::vector<std::string>& notes) {
  const auto param = [](const Json& one, const char* name) { return one["params"].value(name, Json()); };
  const auto is_forward_of = [&](const Json& one, const Json& backward) {
    const auto same = [&](const char* name) { return param(one, name) == param(backward, name); };
    return one["algorithm"] == "flash_attention" && param(one, "layout") == "heads" && same("dtype") &&
           same("head_dim") && same("causal");
  };
  for (const MadeOperator& made : operators) {
    const Json& backward = made.files.description;
    if (backward["algorithm"] != "attention_backward") continue;
    const bool alone = std::ranges::none_of(operators, [&](const MadeOperator& other) {
      return is_forward_of(other.files.description, backward);
    });
    if (alone)
      notes.push_back(
          fmt::format("{}: models that learn call it only beside a flash_attention of the same dtype, "
                      "head_dim and causal in "
                      "the layout of heads, which the library has not: name one with --kernel",
                      made.name));
  }
}

Json description_of(const PackageOrder& order, const std::vector<MadeOperator>& operators) {
  Json json{{"format", kPackageFormat},
            {"format_version", kFormatVersion},
            {"name", order.name},
            {"version", order.version},
            {"program", std::string("AlphaKernel ") + AK_VERSION},
            {"operators", Json::array()}};
  for (const MadeOperator& made : operators) json["operators"].push_back(made.files.description);
  return json;
}

std::string all_archs(const Json& description) {
  std::vector<std::string> names;
  for (const Json& one : description.at("operators"))
    for (const Json& arch : one.at("images"))
      if (std::ranges::find(names, arch.get<std::string>()) == names.end()) names.push_back(arch);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Of every file of a package its hash, by its path there: what is changed later is seen.
Json hashes_of(const fs::path& folder) {
  Json hashes = Json::object();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().filename() != "library.json")
      hashes[fs::relative(entry.path(), folder).generic_string()] = sha256_hex(read_file(entry.path()));
  return hashes;
}

}  // namespace

std::vector<PackageEntry> without_kernel(PackageOrder& order) {
  std::vector<PackageEntry> missing;
  for (PackageEntry& entry : order.entries) {
    if (!entry.kernel.empty()) continue;
    const auto problem = checked_problem(order, entry);
    try {
      entry.kernel = best_variant_of(problem->definition.name, order.device, order.database);
    } catch (const Error& none) {
      if (none.code() != ExitCode::usage && none.code() != ExitCode::database) throw;
      missing.push_back(entry);
    }
  }
  return missing;
}

BuiltPackage build_package(const PackageOrder& order, PackageFolder& folder, const Config& config,
                           const std::function<void(const std::string&)>& progress) {
  BuiltPackage built;
  const std::vector<MadeOperator> operators = made_operators(order, config, built, progress);
  if (operators.empty()) fail(ExitCode::no_kernel, "there is no kernel for any operator of the library");
  note_lonely_gradients(operators, built.notes);
  built.description = description_of(order, operators);
  const fs::path package = folder.made() / order.name;
  progress("compiling the launcher");
  compile_launcher(order, operators, all_archs(built.description), package);
  write_files(folder.made(), codegen::library_package(built.description));
  for (const MadeOperator& made : operators) {
    write_files(package, {{fmt::format("kernels/{}.cu", made.name),
                           codegen::emit_kernel(*made.problem, made.choice.kernel.candidate)}});
    write_files(package / "include", made.files.headers);
    write_files(folder.made(), made.images);  // beside what pip packs: only checks read them
    if (!made.files.reference.empty())
      write_files(package, {{fmt::format("references/{}.py", made.name), made.files.reference}});
  }
  built.description["files"] = hashes_of(folder.made());
  write_file_atomically(package / "library.json", built.description.dump(1) + "\n");
  folder.publish();
  return built;
}

}  // namespace ak::app
