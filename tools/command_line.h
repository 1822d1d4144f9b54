// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/setup/arguments.h"
#include "codegen/problem/problem_catalog.h"
#include "tools/verb.h"

namespace ak::tools {

/// Parses `arguments`. Returns false when --help or --version was asked for and has been printed, or when command
/// lines are only described. Throws Error(usage) for a bad flag, with the nearest known one.
[[nodiscard]] bool parse(CLI::App& app, const app::Arguments& arguments);

/// Reads the flags that `app` declares, and leaves others for later: the part of parse() that needs no problem. Throws
/// Error(usage), and what CLI11 throws where help is asked for.
void parse_known(CLI::App& app, const app::Arguments& arguments);

/// The subcommands of a verb, such as `alphakernel model fit`, where each is its own function: runs the one
/// that the first argument names, with the other arguments, and returns its exit code. Prints `help` for --help.
/// Throws Error(usage) with the nearest one where the first argument is none of them.
[[nodiscard]] int run_subcommand(std::span<const Verb> subcommands, const std::string& help,
                                 const app::Arguments& arguments);

/// Prints what `--version` prints, for all programs.
void print_version();

/// What sees command lines while they are only described.
struct CommandLineObserver {
  std::function<void(const CLI::App&)> command;        ///< all its flags are declared
  std::function<void(const std::string&)> group_help;  ///< of a verb with run_subcommand()
};

/// While it lives, verbs of this thread describe their command lines and do nothing else: parse() calls the
/// observer and returns false, run_subcommand() runs every shown subcommand. One at a time.
class DescribeCommandLines {
 public:
  explicit DescribeCommandLines(CommandLineObserver observer);
  ~DescribeCommandLines();
  DescribeCommandLines(const DescribeCommandLines&) = delete;
  DescribeCommandLines& operator=(const DescribeCommandLines&) = delete;
  [[nodiscard]] static bool active();
};

/// Value of `--name VALUE` or `--name=VALUE` before the flags are declared; the last one wins. Empty without.
[[nodiscard]] std::string peek(const app::Arguments& arguments, const std::string& name);

/// A CLI::App with the house style: examples and exit codes in the footer.
void set_style(CLI::App& app, const std::string& examples);
/// A subcommand of `app` with examples of its own: CLI11 would give it those of `app`.
/// @param summary a sentence, for its own help; lists show it without its capital and its full stop
CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& summary,
                         const std::string& examples);

/// Flags naming a problem and its params, shared by generate, evaluate and problem check. The problem has to
/// be known before its params can be flags, so it is read from the arguments first.
class ProblemFlags {
 public:
  /// Adds --algorithm, --problem, --shape, and one flag per param of the problem that `arguments` name.
  /// `fallback` is used when they name none (a finished kernel file says what it was made for).
  ProblemFlags(CLI::App& app, const app::Arguments& arguments, const std::string& fallback = "");

  [[nodiscard]] bool given() const { return problem_.has_value(); }
  [[nodiscard]] const codegen::Problem& problem() const { return problem_.value(); }
  /// Call after parsing: a param or a shape was named.
  [[nodiscard]] bool chosen() const;
  /// Call after parsing. `defaults` are params that apply where no flag was given.
  [[nodiscard]] std::shared_ptr<const ProblemInstance> instance(const Params& defaults = {}) const;
  /// Call after parsing: `problem`, `params` and `shape` of an operation's request, as far as flags say them. The params
  /// of the kernel are for notes where a flag decides otherwise.
  [[nodiscard]] Json request(const Params& of_kernel) const;

 private:
  void add_param_flags(CLI::App& app);
  /// What flags say of the params. Throws Error(usage) where no problem is known.
  [[nodiscard]] std::map<std::string, std::string> given_params() const;
  /// `defaults` with what flags say above them.
  [[nodiscard]] Params chosen_params(const Params& defaults) const;
  /// Says where the kernel or a flag decided against the other, or against a default.
  void note_choices(const Params& of_kernel, const Params& chosen) const;
  std::string algorithm_, folder_;
  std::vector<std::string> shapes_;
  std::optional<codegen::Problem> problem_;
  std::map<std::string, std::string> values_;
  std::map<std::string, CLI::Option*> options_;
};

/// --python, for everything in this process that needs an interpreter. ProblemFlags has it, too.
CLI::Option* add_python_flag(CLI::App& app);

/// --unaudited, as require_audit() of app/audit/problem_audits.h takes it.
void add_unaudited_flag(CLI::App& app, bool& unaudited);

}  // namespace ak::tools
