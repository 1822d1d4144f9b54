// SPDX-License-Identifier: Apache-2.0
// Reading messages, without processes: what comes from outside may be anything.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "app/operations/failure_advice.h"
#include "app/operations/operation_schema.h"
#include "core/text/json_line.h"
#include "serve/mcp/protocol.h"

using namespace ak;
using namespace ak::mcp;

namespace {

const std::vector<std::string> kSeeds{
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}})",
    R"({"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"evaluate","arguments":{"source":"x","wait_s":3,"params":{"dtype":"bf16"}},"_meta":{"progressToken":1}}})",
    R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})",
    R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})",
    R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}])",
};

/// A seed with some bytes replaced, doubled, cut out, or taken from another seed.
std::string mutated(std::mt19937& random) {
  const auto pick = [&](std::size_t below) { return random() % std::max<std::size_t>(below, 1); };
  std::string text = kSeeds[pick(kSeeds.size())];
  for (std::size_t changes = 1 + pick(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = pick(text.size()), length = pick(12);
    const std::string& other = kSeeds[pick(kSeeds.size())];
    if (pick(4) == 0) text[at] = static_cast<char>(random());
    if (pick(4) == 0) text.insert(at, text.substr(pick(text.size()), length));
    if (pick(4) == 0) text.erase(at, length);
    if (pick(4) == 0) text.replace(at, length, other.substr(pick(other.size()), length));
  }
  std::erase(text, '\n');
  return text;
}

Json reply(Protocol& protocol, const std::string& line) {
  const auto actions = protocol.read(line);
  REQUIRE(actions.size() == 1);
  REQUIRE(std::holds_alternative<Reply>(actions.front()));
  return std::get<Reply>(actions.front()).message;
}

}  // namespace

TEST_CASE("no line makes the protocol throw, and every answer is a message of one line") {
  const int lines = std::getenv("AK_SOAK_ITERATIONS") != nullptr ? 20'000 : 4'000;
  std::mt19937 random(7);
  Protocol protocol("1.0");
  int replies = 0, calls = 0;
  for (int i = 0; i < lines; ++i) {
    const std::string line = mutated(random);
    INFO(line);
    for (const Action& action : protocol.read(line)) {
      if (const auto* call = std::get_if<ToolCall>(&action)) {
        ++calls;
        CHECK(argument_error(*call->tool, call->arguments).empty());
      }
      if (const auto* sent = std::get_if<Reply>(&action)) {
        ++replies;
        const std::string text = one_line(sent->message);
        const Json again = parse_json(text);
        if (text.find('\n') != std::string::npos || again["jsonrpc"] != "2.0" || !again.contains("id") ||
            again.contains("result") == again.contains("error"))
          FAIL(text);
      }
    }
  }
  CHECK(replies > lines / 4);
  CHECK(calls > lines / 200);
}

TEST_CASE("batches are taken in the one revision that has them") {
  Protocol protocol("1.0");
  static_cast<void>(reply(protocol, kSeeds[0]));
  CHECK(protocol.read(kSeeds[4]).size() == 2);
  CHECK(reply(protocol, "[]")["error"]["code"] == -32600);
  static_cast<void>(
      reply(protocol,
            R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"));
  CHECK(reply(protocol, kSeeds[4])["error"]["code"] == -32600);
}

TEST_CASE("an id is given back as it came, zero and text included") {
  Protocol protocol("1.0");
  for (const char* id : {"0", "-5", "\"\"", "\"a b\"", "9007199254740993"}) {
    const std::string line = std::string(R"({"jsonrpc":"2.0","method":"ping","id":)") + id + "}";
    CHECK(reply(protocol, line)["id"] == parse_json(id));
  }
  for (const char* id : {"null", "true", "[1]", "{}", "1.0"}) {
    const std::string line = std::string(R"({"jsonrpc":"2.0","method":"ping","id":)") + id + "}";
    CHECK(reply(protocol, line)["error"]["code"] == -32600);
  }
}

TEST_CASE("what is wrong with an argument is said by name, with what was expected") {
  const Tool& tool = *find_tool("evaluate");
  CHECK(argument_error(tool, {{"source", 5}}) == "source: expected a string, got 5");
  CHECK(argument_error(tool, {{"wait_s", 601}}) == "wait_s: expected 0 to 600, got 601");
  CHECK(argument_error(tool, {{"depth", "x"}}) == "depth: expected build, check, time, got \"x\"");
  CHECK(argument_error(tool, {{"params", {{"dtype", {1}}}}}).find("params: expected an object") == 0);
  CHECK(argument_error(tool, {{"sorce", ""}}).find("did you mean 'source'?") != std::string::npos);
  CHECK(argument_error(*find_tool("query"), Json::object()).find("query needs the argument 'sql'") == 0);
  CHECK(argument_error(tool, {{"source", ""}, {"variant", 3}, {"params", {{"causal", true}}}}).empty());
}

TEST_CASE("the tools have names and schemas that every client takes, in a fixed order") {
  std::vector<std::string> names;
  for (const Tool& tool : all_tools()) {
    INFO(tool.name);
    CHECK(tool.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(std::ranges::find(names, tool.name) == names.end());
    names.emplace_back(tool.name);
    CHECK((tool.operation == nullptr) == (tool.lane == Lane::server));
    const Json schema = tool_json(tool)["inputSchema"];
    CHECK(schema["type"] == "object");
    CHECK(schema["additionalProperties"] == false);
    for (const Json& required : schema.value("required", Json::array()))
      CHECK(schema["properties"].contains(required.get<std::string>()));
  }
  CHECK(names.front() == "list_problems");
}

TEST_CASE("the list of tools is the table of operations and the tools for jobs, with both schemas") {
  Protocol protocol("1.0");
  static_cast<void>(reply(protocol, kSeeds[0]));
  const Json listed = reply(protocol, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"]["tools"];
  const auto table = operations::all_operations();
  REQUIRE(listed.size() == table.size() + 3);
  for (std::size_t i = 0; i < table.size(); ++i) {
    INFO(table[i].name);
    const bool becomes_job = table[i].effects.takes_long;
    CHECK(listed[i]["name"] == table[i].name);
    CHECK(listed[i]["description"].get<std::string>().find(table[i].summary) == 0);
    Json members = operations::request_schema(table[i].parameters).value("properties", Json::object());
    CHECK(listed[i]["inputSchema"].value("properties", Json::object()).size() ==
          members.size() + (becomes_job ? 1 : 0));
    const Json answer = operations::fields_schema(table[i].answer);
    CHECK((becomes_job ? listed[i]["outputSchema"]["anyOf"][0] : listed[i]["outputSchema"]) == answer);
    CHECK(listed[i]["annotations"]["readOnlyHint"] ==
          !(table[i].effects.writes_database || table[i].effects.writes_files));
  }
  for (const Json& tool : listed) CHECK(tool["outputSchema"]["type"] == "object");
}

TEST_CASE("every gate has advice for who failed it") {
  for (const GateInfo& gate : gates()) {
    INFO(gate.name);
    CHECK(operations::advice_for(gate.gate).size() > 10);
  }
}
