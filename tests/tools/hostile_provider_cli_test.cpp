// SPDX-License-Identifier: Apache-2.0
// Providers, names and rows that are wrong or hostile, as a user meets them: the whole program against real sockets.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "core/text/shown_text.h"
#include "db/database.h"
#include "tests/agent/llm/hostile_modes.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using namespace ak::agent::test;

namespace {

Script answer(const std::string& bytes) { return {.pieces = {{bytes}}}; }

/// The sandbox of a user who has a key for local servers.
struct BoxWithKey : Sandbox {
  BoxWithKey() { environment["ALPHAKERNEL_LOCAL_KEY"] = kHostileKey; }
};

std::string model_at(const std::string& url) { return "local:" + url + "/v1#m"; }

ProgramResult generate(Sandbox& box, const std::string& model, const std::string& proposer) {
  return box.generate({"--model", model, "--proposer", proposer, "--quiet"});
}

bool has_part_of_key(const std::string& text) {
  constexpr std::size_t kPart = 12;
  for (std::size_t at = 0; at + kPart <= kHostileKey.size(); ++at)
    if (text.find(kHostileKey.substr(at, kPart)) != std::string::npos) return true;
  return false;
}

/// Nothing that was printed or written holds the key, and nothing that was printed holds what a terminal obeys.
void check_harmless(const Sandbox& box, const ProgramResult& result) {
  for (const std::string& text : {result.out, result.err}) {
    CHECK_FALSE(has_part_of_key(text));
    CHECK(shown_text(text) == text);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(box.folder.path())) {
    INFO(entry.path().string());
    if (entry.is_regular_file()) CHECK_FALSE(has_part_of_key(read_file(entry.path())));
  }
}

const std::string kWrongKey =
    response(401, Json{{"error", {{"message", "no such key: " + kHostileKey + kEscapes}}}}.dump());

}  // namespace

TEST_CASE("a key that is wrong is noticed before anything runs, and the message says what to do") {
  BoxWithKey box;
  const FakeServer server({answer(kWrongKey)});
  const std::string model = model_at(server.url());

  const ProgramResult doctor = box.run({"doctor", "--model", model});
  INFO(doctor.out << doctor.err);
  CHECK(doctor.exit_code == code(ExitCode::environment));
  CHECK_THAT(doctor.out, Catch::Contains("auth: no such key: [redacted]"));
  CHECK_THAT(doctor.out, Catch::Contains("check the key in ALPHAKERNEL_LOCAL_KEY"));
  check_harmless(box, doctor);

  const ProgramResult alone = generate(box, model, "llm");
  INFO(alone.out << alone.err);
  CHECK(alone.exit_code == code(ExitCode::environment));
  CHECK_THAT(alone.err, Catch::Contains("check the key in ALPHAKERNEL_LOCAL_KEY"));
  CHECK_FALSE(box.exists("k.cu"));
  check_harmless(box, alone);

  const ProgramResult both = generate(box, model, "hybrid");
  INFO(both.out << both.err);
  CHECK(both.exit_code == code(ExitCode::ok));
  CHECK_THAT(both.err, Catch::Contains("templates and search propose alone"));
  CHECK(both.err.find("cannot be asked") == both.err.rfind("cannot be asked"));
  CHECK(box.query("SELECT proposer FROM searches") == "search\r\n");
  check_harmless(box, both);
}

TEST_CASE("an address where nobody listens, and one that is not an API, are noticed before anything runs") {
  BoxWithKey box;
  std::string nobody;
  { nobody = FakeServer({answer("")}).url(); }
  const FakeServer page({answer(response(200, "<html>welcome</html>", "", "text/html"))});
  const FakeServer elsewhere({answer(response(302, "", "Location: file:///etc/passwd\r\n"))});
  for (const auto& [url, words] : {std::pair{nobody, "unreachable"},
                                   {page.url(), "is not an API of the form"},
                                   {elsewhere.url(), "redirects are not followed"}}) {
    const ProgramResult result = generate(box, model_at(url), "llm");
    INFO(result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::environment));
    CHECK_THAT(result.err, Catch::Contains(words));
    check_harmless(box, result);
  }
}

TEST_CASE("a run whose server cannot be asked first fails when no model answers") {
  BoxWithKey box;
  const Script unknown = answer(response(404, "{}"));
  const FakeServer server({unknown, unknown, answer(kWrongKey)});
  const ProgramResult result = generate(box, model_at(server.url()), "llm");
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::environment));
  CHECK_THAT(result.err, Catch::Contains("no model answered"));
  check_harmless(box, result);
}

TEST_CASE("the first repetition of a request says why and how long it waits, the others say nothing") {
  BoxWithKey box;
  const Script unknown = answer(response(404, "{}"));
  const Script busy = answer(response(503, R"({"error":{"message":"full"}})", "retry-after-ms: 100\r\n"));
  const FakeServer server({unknown, unknown, busy, busy, answer(kWrongKey)});
  const ProgramResult result = generate(box, model_at(server.url()), "llm");
  INFO(result.out << result.err);
  CHECK_THAT(result.err, Catch::Contains("overloaded: full; asking again in 0.1 s\n"));
  CHECK(result.err.find("asking again") == result.err.rfind("asking again"));
  check_harmless(box, result);
}

TEST_CASE("a model that only chats ends soon, and the result says what it used, its limit and why it ended") {
  BoxWithKey box;
  const Script unknown = answer(response(404, "{}"));
  std::vector<HostileMode> modes = hostile_modes("http://127.0.0.1:1");
  const auto chat = std::ranges::find(modes, "a good stream", &HostileMode::name);
  REQUIRE(chat != modes.end());
  const FakeServer server({unknown, unknown, chat->scripts.front()});
  const ProgramResult result = generate(box, model_at(server.url()), "llm");
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::ok));
  CHECK_THAT(result.out, Catch::Contains("5 exchanges in a row without a candidate"));
  CHECK_THAT(result.out, Catch::Contains("10 calls, 150 tokens, price unknown"));
  CHECK_THAT(result.out, Catch::Contains("may use 1000000 tokens"));
  CHECK(result.out.find("0 US dollars") == std::string::npos);
  const Json json = parse_json(read_file(box.folder / "k.result.json"));
  CHECK(json["model"]["calls"] == 10);
  CHECK(json["model"]["cost_usd"].is_null());
  CHECK(json["model"]["max_tokens"] == 1'000'000);
  check_harmless(box, result);
}

TEST_CASE("a sample of the ways in which providers misbehave, in whole runs") {
  const Script unknown = answer(response(404, "{}"));
  for (const HostileMode& mode : hostile_modes("http://127.0.0.1:1")) {
    // The others take their time with repetitions, which the client's own test has.
    constexpr std::array<std::string_view, 6> kSample{"the key in pieces",       "the key in a refusal",
                                                      "the key in an HTML page", "usage that is huge",
                                                      "words to the reader",     "an error in the middle"};
    if (std::ranges::find(kSample, mode.name) == kSample.end()) continue;
    BoxWithKey box;
    std::vector<Script> scripts{unknown, unknown};
    scripts.insert(scripts.end(), mode.scripts.begin(), mode.scripts.end());
    const FakeServer server(scripts);
    const ProgramResult result = generate(box, model_at(server.url()), "llm");
    INFO(mode.name << "\n" << result.out << result.err);
    CHECK(result.exit_code == code(mode.ends == "ok" ? ExitCode::ok : ExitCode::environment));
    CHECK(server.requests().size() <= 2 + 2 * 5);
    check_harmless(box, result);
  }
}

TEST_CASE("no name, address or row reaches the terminal as more than text") {
  BoxWithKey box;
  static_cast<void>(db::open_store(box.folder / "ak.db"));
  const FakeServer server({answer(kWrongKey)});
  const std::string hostile = "x" + kEscapes;
  const std::string cell = "'a' || char(27) || '[2J' || char(155) || '31m' || char(8238)";
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"doctor", "--model", model_at(server.url()) + hostile},
           {"generate", "--algorithm", hostile, "--output", "k.cu"},
           {"generate", "--algorithm", "vector_add", "--shape", hostile, "--output", "k.cu"},
           {"evaluate", hostile + ".cu"},
           {"problem", "check", hostile},
           {"session", hostile},
           {hostile},
           {"--" + hostile},
           {"query", "--db", hostile, "SELECT 1"},
           {"query", "--format", "csv", "SELECT " + cell + " AS \"" + hostile + "\""},
           {"query", "--format", "table", "SELECT " + cell},
           {"query", "--format", "markdown", "SELECT " + cell},
           {"query", "--format", "json", "SELECT " + cell + " AS text"}}) {
    const ProgramResult result = box.run(arguments);
    INFO(arguments.front() << "\n" << result.out << result.err);
    CHECK(shown_text(result.out) == result.out);
    CHECK(shown_text(result.err) == result.err);
    CHECK_FALSE((result.out + result.err).empty());
    if (arguments.back().ends_with("AS text"))
      CHECK(parse_json(result.out)[0]["text"] ==
            "a\x1b[2J\xC2\x9B"
            "31m\xE2\x80\xAE");
  }
}

TEST_CASE("the password of an address is not repeated") {
  Sandbox box;
  const ProgramResult result = box.run({"doctor", "--model", "local:https://me:pa55word@host/v1#m"});
  CHECK_THAT(result.out, Catch::Contains("[redacted]@host"));
  CHECK((result.out + result.err).find("pa55word") == std::string::npos);
}
