// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/report/report_tables.h"

#include <map>

#include "report_table_files.h"

namespace ak::pages {

void keep_report_tables(db::Reader& reader) {
  std::map<std::string_view, std::string_view> ordered;  // by the number that each name begins with
  for (const EmbeddedFile& file : report_table_files()) ordered.emplace(file.name, file.text);
  for (const auto& [file, select] : ordered) {
    const std::size_t begin = file.find('_') + 1;
    reader.keep(std::string(file.substr(begin, file.rfind('.') - begin)), select);
  }
}

}  // namespace ak::pages
