// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/provider.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "agent/llm/api/recording.h"
#include "agent/llm/api/redact.h"
#include "core/error.h"
#include "core/text/file.h"
#include "tests/support/patience.h"

namespace ak::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("ak_llm_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

LlmRequest any_request() {
  return {.model = "m", .system = "SYSTEM", .messages = {{"user", "QUESTION"}}, .max_output_tokens = 100};
}

std::string input_error(const std::string& model, const LlmSettings& settings, ExitCode code) {
  try {
    static_cast<void>(open_model(model, settings));
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("a model was opened: " << model);
  return "";
}

TEST_CASE("a model's name says who answers, and what is wrong with it is said") {
  ::setenv("ANTHROPIC_API_KEY", "k-123456", 1);
  ::unsetenv("OPENAI_API_KEY");
  ::unsetenv("ANTHROPIC_BASE_URL");
  CHECK(open_model("anthropic:claude-opus-5-5", {}).entry.price->output == 20);
  CHECK_FALSE(open_model("anthropic:claude-unheard-of", {}).entry.price);
  CHECK(open_model("local:http://localhost:11434/v1#qwen", {}).entry.name == "qwen");
  CHECK_THAT(input_error("antropic:x", {}, ExitCode::usage), Catch::Contains("did you mean 'anthropic'"));
  CHECK_THAT(input_error("claude", {}, ExitCode::usage), Catch::Contains("PROVIDER:MODEL"));
  CHECK_THAT(input_error("anthropic:", {}, ExitCode::usage), Catch::Contains("name a model"));
  CHECK_THAT(input_error("openai:gpt-6.1-sol", {}, ExitCode::environment), Catch::Contains("OPENAI_API_KEY"));
  CHECK_THAT(input_error("local:http://example.com/v1", {}, ExitCode::usage),
             Catch::Contains("this machine only"));
  CHECK_THAT(input_error("command:x", {}, ExitCode::usage), Catch::Contains("llm_commands"));
  CHECK_THAT(input_error("replay:/no/such/file", {}, ExitCode::bad_input), Catch::Contains("/no/such/file"));
  ::setenv("ANTHROPIC_BASE_URL", "http://example.com", 1);
  static_cast<void>(input_error("anthropic:claude-opus-5-5", {}, ExitCode::usage));
  ::unsetenv("ANTHROPIC_BASE_URL");
}

TEST_CASE("a key comes from the environment or from a file that only its owner may read") {
  Folder folder;
  const fs::path file = folder.path / "key";
  write_file_atomically(file, "file-key-1234\n");
  const Provider provider{.name = "p", .key_variable = "AK_TEST_KEY"};
  LlmSettings settings;
  settings.key_files["p"] = file;
  ::unsetenv("AK_TEST_KEY");
  ::chmod(file.c_str(), 0644);
  CHECK_THROWS_WITH(find_key(provider, settings), Catch::Contains("chmod 600"));
  ::chmod(file.c_str(), 0600);
  CHECK(find_key(provider, settings) == "file-key-1234");
  ::setenv("AK_TEST_KEY", " environment-key ", 1);
  CHECK(find_key(provider, settings) == "environment-key");
  settings.providers = {provider};
  CHECK(std::ranges::count(configured_keys(settings), "environment-key") == 1);
  ::unsetenv("AK_TEST_KEY");
}

TEST_CASE("exchanges are not recorded into a pipe, which would wait for its reader") {
  const Folder folder;
  const fs::path pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(RecordingClient(nullptr, pipe), Catch::Contains("it is a pipe"));
}

TEST_CASE("a user's models file is laid over the shipped one and names its mistakes") {
  Folder folder;
  const fs::path file = folder.path / "models.json";
  write_file_atomically(file, R"([{"provider":"anthropic","source":"me","models":[{"name":"claude-opus-5-5",
      "usd_per_million":{"input":1,"output":2}}]},
      {"provider":"local","source":"me","models":[{"name":"q","stream":false}]}])");
  const ModelCatalog catalog = ModelCatalog::with_file(file);
  const ModelEntry opus = catalog.of("anthropic", "claude-opus-5-5");
  CHECK(opus.context_tokens == 1'000'000);
  const LlmUsage usage{.input_tokens = 1'000'000, .output_tokens = 500'000, .reported = true};
  CHECK(*opus.cost_usd(usage) == Approx(2));
  CHECK_FALSE(catalog.of("local", "q").stream);
  CHECK_FALSE(catalog.of("local", "q").cost_usd(usage));
  write_file_atomically(file, R"({"provider":"x","source":"me","models":[{"name":"q","prise":1}]})");
  CHECK_THROWS_WITH(ModelCatalog::with_file(file),
                    Catch::Contains("models.json") && Catch::Contains("prise"));
}

TEST_CASE("what is in the cache costs what the cache costs") {
  const ModelEntry entry = ModelCatalog::with_file("").of("anthropic", "claude-opus-5-5");
  const LlmUsage usage{.input_tokens = 3'000'000,
                       .cached_tokens = 1'000'000,
                       .cache_written_tokens = 1'000'000,
                       .output_tokens = 1'000'000,
                       .reported = true};
  CHECK(*entry.cost_usd(usage) == Approx(4 + 0.2 + 5 + 20));
}

LlmReply ask_command(const std::vector<std::string>& argv,
                     std::chrono::milliseconds timeout = testing::kPatience) {
  LlmSettings settings;
  settings.commands["c"] = {.argv = argv, .environment = {"AK_SEEN", "PATH"}, .timeout = timeout};
  return open_model("command:c", settings).client->ask(any_request(), nullptr);
}

TEST_CASE("a command gets the prompt, answers, and sees no variable that its entry does not list") {
  ::setenv("AK_SEEN", "visible", 1);
  ::setenv("AK_HIDDEN", "hidden", 1);
  const LlmReply reply = ask_command({"sh", "-c", "cat; echo; env"});
  REQUIRE(reply.ok());
  CHECK(reply.text.find("SYSTEM") < reply.text.find("QUESTION"));
  CHECK(reply.text.find("AK_SEEN=visible") != std::string::npos);
  CHECK(reply.text.find("hidden") == std::string::npos);
  CHECK(reply.usage.total() > 0);
}

TEST_CASE("a command that fails, says nothing, hangs or is not there is a failure") {
  LlmReply reply = ask_command({"sh", "-c", "echo no such model >&2; exit 3"});
  REQUIRE(reply.failure);
  CHECK(reply.failure->message.find("no such model") != std::string::npos);
  CHECK(ask_command({"true"}).failure->fault == LlmFault::malformed);
  CHECK(ask_command({"/no/such/program"}).failure->fault == LlmFault::no_model);
  CHECK(ask_command({"sh", "-c", "sleep 3600 & sleep 3600"}, 50ms).failure->fault == LlmFault::timeout);
  CHECK(ask_command({"sh", "-c", "cat /dev/zero"}).failure->fault == LlmFault::cut_short);
}

TEST_CASE("a command that is cancelled ends with all it started") {
  Folder folder;
  const fs::path file = folder.path / "started";
  LlmSettings settings;
  settings.commands["c"] = {.argv = {"sh", "-c", "touch " + file.string() + "; sleep 3600"},
                            .environment = {"PATH"}};
  std::atomic<bool> cancelled{false};
  const LlmModel model = open_model("command:c", settings);
  auto asking = std::async(std::launch::async, [&] { return model.client->ask(any_request(), &cancelled); });
  CHECK(testing::in_the_end([&] { return fs::exists(file); }));
  cancelled = true;
  CHECK(asking.get().failure->fault == LlmFault::cancelled);
}

TEST_CASE("what was recorded is replayed in order, failures too, and then it is exhausted") {
  Folder folder;
  const fs::path script = folder.path / "script.jsonl", record = folder.path / "record.jsonl";
  write_file_atomically(
      script,
      "{\"reply\":{\"text\":\"one\",\"input_tokens\":7,\"output_tokens\":3,\"cost_usd\":0.5}}\n\n"
      "{\"reply\":{\"failure\":{\"fault\":\"overloaded\",\"message\":\"full\"}}}\n"
      "{\"reply\":{\"text\":\"three\",\"stop\":\"length\"}}\n");
  LlmSettings settings;
  settings.record_to = record;
  const LlmModel model = open_model("replay:" + script.string(), settings);
  for (int i = 0; i < 3; ++i) static_cast<void>(model.client->ask(any_request(), nullptr));
  ReplayClient again(record);
  const LlmReply one = again.ask(any_request(), nullptr);
  CHECK(one.text == "one");
  CHECK(one.usage.total() == 10);
  CHECK(one.cost_usd == 0.5);
  CHECK(again.ask(any_request(), nullptr).failure->fault == LlmFault::overloaded);
  CHECK(again.ask(any_request(), nullptr).stop == LlmStop::length);
  CHECK(again.ask(any_request(), nullptr).failure->fault == LlmFault::exhausted);
  CHECK(parse_json(read_file(record).substr(0, read_file(record).find('\n')))["request"]["system"] ==
        "SYSTEM");
  write_file_atomically(script, "{\"reply\":{\"text\":1}}\n");
  CHECK_THROWS_WITH(ReplayClient(script), Catch::Contains("script.jsonl:1"));
  write_file_atomically(script, "{\"reply\":{\"output_tokens\":9223372036854775807}}\n");
  CHECK_THROWS_WITH(ReplayClient(script), Catch::Contains("output_tokens: expected an integer from 0"));
}

TEST_CASE("keys are redacted wherever they are, and words stay") {
  const std::vector<std::string> secrets{"topsecret"};
  CHECK(redact("a topsecret b topsecret", secrets) == "a [redacted] b [redacted]");
  CHECK(redact("key sk-" + std::string(24, 'x') + "!") == "key [redacted]!");
  CHECK(redact("\"Authorization: Bearer abc.def/ghi+jkl\"") == "\"Authorization: Bearer [redacted]\"");
  CHECK(redact("AIzaSyA-1234567890_abcdefghijk") == "[redacted]");
  CHECK(redact("task-specific mask-0123456789abcdef sk-short Bearer of") ==
        "task-specific mask-0123456789abcdef sk-short Bearer of");
}

TEST_CASE("text for a prompt is valid UTF-8 without controls") {
  CHECK(clean_text("a\x1b[31mred\x1b[0m\tb\r\nc\x07\x7f") == "ared\tb\nc");
  CHECK(clean_text("\xc3\xa9 \xf0\x9f\x98\x80 \xff \xc3 \xed\xa0\x80") ==
        "\xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("waits grow, are shortened by chance, and give way to what the server asks for") {
  const RetryPolicy policy;
  const LlmFailure busy{LlmFault::overloaded, ""};
  CHECK(retry_delay(policy, 1, busy, {}, 0) == 500ms);
  CHECK(retry_delay(policy, 3, busy, {}, 0) == 2000ms);
  CHECK(retry_delay(policy, 3, busy, {}, 0.999) < 1510ms);
  RetryPolicy many;
  many.max_attempts = 1000;
  CHECK(retry_delay(many, 900, busy, {}, 0) == many.longest);
  CHECK_FALSE(retry_delay(policy, policy.max_attempts, busy, {}, 0));
  CHECK(retry_delay(policy, 1, busy, {{"retry-after", "7"}}, 0.5) == 7000ms);
  CHECK(retry_delay(policy, 1, busy, {{"retry-after-ms", "30"}, {"retry-after", "7"}}, 0) == 30ms);
  CHECK(retry_delay(policy, 1, busy, {{"retry-after", "soon"}}, 0) == 500ms);
  CHECK_FALSE(retry_delay(policy, 1, busy, {{"retry-after", "86400"}}, 0));
  CHECK_FALSE(retry_delay(policy, 1, busy, {{"x-should-retry", "false"}}, 0));
  CHECK_FALSE(retry_delay(policy, 1, {LlmFault::quota, ""}, {{"x-should-retry", "true"}}, 0));
  CHECK(retry_delay(policy, 1, {LlmFault::rejected, ""}, {{"x-should-retry", "true"}}, 0));
  const auto now = std::chrono::system_clock::from_time_t(784'111'777);  // Sun, 06 Nov 1994 08:49:37 GMT
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now) == 10s);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now) == 0s);
  CHECK(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", now) > 24h * 365 * 8'000);
  CHECK_FALSE(parse_retry_after("tomorrow", now));
}

}  // namespace
}  // namespace ak::agent
