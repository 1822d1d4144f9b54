// SPDX-License-Identifier: Apache-2.0
#include "app/evaluate/kernel_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "app/compare/compared_subject.h"
#include "codegen/emit/emit.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/problem/problem_files.h"
#include "core/error.h"
#include "core/text/data_files.h"
#include "core/text/file.h"
#include "db/database.h"
#include "db/read/lineage.h"
#include "db/read/table_rows.h"
#include "db/store/stored_candidate.h"

namespace ak::app {
namespace {

Params params_of(const Json& json) {
  Params params;
  if (!json.is_object()) return params;
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) params[name] = value.get<std::string>();
    if (value.is_number_integer()) params[name] = value.get<std::int64_t>();
    if (value.is_boolean()) params[name] = static_cast<std::int64_t>(value.get<bool>());
  }
  return params;
}

constexpr std::chrono::seconds kBestLimit{60};
constexpr std::size_t kMinPrefix = 4;  // digits of a key; fewer are typing errors
constexpr std::string_view kResult = ".result.json";
constexpr std::string_view kVariant = "variant:";

/// The word without "variant:".
std::string without_kind(const std::string& word) {
  return word.starts_with(kVariant) ? word.substr(kVariant.size()) : word;
}

bool is_prefix(const std::string& word) {
  return word.size() >= kMinPrefix && word.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// What a search ended with.
KernelChoice kernel_of_search(const std::filesystem::path& database, const std::string& word) {
  const ComparedSubject subject = find_subject(database, word);
  const auto stats = db::search_stats(database, std::stoll(subject.name)).value();
  if (!stats.best_variant)
    fail(ExitCode::no_kernel, "search {} ended without a verified kernel ({})", subject.name, stats.status);
  return kernel_of_variant(database, std::to_string(*stats.best_variant));
}

KernelChoice kernel_of_prefix(const std::filesystem::path& database, const std::string& prefix) {
  const auto found = db::variants_of_prefix(database, prefix);
  if (found.empty())
    fail(ExitCode::usage, "no variant in {} has a key that begins with {}", database.string(), prefix);
  if (found.size() > 1)
    fail(ExitCode::usage, "several variants have keys that begin with {}: {}; give more of it, or the number",
         prefix, fmt::join(found, ", "));
  return kernel_of_variant(database, std::to_string(found.front()));
}

/// Whatever their order.
bool has_tunables(const Json& written, const TunableValues& tunables) {
  try {
    return written.get<TunableValues>() == tunables;
  } catch (const Json::exception&) {
    return false;
  }
}

/// The variant that a run found, by its k.result.json; nothing where there is none, or it is
/// of another database.
std::optional<RowId> variant_of_result(const std::filesystem::path& file,
                                       const std::filesystem::path& database) {
  if (!std::filesystem::exists(file) || !std::filesystem::exists(database)) return std::nullopt;
  const Json json = try_parse_json(read_file(file));
  if (!json.is_object() || !json.contains("best") || !json["best"].is_object()) return std::nullopt;
  const Json& best = json["best"];
  if (!best.contains("variant") || !best["variant"].is_number_integer()) return std::nullopt;
  const auto variant = best["variant"].get<RowId>();
  const auto stored = db::find_candidate(database, variant);
  const bool same = stored && best.value("template", Json()) == Json(stored->name) &&
                    has_tunables(best.value("tunables", Json()), stored->tunables);
  return same ? std::optional(variant) : std::nullopt;
}

/// The file that a run writes of a variant; empty where its problem is none of the shipped.
/// @param file says which problem it was written for
std::string text_of(const KernelChoice& found, const KernelChoice& file) {
  try {
    const codegen::Problem problem = codegen::load_problem(codegen::find_problem(file.problem));
    std::map<std::string, std::string> params;
    for (const auto& [name, value] : file.params) params[name] = ak::to_string(value);
    return codegen::emit_kernel(*codegen::instantiate(problem, codegen::choose_params(problem, params)),
                                found.candidate);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

bool names_kernel(const std::string& given) {
  const std::string word = without_kind(given);
  return is_variant(word) || is_prefix(word) || word.ends_with(".cu") || word.ends_with(kResult) ||
         subject_kind(word) == SubjectKind::search;
}

KernelChoice choose_kernel(const std::string& given, const std::filesystem::path& database) {
  const std::string word = without_kind(given);
  if (word.ends_with(".cu")) return kernel_of_file(word);
  if (word.ends_with(kResult)) {
    if (const Json json = try_parse_json(read_file(word)); !json.is_object() || !json.contains("best"))
      fail(ExitCode::bad_input, "{}: no result of a search; expected the k.result.json that one wrote", word);
    const auto variant = variant_of_result(word, database);
    if (!variant) fail(ExitCode::usage, "{} is not a variant of {}", word, database.string());
    return kernel_of_variant(database, std::to_string(*variant));
  }
  if (subject_kind(word) == SubjectKind::search) return kernel_of_search(database, word);
  // Few keys begin with so many decimal digits, and no database has so many rows.
  constexpr std::size_t kMaxDigits = 9;
  if (is_variant(word) && word.size() <= kMaxDigits) return kernel_of_variant(database, word);
  if (is_prefix(word)) return kernel_of_prefix(database, word);
  fail(ExitCode::usage, "'{}' is no kernel; expected {}", given, kKernelForms);
}

std::optional<RowId> known_variant(const std::filesystem::path& database, const KernelChoice& choice,
                                   const std::string& file, const std::string& definition) {
  if (choice.variant || !std::filesystem::exists(database)) return choice.variant;
  const std::filesystem::path path(file);
  const auto written =
      variant_of_result(path.parent_path() / (path.stem().string() + std::string(kResult)), database);
  if (written &&
      choice.candidate.source == text_of(kernel_of_variant(database, std::to_string(*written)), choice))
    return written;
  return db::find_variant(database, choice.candidate.variant_hash(), definition);
}

KernelChoice kernel_of_source(const std::string& name, const std::string& source) {
  Result<Candidate> parsed = parse_candidate(name, source);
  if (!parsed) fail(ExitCode::bad_input, "{}:{}: {}", name, parsed.error().line, parsed.error().message);
  const LaunchPlan& plan = parsed->plan;
  return {.candidate = *parsed, .problem = plan.problem, .params = params_of(plan.params), .variant = {}};
}

KernelChoice kernel_of_file(const std::string& path) {
  const std::filesystem::path file(path);
  const bool shipped = is_compiled_in(file);
  return kernel_of_source(path, shipped
                                    ? codegen::read_problem_file(file.parent_path(), file.filename().string())
                                    : read_file(file));
}

KernelChoice kernel_of_variant(const std::filesystem::path& database, const std::string& variant) {
  const auto stored = db::find_candidate(database, std::stoll(variant));
  if (!stored)
    fail(ExitCode::usage,
         "there is no variant {} in {} (alphakernel query \"SELECT id, name FROM variants\")", variant,
         database.string());
  Result<Candidate> parsed = parse_candidate(stored->name, stored->source);
  if (!parsed) fail(ExitCode::bad_input, "variant {}: {}", variant, parsed.error().message);
  Candidate candidate = std::move(parsed).value();
  candidate.tunables = stored->tunables.get<TunableValues>();
  candidate.headers = stored->headers;
  return {.candidate = std::move(candidate),
          .problem = stored->problem,
          .params = params_of(stored->params),
          .variant = std::stoll(variant)};
}

std::optional<RowId> best_variant(const std::filesystem::path& database, const std::string& definition,
                                  const std::string& device, const std::string& arch) {
  const db::Table best = db::query(
      database,
      fmt::format("SELECT variant FROM best_kernels WHERE definition = :definition AND "
                  "instr(lower(device), lower(:device)) > 0 AND :arch IN ('', arch) ORDER BY {} LIMIT 1",
                  kBestFirst),
      1, kBestLimit, {{"definition", definition}, {"device", device}, {"arch", arch}});
  for (const db::TableRow& row : db::rows_of(best)) return row.integer("variant");
  return std::nullopt;
}

bool is_variant(const std::string& word) {
  constexpr std::size_t kMaxDigits = 18;  // of a row number
  return !word.empty() && word.size() <= kMaxDigits &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace ak::app
