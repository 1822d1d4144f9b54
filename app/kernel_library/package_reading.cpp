// SPDX-License-Identifier: Apache-2.0
#include "app/kernel_library/package_reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/evaluate/kernel_choice.h"
#include "app/kernel_library/package_folder.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/format_version.h"
#include "core/text/hash.h"
#include "db/database.h"
#include "db/read/table_rows.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kKeyLimit{60'000};

/// library.json of the one package in the folder.
fs::path description_file(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "library.json")) found.push_back(entry.path() / "library.json");
  if (found.size() != 1)
    fail(ExitCode::bad_input,
         "{} has no package: expected the folder that `alphakernel library build --output` wrote, with "
         "library.json in a folder below it",
         folder.string());
  return found.front();
}

Json read_description(const fs::path& file) {
  Json json = try_parse_json(read_file(file));
  if (!says_format(json, kPackageFormat))
    fail(ExitCode::bad_input, "{} is no \"{}\"", file.string(), kPackageFormat);
  if (json.value("format_version", Json(1)) != Json(1))
    fail(ExitCode::bad_input, "{} has version {}; this AlphaKernel reads 1: update AlphaKernel",
         file.string(), json.at("format_version").dump());
  return json;
}

/// The row that it was packed from; the database has to have it.
RowId variant_of(const PackagedKernel& kernel, const fs::path& database) {
  const Json& measured = kernel.description.at("measured");
  if (measured.is_null()) return 0;
  if (!measured.contains("key"))
    fail(ExitCode::bad_input,
         "{} was packed by a version that kept neither keys nor images: build the library again",
         kernel.name);
  const RowId variant = measured.at("variant");
  if (!fs::exists(database) || key_of_variant(database, variant) != measured.at("key").get<std::string>())
    fail(ExitCode::bad_input,
         "{} is not in {}: this package was built from another database; name that one with --db",
         kernel.name, database.string());
  return variant;
}

void read_kernel(PackagedKernel& kernel, const fs::path& source, const std::vector<fs::path>& problems,
                 const fs::path& database) {
  const codegen::Problem problem =
      problem_of_package(problems, kernel.description.at("algorithm").get<std::string>());
  kernel.problem = codegen::instantiate(
      problem, codegen::choose_params(problem, param_texts(kernel.description.at("params"))));
  const KernelChoice choice = kernel.variant > 0 ? kernel_of_variant(database, std::to_string(kernel.variant))
                                                 : kernel_of_file(source.string());
  kernel.candidate = choice.candidate;
}

void read_times(PackagedKernel& kernel) {
  const Json& measured = kernel.description.at("measured");
  if (measured.is_null()) return;
  for (const Json& time : measured.at("times")) {
    kernel.stored_us[time.at("shape")] = time.at("median_us");
    kernel.estimated = time.at("estimated");
  }
}

PackagedKernel kernel_of(const Json& description, const fs::path& package,
                         const std::vector<fs::path>& problems, const fs::path& database) {
  PackagedKernel kernel;
  kernel.description = description;
  kernel.name = description.at("name");
  kernel.variant = variant_of(kernel, database);
  read_times(kernel);
  try {
    read_kernel(kernel, package / "kernels" / (kernel.name + ".cu"), problems, database);
  } catch (const Error& fault) {
    if (fault.code() == ExitCode::database) throw;
    kernel.fault = fault.what();
  }
  return kernel;
}

/// What of the package is not as it was built: path -> why. Empty of one that says nothing of its files.
std::map<std::string, std::string> changed_files(const fs::path& folder, const Json& description) {
  std::map<std::string, std::string> changed;
  const Json none = Json::object();
  const Json& files = description.contains("files") ? description.at("files") : none;
  for (const auto& [path, hash] : files.items()) {
    std::error_code error;
    if (!fs::is_regular_file(folder / path, error))
      changed[path] = "is missing";
    else if (sha256_hex(read_file(folder / path)) != hash.get<std::string>())
      changed[path] = "changed since it was built";
  }
  return changed;
}

/// Of an operator alone: its source, reference, header and machine code.
bool is_of(const std::string& path, const std::string& package, const std::string& kernel) {
  const fs::path file(path);
  if (file.parent_path() == fs::path("images")) return path.starts_with("images/" + kernel + ".");
  for (const char* kind : {"kernels", "references"})
    if (file.parent_path() == fs::path(package) / kind && file.stem() == kernel) return true;
  return false;
}

/// What belongs to no single operator, but for what people read, is needed by all of them.
void note_changes(ReadPackage& package) {
  for (const auto& [path, why] : changed_files(package.folder, package.description)) {
    const std::string text = fmt::format("{} {}", path, why);
    bool known = false;
    for (PackagedKernel& kernel : package.kernels)
      if (is_of(path, package.name, kernel.name)) kernel.fault = text, known = true;
    if (!known && path == "README.md") package.notes.push_back(text);
    for (PackagedKernel& kernel : package.kernels)
      if (!known && path != "README.md") kernel.fault = text;
  }
}

std::string device_of(const ReadPackage& package) {
  for (const PackagedKernel& kernel : package.kernels)
    if (const Json& measured = kernel.description.at("measured"); !measured.is_null())
      return measured.at("device");
  return "";
}

}  // namespace

std::map<std::string, std::string> param_texts(const Json& params) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : params.items())
    texts[name] = value.is_string() ? value.get<std::string>() : value.dump();
  return texts;
}

fs::path own_problem(const std::vector<fs::path>& folders, const std::string& name) {
  const auto found = std::ranges::find_if(
      folders, [&](const fs::path& folder) { return codegen::load_problem(folder).name == name; });
  return found == folders.end() ? fs::path() : *found;
}

codegen::Problem problem_of_package(const std::vector<fs::path>& folders, const std::string& name) {
  const fs::path own = own_problem(folders, name);
  return codegen::load_problem(own.empty() ? codegen::find_problem(name) : own);
}

std::string key_of_variant(const fs::path& database, RowId variant) {
  const db::Table found = db::query(database, "SELECT variant_hash FROM variants WHERE id = :variant", 1,
                                    kKeyLimit, {{"variant", variant}});
  const auto rows = db::rows_of(found);
  return rows.empty() ? "" : rows.front().text("variant_hash");
}

ReadPackage read_package(const fs::path& folder, const std::vector<fs::path>& problems,
                         const fs::path& database) {
  const fs::path file = description_file(folder);
  ReadPackage package{.folder = folder,
                      .description = read_description(file),
                      .name = {},
                      .device = {},
                      .kernels = {},
                      .notes = {}};
  try {
    package.name = package.description.at("name");
    for (const Json& one : package.description.at("operators"))
      package.kernels.push_back(kernel_of(one, file.parent_path(), problems, database));
    package.device = device_of(package);
    note_changes(package);
  } catch (const Json::exception& broken) {
    fail(ExitCode::bad_input, "{} lacks a field, or has one of another type: {}", file.string(),
         broken.what());
  }
  return package;
}

}  // namespace ak::app
