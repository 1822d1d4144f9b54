// SPDX-License-Identifier: Apache-2.0
#include "db/read/named_queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"
#include "query_files.h"

namespace ak::db {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? ""
                                         : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

Cell integer_of(std::string_view text, std::string_view name) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty())
    fail(ExitCode::usage, "{}: expected an integer, got '{}'", name, text);
  return value;
}

/// "limit: most rows (integer, 20)"
QueryParameter parameter_of(std::string_view query, std::string_view line) {
  const std::size_t colon = line.find(':'), open = line.rfind('('), close = line.rfind(')');
  if (colon == std::string_view::npos || open == std::string_view::npos || close != line.size() - 1)
    fail(ExitCode::bad_input, "query {}: expected '-- name: help (type, default)', got '-- {}'", query, line);
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const std::string_view type = trimmed(inside.substr(0, inside.find(',')));
  const std::string_view value =
      inside.find(',') == std::string_view::npos ? "" : trimmed(inside.substr(inside.find(',') + 1));
  QueryParameter parameter{.name = std::string(trimmed(line.substr(0, colon))),
                           .help = std::string(trimmed(line.substr(colon + 1, open - colon - 1))),
                           .required = value == "required",
                           .value = {}};
  if (type != "text" && type != "integer")
    fail(ExitCode::bad_input, "query {}: the type of {} is '{}', expected text or integer", query,
         parameter.name, type);
  if (type == "integer") parameter.type = QueryParameter::Type::integer;
  if (parameter.required || value.empty()) return parameter;
  parameter.value = type == "integer" ? integer_of(value, parameter.name) : Cell(std::string(value));
  return parameter;
}

void put(std::vector<NamedQuery>& list, NamedQuery query) {
  const auto same = std::ranges::find(list, query.name, &NamedQuery::name);
  if (same == list.end())
    list.push_back(std::move(query));
  else
    *same = std::move(query);
}

}  // namespace

NamedQuery parse_named_query(std::string_view name, std::string_view text) {
  NamedQuery query{.name = std::string(name), .title = "", .sql = std::string(text), .parameters = {}};
  while (text.starts_with("--")) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(2, end - 2));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (query.title.empty())
      query.title = line;
    else
      query.parameters.push_back(parameter_of(name, line));
  }
  if (query.title.empty())
    fail(ExitCode::bad_input, "query {}: expected a title, '-- ...', in its first line", name);
  return query;
}

std::vector<NamedQuery> named_queries(const fs::path& folder) {
  std::vector<NamedQuery> list;
  for (const EmbeddedFile& file : query_files())
    put(list, parse_named_query(fs::path(file.name).stem().string(), file.text));
  if (!folder.empty() && fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".sql")
        put(list, parse_named_query(entry.path().stem().string(), read_file(entry.path())));
  }
  std::ranges::sort(list, {}, &NamedQuery::name);
  return list;
}

QueryValues query_values(const NamedQuery& query, std::span<const std::string> given) {
  QueryValues values;
  std::vector<std::string> names;
  for (const QueryParameter& parameter : query.parameters) {
    values[parameter.name] = parameter.value;
    names.push_back(parameter.name);
  }
  for (const std::string& text : given) {
    const std::string name = text.substr(0, text.find('='));
    const auto found = std::ranges::find(query.parameters, name, &QueryParameter::name);
    if (found == query.parameters.end() || text.find('=') == std::string::npos)
      fail(ExitCode::usage, "query {}: '{}' is not a parameter of it{}; expected NAME=VALUE with {}",
           query.name, name, did_you_mean(name, names),
           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    const std::string value = text.substr(name.size() + 1);
    values[name] = found->type == QueryParameter::Type::integer ? integer_of(value, name) : Cell(value);
  }
  for (const QueryParameter& parameter : query.parameters)
    if (parameter.required && std::holds_alternative<std::monostate>(values[parameter.name]))
      fail(ExitCode::usage, "query {} needs {}={}: {}", query.name, parameter.name,
           parameter.type == QueryParameter::Type::integer ? "NUMBER" : "TEXT", parameter.help);
  return values;
}

}  // namespace ak::db
