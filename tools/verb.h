// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "app/setup/arguments.h"

namespace ak::tools {

/// One word of the command line: `alphakernel NAME ...`. One file per subcommand in tools/verbs/.
struct Verb {
  std::string_view name;
  std::string_view summary;                ///< one line for `alphakernel --help`; empty hides it
  int (*run)(const Arguments& arguments);  ///< returns the exit code; ak::Error is caught by main
};

int run_generate(const Arguments& arguments);
int run_session(const Arguments& arguments);
int run_tune(const Arguments& arguments);
int run_evaluate(const Arguments& arguments);
int run_profile(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_compare(const Arguments& arguments);
int run_export(const Arguments& arguments);
int run_exchange(const Arguments& arguments);
int run_problem(const Arguments& arguments);
int run_experiment(const Arguments& arguments);
int run_selfcheck(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_model(const Arguments& arguments);
int run_simulate(const Arguments& arguments);
int run_space(const Arguments& arguments);
int run_best(const Arguments& arguments);
int run_knowledge(const Arguments& arguments);
int run_dashboard(const Arguments& arguments);
int run_db(const Arguments& arguments);
int run_query(const Arguments& arguments);
int run_report(const Arguments& arguments);
int run_algorithms(const Arguments& arguments);
int run_audit(const Arguments& arguments);  ///< `alphakernel algorithms audit ...`
int run_devices(const Arguments& arguments);
int run_mcp(const Arguments& arguments);
int run_doctor(const Arguments& arguments);
int run_worker(const Arguments& arguments);

[[nodiscard]] std::span<const Verb> verbs();

}  // namespace ak::tools
