// SPDX-License-Identifier: Apache-2.0
// Parts of a coding agent's client; tests/tools/coding_agent_cli_test.cpp has the whole.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "agent/llm/coding_agent/agent_program.h"
#include "agent/llm/coding_agent/agent_usage.h"
#include "agent/llm/coding_agent/coding_agent_client.h"
#include "agent/llm/coding_agent/trial_files.h"
#include "agent/llm/llm_spending.h"
#include "core/error.h"
#include "tests/support/temporary_folder.h"

namespace ak::agent {
namespace {

using testing::TemporaryFolder;

void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

TEST_CASE("what agents print of their usage is counted, each in its own way") {
  const AgentUsage codex = printed_usage(
      "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":100,\"cached_input_tokens\":60,\"output_"
      "tokens\":7}}\nsome words\n{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":10,\"output_"
      "tokens\":1}}\n");
  CHECK(codex.tokens.input_tokens == 110);
  CHECK(codex.tokens.cached_tokens == 60);
  CHECK(codex.tokens.output_tokens == 8);
  CHECK(codex.tokens.reported);
  CHECK_FALSE(codex.cost_usd);
  const AgentUsage claude = printed_usage(
      "{\"type\":\"result\",\"total_cost_usd\":0.25,\"usage\":{\"input_tokens\":4,\"cache_creation_input_"
      "tokens\":100,\"cache_read_input_tokens\":50,\"output_tokens\":9}}");
  CHECK(claude.tokens.input_tokens == 154);
  CHECK(claude.tokens.cached_tokens == 50);
  CHECK(claude.tokens.cache_written_tokens == 100);
  CHECK(claude.cost_usd == 0.25);
}

TEST_CASE("the last words of an agent are its own, not the JSON around them") {
  CHECK(last_words("{\"type\":\"result\",\"is_error\":true,\"result\":\"Please run /login\"}", "warning\n") ==
        "Please run /login");
  CHECK(last_words("{\"item\":{\"text\":\"I tried\"}}\n{\"type\":\"turn.failed\",\"error\":{\"message\":\"no "
                   "network\"}}\n",
                   "Reading input") == "no network");
  CHECK(last_words("{\"item\":[],\"result\":7}\nwords\n", "") == "words");
  CHECK(last_words("words", "a\nTraceback: b \n\n") == "Traceback: b");
}

TEST_CASE("usage that cannot be is not believed") {
  CHECK_FALSE(printed_usage("{\"type\":\"result\",\"total_cost_usd\":-1,\"usage\":[]}").cost_usd);
  CHECK_FALSE(printed_usage("{\"type\":7,\"usage\":{\"input_tokens\":\"x\"}}").tokens.reported);
  CHECK_FALSE(printed_usage("no JSON at all").tokens.reported);
  const TemporaryFolder folder;
  CHECK_FALSE(written_usage(folder.path()));
  write(folder / "usage.json", "{\"input_tokens\": 3, \"output_tokens\": 2, \"cost_usd\": 1e300}");
  const auto usage = written_usage(folder.path());
  REQUIRE(usage);
  CHECK(usage->tokens.total() == 5);
  CHECK_FALSE(usage->cost_usd);
  std::filesystem::remove(folder / "usage.json");
  REQUIRE(::mkfifo((folder / "usage.json").c_str(), 0600) == 0);
  CHECK_FALSE(written_usage(folder.path()));
}

TEST_CASE("a known agent is told its folder, its server and what to do") {
  const std::vector<std::string> server{"/bin/ak", "mcp", "--agent", "/tmp/a \"b\""};
  const auto argv = agent_arguments(agent_program("codex", {}), "/tmp/a", server, {{"CACHE", "/c"}});
  const auto is = [&](const char* word) { return std::ranges::find(argv, word) != argv.end(); };
  CHECK(argv.front() == "codex");
  CHECK(is("/tmp/a"));
  CHECK(
      is("mcp_servers.alphakernel={command = \"/bin/ak\", args = [\"mcp\", \"--agent\", \"/tmp/a "
         "\\\"b\\\"\"], env = {\"CACHE\" = \"/c\"}, required = true, tool_timeout_sec = 700, "
         "default_tools_approval_mode = \"approve\"}"));
  CHECK(argv.back().find("question.md") != std::string::npos);
  const AgentProgram claude = agent_program("claude", {});
  CHECK(std::ranges::find(claude.environment, "CLAUDE_CODE_OAUTH_TOKEN") != claude.environment.end());
}

TEST_CASE("a known agent gets no key that this program uses, unless the configuration says so") {
  const auto gets = [](const char* name, const char* variable, const std::map<std::string, LlmCommand>& own) {
    const AgentProgram agent = agent_program(name, own);
    return std::ranges::find(agent.environment, variable) != agent.environment.end();
  };
  CHECK_FALSE(gets("claude", "ANTHROPIC_API_KEY", {}));
  CHECK_FALSE(gets("codex", "OPENAI_API_KEY", {}));
  const std::map<std::string, LlmCommand> own{{"claude", {.argv = {}, .environment = {"ANTHROPIC_API_KEY"}}}};
  CHECK(gets("claude", "ANTHROPIC_API_KEY", own));
  CHECK(gets("claude", "HOME", own));
  CHECK(agent_program("claude", own).argv.front() == "claude");
}

TEST_CASE("an entry of the configuration goes before a known agent, and any other name is a program") {
  const std::map<std::string, LlmCommand> own{
      {"codex", {.argv = {"mine", "{folder}"}, .environment = {"A"}}}};
  CHECK(agent_arguments(agent_program("codex", own), "/f", {"s"}, {}) ==
        std::vector<std::string>{"mine", "/f"});
  CHECK(agent_program("codex", own).environment == std::vector<std::string>{"A"});
  CHECK(agent_program("x.py", own).argv == std::vector<std::string>{"x.py"});
  CHECK(agent_program("./x.py", own).argv ==
        std::vector<std::string>{(std::filesystem::current_path() / "x.py").string()});
  CHECK_THROWS_AS(agent_program("", own), Error);
}

TEST_CASE("a kernel's source becomes an answer, and an answer stays one") {
  CHECK(as_answer("\n/* alphakernel\n{} */\n") == "```cuda\n/* alphakernel\n{} */\n\n```\n");
  CHECK(as_answer("words\n```cuda\n/* alphakernel") == "words\n```cuda\n/* alphakernel");
}

TEST_CASE("calls of tools are taken once, and what is no call is taken as one that says nothing") {
  const TemporaryFolder folder;
  TrialFiles files(folder.path());
  const auto trials = folder / "trials";
  write(trials / "2-1.ask.json", "{\"tool\": \"evaluate\", \"text\": \"x\"}");
  write(trials / "1-1.ask.json", "[1, 2");
  write(trials / "../evil.ask.json", "{}");
  write(trials / "words.ask.json", "{}");
  std::filesystem::create_symlink("/etc/passwd", trials / "3-1.ask.json");
  REQUIRE(::mkfifo((trials / "4-1.ask.json").c_str(), 0600) == 0);
  CHECK(files.take_new() == std::vector<std::string>{"1-1", "2-1", "3-1", "4-1"});
  CHECK(files.request_of("2-1")["tool"] == "evaluate");
  for (const char* none : {"1-1", "3-1", "4-1", "5-1"}) CHECK(files.request_of(none).is_null());
  CHECK(files.take_new().empty());
  CHECK_FALSE(files.flooded());
  CHECK(files.tell("2-1", {{"passed", true}}));
  std::filesystem::remove_all(trials);
  CHECK_FALSE(files.tell("2-1", {{"passed", true}}));
  CHECK_THROWS_WITH(ask_search(folder.path(), {{"tool", "evaluate"}}), Catch::Contains("question is over"));
}

TEST_CASE("what the search answers never leaves the question's folder") {
  const TemporaryFolder folder, elsewhere;
  const TrialFiles files(folder.path());
  std::filesystem::rename(folder / "trials", folder / "moved");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder / "trials");
  CHECK(files.tell("1-1", {{"passed", true}}));
  CHECK(std::filesystem::is_empty(elsewhere.path()));
  CHECK(std::filesystem::exists(folder / "moved/1-1.told.json"));
  CHECK_THROWS_AS(TrialFiles(folder.path()), Error);
}

TEST_CASE("a folder of calls that is flooded is not looked through") {
  const TemporaryFolder folder;
  TrialFiles files(folder.path());
  write(folder / "trials/0", "");
  for (std::size_t i = 1; i <= kMaxTrialEntries; ++i)
    static_cast<void>(::link((folder / "trials/0").c_str(), (folder / "trials" / std::to_string(i)).c_str()));
  static_cast<void>(files.take_new());
  CHECK(files.flooded());
}

TEST_CASE("calls beyond what is taken at once are taken at the next look") {
  const TemporaryFolder folder;
  TrialFiles files(folder.path());
  for (std::size_t i = 0; i < kMostTaken + 3; ++i)
    write(folder / "trials" / (std::to_string(i) + ".ask.json"), "{}");
  CHECK(files.take_new().size() == kMostTaken);
  CHECK(files.take_new().size() == 3);
  CHECK(files.take_new().empty());
}

TEST_CASE("all that a question may cost is reserved for it, however short it is") {
  Budgets budgets;
  budgets.max_cost_usd = 10;
  LlmSpending spending(budgets);
  ModelEntry agent{.provider = "agent", .name = "a"};
  agent.question_usd = 4;
  LlmRequest request{.model = "a", .system = "x", .messages = {}, .max_output_tokens = 5'000};
  const auto first = spending.reserve(agent, request), second = spending.reserve(agent, request);
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(spending.reserve(agent, request));
  spending.count(*first, {.text = "", .usage = {.input_tokens = 1}, .cost_usd = 1});
  CHECK(spending.reserve(agent, request));  // 1 + 4 + 4
  CHECK_FALSE(spending.reserve(agent, request));
  LlmSpending resumed(budgets, 7);
  CHECK(resumed.cost_usd() == 7);
  CHECK_FALSE(resumed.reserve(agent, request));
}

}  // namespace
}  // namespace ak::agent
