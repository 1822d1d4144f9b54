// SPDX-License-Identifier: Apache-2.0
#include "tools/number_options.h"

#include <vector>

namespace ak::tools {
namespace {

/// "--output" of "-o,--output".
std::string shown_name(const std::string& names) {
  const std::size_t comma = names.rfind(',');
  return comma == std::string::npos ? names : names.substr(comma + 1);
}

template <class T>
T accepted(const Result<T>& number, const std::string& names) {
  if (!number) throw CLI::ValidationError(shown_name(names), number.error().message);
  return *number;
}

}  // namespace

CLI::Option* add_integer(CLI::App& app, const std::string& names, const IntegerRange& range, SetInteger set,
                         const std::string& help) {
  const auto read = [names, range, set = std::move(set)](const std::string& text) {
    set(accepted(parse_integer(text, range), names));
  };
  return app.add_option_function<std::string>(names, read, help)->type_name("INTEGER");
}

CLI::Option* add_integers(CLI::App& app, const std::string& names, const IntegerRange& range, SetInteger set,
                          const std::string& help) {
  const auto read = [names, range, set = std::move(set)](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) set(accepted(parse_integer(text, range), names));
  };
  return app.add_option_function<std::vector<std::string>>(names, read, help)->type_name("INTEGER");
}

CLI::Option* add_quantity(CLI::App& app, const std::string& names, const QuantityRange& quantity,
                          SetNumber set, const std::string& help) {
  const auto read = [names, quantity, set = std::move(set)](const std::string& text) {
    set(accepted(parse_quantity(text, quantity), names));
  };
  const char* type = quantity.kind == QuantityRange::Kind::time    ? "TIME"
                     : quantity.kind == QuantityRange::Kind::money ? "DOLLARS"
                     : quantity.kind == QuantityRange::Kind::size  ? "SIZE"
                                                                   : "NUMBER";
  return app.add_option_function<std::string>(names, read, help)->type_name(type);
}

}  // namespace ak::tools
