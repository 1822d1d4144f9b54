// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/setup/config.h"
#include "core/text/json.h"

namespace ak::mcp {

/// A question to the database that takes longer is given up: an agent waits for the answer.
constexpr std::chrono::seconds kQueryTimeLimit{30};

enum class ValueKind : std::uint8_t { text, integer, number, flag, table };

/// An argument of a tool. Its JSON Schema and its check are both made from this.
struct Parameter {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  std::string_view help;
  bool required = false;
  std::vector<std::string_view> choices = {};  ///< of a text; empty: any
  double minimum = 0, maximum = 0;             ///< of an integer or a number; equal: no bounds
};

/// What every tool works with.
struct ToolContext {
  tools::Config config;
  std::filesystem::path database;
};

/// What a tool answers: an object, sized for a model.
struct ToolAnswer {
  Json content;
  bool failed = false;  ///< it says what went wrong with what was asked
};

/// How a call is run.
enum class Lane : std::uint8_t {
  server,  ///< by the server itself, which alone knows the jobs
  quick,   ///< awaited
  job,     ///< awaited for some seconds, then a job that the client asks for
};

struct Tool {
  std::string_view name, title, description;
  std::vector<Parameter> parameters = {};
  Lane lane = Lane::quick;
  bool read_only = true;    ///< changes no file of the user's and no row of the database
  bool overwrites = false;  ///< may replace a file where it is asked to
  /// In a process of its own. Throws Error for what the caller or the environment did wrong.
  /// Null for Lane::server.
  ToolAnswer (*run)(const Json& arguments, const ToolContext& context) = nullptr;
};

/// In the order they are listed.
[[nodiscard]] std::span<const Tool> all_tools();
/// Null where there is none.
[[nodiscard]] const Tool* find_tool(std::string_view name);

/// As tools/list shows it.
[[nodiscard]] Json tool_json(const Tool& tool);
/// What is wrong with the arguments of a call; empty when nothing is.
[[nodiscard]] std::string argument_error(const Tool& tool, const Json& arguments);

// One function per tool; the files are named after what they are about.
[[nodiscard]] ToolAnswer list_problems(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer show_problem(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer show_devices(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer evaluate(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer profile(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer predict(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer explain_failure(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer query_database(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer best_variants(const Json& arguments, const ToolContext& context);
[[nodiscard]] ToolAnswer save_kernel(const Json& arguments, const ToolContext& context);

}  // namespace ak::mcp
