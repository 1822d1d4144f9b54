// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/setup/config.h"
#include "core/text/json.h"

namespace ak::operations {

/// A question to the database that takes longer is given up: who asked waits for the answer.
constexpr std::chrono::seconds kQueryTimeLimit{30};

/// What a value of a request or an answer is.
enum class ValueKind : std::uint8_t {
  text,
  integer,
  number,
  real,      ///< a number, or as text one that JSON has no numbers for: "inf", "-inf", "nan"
  flag,      ///< true or false
  table,     ///< an object of strings, integers and booleans: params, a shape
  integers,  ///< an object of integers
  numbers,   ///< an object of numbers
  cells,     ///< an array of numbers, texts and nulls: a row of a query
  object,    ///< of fields that are known
  any,       ///< JSON whose form another page defines
};

/// A member of a request. Its JSON Schema, its check and its place in the client libraries are made from this.
struct Parameter {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  std::string_view help;
  bool required = false;
  std::vector<std::string_view> choices = {};  ///< of a text; empty: any
  double minimum = 0, maximum = 0;             ///< of an integer or a number; equal: no bounds
  std::string_view fallback = {};  ///< JSON of the value where none is given; empty: there is none
};

/// Whether a field can be relied on.
enum class Presence : std::uint8_t {
  always,
  maybe,     ///< left out where there is nothing to say
  nullable,  ///< null where it is not known
};

/// A member of an answer or an event.
struct Field {
  std::string_view name;
  ValueKind kind = ValueKind::text;
  std::string_view help;
  std::string_view unit = {};  ///< "us", "bytes"; empty: none
  Presence presence = Presence::always;
  bool list = false;               ///< an array of such values
  std::string_view type = {};      ///< of an object: its name in the client libraries
  std::vector<Field> fields = {};  ///< of an object
};

/// What an operation touches.
struct Effects {
  bool reads_database = false;
  bool writes_database = false;
  bool writes_files = false;  ///< of the user, that may replace another where it is asked to
  bool uses_device = false;   ///< runs kernels
  bool takes_long = false;    ///< seconds to hours
};

/// What operations work with.
struct Context {
  app::Config config;
  std::filesystem::path database;
  std::string caller;            ///< who asks, e.g. "alphakernel mcp": stored with what is evaluated
  std::string command = {};      ///< stored instead: a whole command line; empty: caller and operation
  bool writes_anywhere = false;  ///< it may name any place to write to; else below the working directory
};

/// What is stored as the command of an evaluation that `asked` led to, e.g. "alphakernel mcp: evaluate".
[[nodiscard]] std::string command_of(const Context& context, std::string_view asked);

/// What happens on the way. Both are called on the thread that called the operation.
struct Callbacks {
  /// `event` is a name of all_events(), `data` has its fields.
  std::function<void(std::string_view event, const Json& data)> on_event = {};
  /// Set it from any thread to end a search early, with what it has found; other operations run to their end.
  /// Null: no one stops it. Not owned.
  const std::atomic<bool>* stop = nullptr;
};

struct Answer {
  Json content;  ///< an object with the operation's fields
  bool failed =
      false;  ///< it says what was wrong with the kernel that was asked about, or that none was found
};

/// Something that AlphaKernel can do for another program. Command line, MCP server, stdio interface, the C++
/// library and the Python client are doors to these, without logic of their own.
struct Operation {
  std::string_view name, title, summary;
  std::vector<Parameter> parameters = {};
  std::vector<Field> answer = {};
  std::vector<std::string_view> events = {};  ///< that it reports
  Effects effects = {};
  /// Blocks. The request was checked and has its fallbacks. Throws Error for what the caller or the
  /// environment did wrong.
  Answer (*run)(const Json& request, const Context& context, const Callbacks& callbacks) = nullptr;
};

/// In the order they are listed. Immutable, so threads may share them.
[[nodiscard]] std::span<const Operation> all_operations();
/// Null where there is none.
[[nodiscard]] const Operation* find_operation(std::string_view name);
/// The same. Throws Error(usage) with the nearest known name.
[[nodiscard]] const Operation& operation_named(std::string_view name);

struct Event {
  std::string_view name, type, help;  ///< `type`: its name in the client libraries
  std::vector<Field> fields;
};
[[nodiscard]] std::span<const Event> all_events();

/// Checks the request, adds the fallbacks and runs the operation. Blocks. Throws Error(usage) for a request
/// that is none, else as the operation.
[[nodiscard]] Answer call(const Operation& operation, const Json& request, const Context& context,
                          const Callbacks& callbacks = {});

// One function for each row; the files are named after what they are about.
[[nodiscard]] Answer list_problems(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer show_problem(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer new_problem(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer run_reference(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer show_devices(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer evaluate(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer search(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer tune(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer start_session(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer session_status(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer stop_session(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer explain(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer compare(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer compare_subjects(const Json& request, const Context& context,
                                      const Callbacks& callbacks);
[[nodiscard]] Answer time_baselines(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer profile(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer predict(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer occupancy(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer explain_failure(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer list_experiments(const Json& request, const Context& context,
                                      const Callbacks& callbacks);
[[nodiscard]] Answer list_insights(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer look_up_best(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer examine_machine(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer query_database(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer best_variants(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer show_kernel(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer save_kernel(const Json& request, const Context& context, const Callbacks& callbacks);
[[nodiscard]] Answer export_kernel(const Json& request, const Context& context, const Callbacks& callbacks);

}  // namespace ak::operations
