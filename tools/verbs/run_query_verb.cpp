// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "db/read/query_process.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

int run_query_of_parent(const app::Arguments&) {
  db::run_query_child(STDIN_FILENO, STDOUT_FILENO);
  return 0;
}

}  // namespace

const Verb kRunQueryVerb{"run-query", "", run_query_of_parent};

}  // namespace ak::tools
