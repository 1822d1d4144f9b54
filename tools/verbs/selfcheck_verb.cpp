// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "app/audit/selfcheck.h"
#include "core/error.h"
#include "core/text/json.h"
#include "core/text/print_stderr.h"
#include "core/text/suggest.h"
#include "core/text/terminal.h"
#include "tools/command_line.h"
#include "tools/number_options.h"
#include "verb_table.h"

namespace ak::tools {
namespace {

constexpr const char* kSelfcheckExamples =
    "Examples:\n"
    "  alphakernel selfcheck\n"
    "  alphakernel selfcheck --device emulator --rows 5,8 --samples 0\n"
    "  alphakernel selfcheck --only r09 --no-templates --json\n\n"
    "Exits with 9 when a cheat is missed, or stopped by another gate than its own, or a correct template is\n"
    "rejected. See docs/trust.md.\n";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string gate_text(const Outcome& outcome) {
  return outcome.gate ? std::string(to_string(*outcome.gate)) : std::string("no gate");
}

std::string comment(const app::ExploitReport& report) {
  const app::ExpectedEnd& expected = report.exploit.expected;
  switch (report.verdict) {
    case app::SelfcheckVerdict::not_applicable:
      return expected.not_applicable;
    case app::SelfcheckVerdict::caught:
      return std::string(to_string(*expected.gate));
    default:
      return fmt::format("expected {}, got {} at {}: {}", to_string(*expected.gate),
                         to_string(report.outcome.status), gate_text(report.outcome),
                         first_line(report.outcome.message));
  }
}

bool is_fine(app::SelfcheckVerdict verdict) {
  return verdict == app::SelfcheckVerdict::caught || verdict == app::SelfcheckVerdict::not_applicable;
}

void print_rows(const app::SelfcheckReport& report) {
  std::map<int, std::map<app::SelfcheckVerdict, int>> rows;
  for (const app::ExploitReport& each : report.exploits) ++rows[each.exploit.row][each.verdict];
  fmt::print("\n{:>4}{:>8}{:>8}{:>12}{:>9}{:>16}\n", "row", "caught", "missed", "other gate", "unclear",
             "not applicable");
  for (auto& [row, count] : rows) {
    fmt::print("{:>4}{:>8}{:>8}{:>12}{:>9}{:>16}\n", row, count[app::SelfcheckVerdict::caught],
               count[app::SelfcheckVerdict::missed], count[app::SelfcheckVerdict::other_gate],
               count[app::SelfcheckVerdict::unclear], count[app::SelfcheckVerdict::not_applicable]);
  }
}

void print_text(const app::SelfcheckReport& report) {
  for (const app::ExploitReport& each : report.exploits) {
    fmt::print("{} {:>2} {:<32}{:<15}{}\n", is_fine(each.verdict) ? ' ' : '!', each.exploit.row,
               each.exploit.name, to_string(each.verdict), comment(each));
  }
  if (!report.exploits.empty()) print_rows(report);
  std::size_t rejected = 0, skipped = 0;
  for (const app::TemplateReport& each : report.templates) {
    skipped += each.skipped;
    if (each.passed) continue;
    ++rejected;
    fmt::print("! {} {} {}: {} at {}: {}\n", each.definition, each.file, each.tunables,
               to_string(each.outcome.status), gate_text(each.outcome), first_line(each.outcome.message));
  }
  if (!report.templates.empty())
    fmt::print("\n{} honest kernels: {} rejected, {} not for this device or these shapes\n",
               report.templates.size(), rejected, skipped);
}

Json gate_json(const std::optional<Gate>& gate) { return gate ? Json(to_string(*gate)) : Json(); }

Json exploit_json(const app::ExploitReport& each) {
  const app::ExpectedEnd& expected = each.exploit.expected;
  Json behind = Json::array();
  for (const Gate gate : expected.behind) behind.push_back(to_string(gate));
  return {{"exploit", each.exploit.name},
          {"row", each.exploit.row},
          {"title", each.exploit.title},
          {"algorithm", each.exploit.algorithm},
          {"gate", gate_json(expected.gate)},
          {"behind", behind},
          {"no_proof", expected.no_proof},
          {"not_applicable", expected.not_applicable},
          {"verdict", to_string(each.verdict)},
          {"status", expected.gate ? Json(to_string(each.outcome.status)) : Json()},
          {"stopped_by", gate_json(each.outcome.gate)},
          {"message", sanitize(each.outcome.message)},
          {"score_ns", each.score_ns ? Json(*each.score_ns) : Json()},
          {"honest_ns", each.honest_ns ? Json(*each.honest_ns) : Json()}};
}

Json report_json(const app::SelfcheckReport& report, const app::Target& target) {
  Json exploits = Json::array(), templates = Json::array();
  for (const app::ExploitReport& each : report.exploits) exploits.push_back(exploit_json(each));
  for (const app::TemplateReport& each : report.templates) {
    templates.push_back({{"definition", each.definition},
                         {"file", each.file},
                         {"tunables", each.tunables},
                         {"status", to_string(each.outcome.status)},
                         {"stopped_by", gate_json(each.outcome.gate)},
                         {"message", each.outcome.message},
                         {"skipped", each.skipped},
                         {"passed", each.passed}});
  }
  return {{"device", target.device ? target.device->name : ""},
          {"kind", to_string(target.kind)},
          {"arch", target.arch.sm()},
          {"passed", report.passed()},
          {"exploits", exploits},
          {"templates", templates}};
}

void show_progress(std::size_t done, std::size_t all) {
  if (obeys_sequences(STDERR_FILENO)) set_stderr_block({fmt::format("{} of {}", done, all)});
}

std::optional<Gate> gate_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto gate = parse_gate(name);
  if (gate) return gate;
  std::vector<std::string> names;
  for (const GateInfo& each : gates()) names.emplace_back(each.name);
  fail(ExitCode::usage, "there is no gate '{}'{}", name, did_you_mean(name, names));
}

struct SelfcheckFlags {
  app::SelfcheckOptions options;
  std::string arch, device, gate;
  std::optional<std::size_t> lookalikes;
  bool json = false, no_exploits = false, no_templates = false;
};

void add_selfcheck_flags(CLI::App& app, SelfcheckFlags& flags) {
  app.add_option("--arch,--target", flags.arch, "what to compile for (default: native)");
  app.add_option("--device", flags.device, "where to run: auto, cuda, cuda:N, emulator");
  add_integers(
      app, "--rows", {.min = 1, .max = 1000},
      [&flags](std::int64_t row) { flags.options.rows.push_back(static_cast<int>(row)); },
      "rows of the table of cheats, e.g. 1,2 (default: all)")
      ->delimiter(',');
  app.add_option("--only", flags.options.only, "parts of the names of the cheats to try, e.g. r09,nan")
      ->delimiter(',');
  app.add_option("--gate", flags.gate, "only the cheats that this gate is to stop");
  add_integer(app, "--samples", {.min = 0, .max = 10'000}, into(flags.options.samples),
              "points of each template in addition to its defaults (default: 1)");
  add_integer(app, "--lookalikes", {.min = 0, .max = 10'000}, into(flags.lookalikes),
              "honest kernels that look like cheats to try (default: all; none with --no-templates)");
  add_integer(app, "--seed", kAnyNumber, into(flags.options.seed), "seed of inputs and samples (default: 1)");
  app.add_flag("--no-exploits", flags.no_exploits, "only honest kernels");
  app.add_flag("--no-templates", flags.no_templates, "only the cheats");
  app.add_flag("--json", flags.json, "print JSON");
}

app::SelfcheckOptions options_of(const SelfcheckFlags& flags) {
  app::SelfcheckOptions options = flags.options;
  options.gate = gate_named(flags.gate);
  options.exploits = !flags.no_exploits;
  options.templates = !flags.no_templates;
  options.lookalikes = flags.lookalikes.value_or(flags.no_templates ? 0 : options.lookalikes);
  return options;
}

int run_selfcheck(const app::Arguments& arguments) {
  CLI::App app{
      "Try known cheats and honest kernels on this machine: every cheat must be stopped by its gate, every "
      "honest kernel must pass, those that look like cheats and the shipped templates.",
      "alphakernel selfcheck"};
  set_style(app, kSelfcheckExamples);
  SelfcheckFlags flags;
  add_selfcheck_flags(app, flags);
  if (!parse(app, arguments)) return 0;
  const app::SelfcheckOptions options = options_of(flags);
  const app::Config config = app::load_config();
  const app::Target target = app::choose_target(flags.device.empty() ? config.device : flags.device,
                                                flags.arch.empty() ? config.arch : flags.arch);
  if (!target.executes() || !target.device)
    fail(ExitCode::usage, "--device {}: a self-check has to run somewhere: cuda or emulator", flags.device);
  if (!target.notice.empty()) print_stderr("note: {}\n", target.notice);
  const app::SelfcheckReport report = run_selfcheck(target, config, options, show_progress);
  if (obeys_sequences(STDERR_FILENO)) set_stderr_block({});
  flags.json ? fmt::print("{}\n", report_json(report, target).dump()) : print_text(report);
  return static_cast<int>(report.passed() ? ExitCode::ok : ExitCode::audit);
}

}  // namespace

const Verb kSelfcheckVerb{"selfcheck", "try known cheats and honest kernels on this machine", run_selfcheck,
                          kProblemVerbs};

}  // namespace ak::tools
