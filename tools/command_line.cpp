// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/locations.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "tools/choice_options.h"
#include "tools/manual/help_text.h"
#include "tools/option_groups.h"

namespace ak::tools {
namespace {

void name_python(const std::string& program) {
  Locations here = locations();
  here.python = program;
  set_locations(std::move(here));
}

std::vector<std::string> known_flags(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

[[noreturn]] void refuse_extra(const CLI::App& app, const std::string& extra) {
  const std::string flag = extra.substr(0, extra.find('='));
  if (flag.starts_with('-')) {
    const auto is_missing = [&](const char* name) {
      const CLI::Option* option = app.get_option_no_throw(name);
      return option != nullptr && option->count() == 0;
    };
    const bool of_problem = is_missing("--algorithm") && is_missing("--problem");
    fail(ExitCode::usage, "unknown flag '{}'{} ({}--help lists the flags)", flag,
         did_you_mean(flag, known_flags(app)),
         of_problem ? "parameters of a problem need --algorithm NAME or --problem DIR; " : "");
  }
  std::vector<std::string> subcommands;
  for (const CLI::App* sub : app.get_subcommands({})) subcommands.push_back(sub->get_name());
  if (!subcommands.empty() && app.get_subcommands().empty()) refuse_word("subcommand", extra, subcommands);
  fail(ExitCode::usage, "unexpected argument '{}' (--help shows the usage)", extra);
}

std::string version_line() { return "alphakernel " AK_VERSION; }

void add_version_flag(CLI::App& app) {
  app.set_version_flag("--version", version_line(), "print the version and exit");
  for (CLI::App* sub : app.get_subcommands({})) add_version_flag(*sub);
}

std::vector<std::string> shown_names(std::span<const Verb> subcommands) {
  std::vector<std::string> names;
  for (const Verb& one : subcommands)
    if (!one.summary.empty()) names.emplace_back(one.name);
  return names;
}

/// Of the subcommand that was named, else of the app itself.
std::string help_of(const CLI::App& app) {
  const CLI::App* named = &app;
  std::string name = app.get_name();
  while (!named->get_subcommands().empty()) {
    named = named->get_subcommands().front();
    name += " " + named->get_name();
  }
  return help_text(describe(*named, name), help_columns());
}

thread_local std::optional<CommandLineObserver> observer;

std::string flag_name(const std::string& param) {
  std::string flag = "--" + param;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string choices_text(const ParamSpec& param) {
  std::vector<std::string> words;
  for (const Value& choice : param.choices) words.push_back(to_string(choice));
  if (param.type == ParamType::boolean) return "true or false";
  if (words.empty())
    return fmt::format("{} to {}", param.minimum.value_or(1), param.maximum.value_or(INT64_MAX));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string peek(const app::Arguments& arguments, const std::string& name) {
  std::string value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == name && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].rfind(name + "=", 0) == 0) value = arguments[i].substr(name.size() + 1);
  }
  return value;
}

void set_style(CLI::App& app, const std::string& examples) {
  app.footer(examples + "\nExit codes: docs/exit_codes.md");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.allow_extras();
}

CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& summary,
                         const std::string& examples) {
  CLI::App* const subcommand = app.add_subcommand(name, summary);
  set_style(*subcommand, examples);
  return subcommand;
}

void print_version() { fmt::print("{}\n", version_line()); }

DescribeCommandLines::DescribeCommandLines(CommandLineObserver seen) {
  AK_ASSERT(!observer, "command lines are described by one at a time");
  observer = std::move(seen);
}

DescribeCommandLines::~DescribeCommandLines() { observer.reset(); }

bool DescribeCommandLines::active() { return observer.has_value(); }

int run_subcommand(std::span<const Verb> subcommands, const std::string& help,
                   const app::Arguments& arguments) {
  if (observer) {
    observer->group_help(help);
    for (const Verb& one : subcommands) {
      if (!one.summary.empty()) one.run({});
    }
    return 0;
  }
  const std::string word = arguments.empty() ? "" : arguments.front();
  if (word == "--version") {
    print_version();
    return 0;
  }
  if (word == "--help" || word == "-h") {
    fmt::print("{}", help);
    return 0;
  }
  const auto found = std::ranges::find(subcommands, word, &Verb::name);
  if (found == subcommands.end()) refuse_word("subcommand", word, shown_names(subcommands));
  return found->run({arguments.begin() + 1, arguments.end()});
}

void parse_known(CLI::App& app, const app::Arguments& arguments) {
  try {
    app::Arguments reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes a vector from the back
    app.parse(reversed);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::RequiredError& error) {
    // What is written wrong is more likely the mistake than what is absent.
    if (const auto extras = app.remaining(true); !extras.empty()) refuse_extra(app, extras.front());
    fail(ExitCode::usage, "{} (--help shows the usage)", error.what());
  } catch (const CLI::ParseError& error) {
    fail(ExitCode::usage, "{} (--help shows the usage)", error.what());
  }
}

bool parse(CLI::App& app, const app::Arguments& arguments) {
  add_version_flag(app);
  if (observer) {
    observer->command(app);
    return false;
  }
  try {
    parse_known(app, arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_of(app));
    return false;
  } catch (const CLI::CallForVersion&) {
    print_version();
    return false;
  }
  if (const auto extras = app.remaining(true); !extras.empty()) refuse_extra(app, extras.front());
  return true;
}

CLI::Option* add_python_flag(CLI::App& app) {
  return app.add_option_function<std::string>(
      "--python", name_python,
      "interpreter with PyTorch for a problem whose reference is a Python "
      "file (default: $ALPHAKERNEL_PYTHON, or the first that is found)");
}

ProblemFlags::ProblemFlags(CLI::App& app, const app::Arguments& arguments, const std::string& fallback) {
  const std::string group(kProblemGroup);
  const auto add = [&](const char* name, auto& value, const char* help) {
    app.add_option(name, value, help)->group(group);
  };
  add("--algorithm", algorithm_,
      "algorithm that kernels are for (alphakernel algorithms lists them). Its parameters, as --dtype, are "
      "flags, too: add --algorithm NAME to --help");
  add("--problem", folder_, "folder of your own problem (alphakernel problem new makes one)");
  add("--shape", shapes_,
      "a shape instead of the problem's own ones, e.g. M=4096,N=1000; searches take several");
  add_python_flag(app)->group(group);
  std::string name = peek(arguments, "--algorithm");
  const std::string folder = peek(arguments, "--problem");
  if (!name.empty() && !folder.empty()) fail(ExitCode::usage, "give --algorithm or --problem, not both");
  if (!folder.empty()) {
    problem_ = codegen::load_problem(folder);
  } else if (!name.empty()) {
    problem_ = codegen::load_problem(codegen::find_problem(name));
  } else if (!fallback.empty()) {
    problem_ = codegen::load_problem(codegen::find_problem_of_kernel(fallback));
  }
  if (problem_) add_param_flags(app);
}

void ProblemFlags::add_param_flags(CLI::App& app) {
  for (const ParamSpec& param : problem_->params) {
    std::string flag = flag_name(param.name);
    if (flag != "--" + param.name) flag += ",--" + param.name;
    const std::string help =
        fmt::format("{} ({}; default {})", param.help, choices_text(param), to_string(param.default_value));
    CLI::Option* option =
        app.add_option(flag, values_[param.name], help)->group("Parameters of " + problem_->name);
    if (param.type == ParamType::boolean) option->expected(0, 1)->default_str("true");
    options_[param.name] = option;
  }
}

bool ProblemFlags::chosen() const {
  return !shapes_.empty() ||
         std::ranges::any_of(options_, [](const auto& entry) { return entry.second->count() > 0; });
}

std::map<std::string, std::string> ProblemFlags::given_params() const {
  if (!problem_)
    fail(ExitCode::usage,
         "say what to write: --algorithm NAME (alphakernel algorithms lists them) or --problem DIR");
  std::map<std::string, std::string> given;
  for (const auto& [name, option] : options_) {
    if (option->count() == 0) continue;
    const std::string& text = values_.at(name);
    given[name] = text.empty() ? "true" : text;  // a bare --causal
  }
  return given;
}

Params ProblemFlags::chosen_params(const Params& defaults) const {
  std::map<std::string, std::string> given = given_params();
  for (const auto& [name, value] : defaults) given.try_emplace(name, to_string(value));
  const Params chosen = codegen::choose_params(*problem_, given);
  note_choices(defaults, chosen);
  return chosen;
}

std::shared_ptr<const ProblemInstance> ProblemFlags::instance(const Params& defaults) const {
  const Params chosen = chosen_params(defaults);
  auto instance = codegen::instantiate(*problem_, chosen);
  return shapes_.empty() ? instance : codegen::with_shapes(*instance, shapes_);
}

Json ProblemFlags::request(const Params& of_kernel) const {
  // Says where a flag decides against the kernel.
  static_cast<void>(chosen_params(of_kernel));
  Json request = Json::object();
  const std::string& named = folder_.empty() ? algorithm_ : folder_;
  if (!named.empty()) request["problem"] = named;
  for (const auto& [name, text] : given_params()) request["params"][name] = text;
  if (shapes_.empty()) return request;
  if (shapes_.size() > 1)
    fail(ExitCode::usage, "--shape: this command takes one, not {}; searches take several", shapes_.size());
  request["shape"] = Json::object();
  for (const auto& [axis, size] : codegen::parse_shape(shapes_.front())) request["shape"][axis] = size;
  return request;
}

void ProblemFlags::note_choices(const Params& of_kernel, const Params& chosen) const {
  for (const ParamSpec& param : problem_->params) {
    const auto own = of_kernel.find(param.name);
    if (own == of_kernel.end()) continue;
    const Value& value = chosen.at(param.name);
    if (options_.at(param.name)->count() > 0) {
      if (to_string(value) != to_string(own->second))
        print_stderr("note: {} is {}, as its flag says; the kernel says it was made for {}\n", param.name,
                     to_string(value), to_string(own->second));
    } else if (value != param.default_value) {
      print_stderr("note: {} is {}, as the kernel says, and not the default {}; {} chooses another\n",
                   param.name, to_string(value), to_string(param.default_value), flag_name(param.name));
    }
  }
}

void add_unaudited_flag(CLI::App& app, bool& unaudited) {
  app.add_flag("--unaudited", unaudited,
               "use the problem although no audit shows that its checks notice mistakes (stored)");
}

}  // namespace ak::tools
