// SPDX-License-Identifier: Apache-2.0
// The MCP server as an agent meets it: the real program over pipes, kernels on the CPU device.
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "core/text/file.h"
#include "tests/serve/mcp_session.h"
#include "tests/support/json_schema.h"
#include "tests/support/patience.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// A vector_add candidate; `body` has i, n, a, b and c.
std::string vector_add(const std::string& body) {
  return R"cu(/* alphakernel
{"launches": [{"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256],
               "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
extern "C" __global__ void k(const float* a, const float* b, float* c, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
)cu" + body +
         "\n}\n";
}
const std::string kRight = vector_add("  if (i < n) c[i] = a[i] + b[i];");
constexpr int kBodyLine = 7;

Json on_cpu(const std::string& source) {
  return {{"source", source},
          {"problem", "vector_add"},
          {"device", "emulator"},
          {"arch", "sm_80"},
          {"wait_s", 500}};
}

/// The structured content of a result, which its text repeats.
Json content(const Json& result) {
  INFO(result.dump());
  REQUIRE(result.contains("structuredContent"));
  CHECK(parse_json(result["content"][0]["text"].get<std::string>()) == result["structuredContent"]);
  return result["structuredContent"];
}

std::string text(const Json& result) { return result["content"][0]["text"]; }

std::vector<std::string> names_of(const Json& tools) {
  std::vector<std::string> names;
  for (const Json& tool : tools) names.push_back(tool["name"]);
  return names;
}

/// The same of a shape so large that it is at work for long.
Json long_work() {
  Json order = on_cpu(kRight);
  order["shape"] = {{"N", 10'000'000}};
  return order;
}

/// Waits until an evaluation is at work: the server, its tool and the tool's workers run.
std::vector<pid_t> processes_at_work(const McpSession& session) {
  std::vector<pid_t> below;
  REQUIRE(in_the_end([&] {
    below = descendants(session.pid());
    return below.size() >= 2;
  }));
  return below;
}

/// All of `processes` end, and none because its work was done: there are no more evaluations than before.
bool all_are_stopped(const std::vector<pid_t>& processes, Sandbox& box, int evaluations_before) {
  return in_the_end([&] { return std::ranges::none_of(processes, is_alive); }) &&
         std::atoi(box.query("SELECT count(*) FROM evaluations").c_str()) == evaluations_before;
}

}  // namespace

TEST_CASE("a client that shakes hands gets the revision it asked for where it is known, else the newest") {
  Sandbox box;
  for (const auto& [asked, given] : std::vector<std::pair<std::string, std::string>>{
           {"2024-11-05", "2024-11-05"}, {"2025-06-18", "2025-06-18"}, {"1999-01-01", "2025-11-25"}}) {
    McpSession session(box);
    const Json answer = session.request("initialize", {{"protocolVersion", asked},
                                                       {"capabilities", Json::object()},
                                                       {"clientInfo", {{"name", "t"}, {"version", "1"}}}});
    CHECK(answer["result"]["protocolVersion"] == given);
    CHECK(answer["result"]["capabilities"].contains("tools"));
    CHECK(answer["result"]["serverInfo"]["name"] == "alphakernel");
    CHECK(session.request("ping")["result"] == Json::object());
    const Json tools = session.request("tools/list")["result"];
    CHECK_FALSE(tools.contains("resultType"));
    for (const Json& tool : tools["tools"]) {
      CHECK(tool["inputSchema"]["type"] == "object");
      CHECK(tool["description"].get<std::string>().size() > 20);
    }
    CHECK(session.finish() == 0);
  }
}

TEST_CASE("a client that names the revision in every request needs no handshake") {
  Sandbox box;
  McpSession session(box);
  const Json discovered = session.request("server/discover", stateless())["result"];
  CHECK(discovered["supportedVersions"] == Json::array({"2026-07-28"}));
  CHECK(discovered["resultType"] == "complete");
  CHECK(discovered["cacheScope"] == "public");
  const Json tools = session.request("tools/list", stateless())["result"];
  CHECK(tools["resultType"] == "complete");
  CHECK(tools["ttlMs"].is_number());
  const Json called = session.request("tools/call", stateless({{"name", "list_problems"}}))["result"];
  CHECK(called["resultType"] == "complete");
  CHECK(content(called)["problems"].size() > 5);
  Json old = stateless();
  old["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01";
  const Json refused = session.request("tools/list", old)["error"];
  CHECK(refused["code"] == -32022);
  CHECK(refused["data"]["supported"] == Json::array({"2026-07-28"}));
  CHECK(session.request("tools/list")["error"]["code"] == -32602);
  CHECK(session.request("ping", stateless())["error"]["code"] == -32601);
  session.shake_hands();
  CHECK(names_of(session.request("tools/list")["result"]["tools"]) == names_of(tools["tools"]));
}

TEST_CASE("a problem is shown in sections: with the contract, its shapes and an example that passes") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  const Json overview = session.call("show_problem", {{"problem", "vector_add"}});
  CHECK(overview["structuredContent"].dump().size() < 6'000);
  CHECK(content(overview)["tensors"]["c"] == "output float32 [N]");
  const Json shown = content(session.call("show_problem", {{"problem", "vector_add"}, {"section", "all"}}));
  CHECK(shown["contract"].get<std::string>().find("launches") != std::string::npos);
  CHECK(shown["definition"]["inputs"].contains("a"));
  CHECK(shown["shapes"].size() > 5);
  const Json judged = session.call("evaluate", on_cpu(shown["example"]["source"]));
  CHECK(content(judged)["status"] == "ok");
  const Json unknown = session.call("show_problem", {{"problem", "vectoradd"}});
  CHECK(unknown["isError"] == true);
  CHECK(text(unknown).find("vector_add") != std::string::npos);
}

TEST_CASE("an evaluation says right or wrong, with gate and line, and the database answers for it") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  CHECK(text(session.call("query", {{"sql", "SELECT 1"}})).find("no database") != std::string::npos);
  const Json right = session.call("evaluate", on_cpu(kRight));
  CHECK(right["isError"] == false);
  CHECK(content(right)["checks"]["passed"] == content(right)["checks"]["of"]);
  CHECK(content(right)["emulated_cost_us"].get<double>() > 0);
  CHECK_FALSE(content(right).contains("score_us"));

  const Json wrong = session.call("evaluate", on_cpu(vector_add("  if (i < n) c[i] = a[i] - b[i];")));
  CHECK(wrong["isError"] == true);
  CHECK(content(wrong)["status"] == "incorrect");
  CHECK(content(wrong)["gate"] == "tolerance");
  CHECK(content(wrong)["checks"]["first_failed"][0]["tensor"] == "c");

  const Json outside = content(session.call("evaluate", on_cpu(vector_add("  c[i] = a[i] + b[i];"))));
  CHECK(outside["gate"] == "memory_checker");
  CHECK(outside["findings"][0]["line"] == kBodyLine);
  CHECK(outside["findings"][0]["source"] == "  c[i] = a[i] + b[i];");

  const Json broken = content(session.call("evaluate", on_cpu(vector_add("  c[i] = nothing;"))));
  CHECK(broken["status"] == "compile_error");
  CHECK(broken["findings"][0]["line"] == kBodyLine);

  const Json rows = content(session.call("query", {{"sql", "SELECT status FROM evaluations ORDER BY id"}}));
  CHECK(rows["rows"] == parse_json(R"([["ok"], ["incorrect"], ["memory_error"], ["compile_error"]])"));
  CHECK(rows["complete"] == true);
  const Json best = content(session.call("best_variants", {{"problem", "vector_add"}}));
  CHECK(best["rows"].size() == 1);
}

TEST_CASE("a failure is explained: the gate's promise, the lines around the finding, and what to try") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  const Json judged = content(session.call("evaluate", on_cpu(vector_add("  c[i] = a[i] + b[i];"))));
  const Json outside = content(session.call("explain_failure", {{"variant", judged["variant"]}}));
  CHECK(outside["gate"]["promise"].get<std::string>().find("every access is within") == 0);
  CHECK(outside["findings"][0]["line"] == kBodyLine);
  CHECK(outside["findings"][0]["source"].get<std::string>().find("blockIdx.x * 256ll") != std::string::npos);
  CHECK(outside["try"].size() >= 2);  // of the finding and of the gate

  const Json sum = content(session.call("evaluate", on_cpu(vector_add("  if (i < n) c[i] = a[i] - b[i];"))));
  const Json wrong = content(session.call("explain_failure", {{"variant", sum["variant"]}}));
  CHECK(wrong["gate"]["name"] == "tolerance");
  CHECK(wrong["failed_checks"][0]["tensor"] == "c");
  CHECK(wrong["failed_checks"][0]["shape"].contains("N"));

  CHECK(content(session.call("explain_failure", {{"gate", "race_detector"}}))["try"].size() == 1);
  for (const Json& arguments : {Json{{"variant", 99}}, Json{{"gate", "race_detectr"}}, Json::object()})
    CHECK(session.call("explain_failure", arguments)["isError"] == true);
}

TEST_CASE("a kernel is profiled and predicted, with what limits it") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  const Json profiled = content(session.call("profile", on_cpu(kRight)));
  CHECK(profiled["evaluation"]["status"] == "ok");
  CHECK(profiled["bottleneck"]["title"].get<std::string>().size() > 5);
  CHECK(profiled["bottleneck"]["evidence"].get<std::string>().size() > 5);
  CHECK(profiled["page"].get<std::string>().size() > 200);
  const Json predicted = content(session.call(
      "predict", {{"source", kRight}, {"problem", "vector_add"}, {"arch", "h200"}, {"wait_s", 500}}));
  CHECK(predicted["arch"] == "sm_90a");
  CHECK(predicted["predictions"][0]["predicted_ns"].get<double>() > 1000);
}

TEST_CASE("an agent walks a whole task: see, evaluate, tune, compare, explain, save, export") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  Json task{{"problem", "vector_add"}, {"device", "emulator"}, {"arch", "sm_80"}, {"shape", {{"N", 1000}}}};
  const std::string source = content(
      session.call("show_problem", {{"problem", "vector_add"}, {"section", "example"}}))["example"]["source"];
  task.update({{"source", source}, {"wait_s", 500}});
  const Json first = content(session.call("evaluate", task));
  CHECK(first["status"] == "ok");
  task.update({{"max_evaluations", 3}, {"seed", 1}});
  const Json tuned = content(session.call("tune", task));
  CHECK(tuned["verified"].get<int>() >= 1);
  const std::string best = tuned["best"]["variant"].dump();
  const Json compared = content(
      session.call("compare", {{"first", first["variant"].dump()}, {"second", best}, {"wait_s", 500}}));
  CHECK(compared["why"].get<std::string>().size() > 10);
  const Json explained =
      content(session.call("explain", {{"variant", tuned["best"]["variant"]}, {"wait_s", 500}}));
  CHECK(explained["status"] == "ok");
  const Json exported =
      content(session.call("export_kernel", {{"variant", tuned["best"]["variant"]}, {"folder", "out"}}));
  CHECK(std::filesystem::exists(box.folder / "out" / "README.md"));
  CHECK(exported["files"].size() > 5);
}

TEST_CASE("a session is started, watched and stopped, and outlives the call that started it") {
  Sandbox box;
  box.use_own_build_cache();  // from a shared one all points may be there before it is stopped
  box.write("night.json", R"({"runs": [{"algorithm": "vector_add", "device": "none", "arch": "sm_90a"},
                                       {"algorithm": "flash_attention", "device": "none", "arch": "sm_90a"},
                                       {"algorithm": "gemm", "device": "none", "arch": "sm_90a"}]})");
  McpSession session(box);
  session.shake_hands();
  const Json started = content(session.call("start_session", {{"manifest", "night.json"}, {"wait_s", 500}}));
  CHECK(started["session"] == 1);
  CHECK(std::filesystem::exists(started["log"].get<std::string>()));
  REQUIRE(in_the_end([&] {
    const Json status = content(session.call("session_status"));
    return status["searches"][0]["evaluations"].get<int>() > 0;
  }));
  const Json stopped = content(session.call("stop_session", {{"session", 1}, {"wait_s", 500}}));
  CHECK(stopped["state"] == "stopped");
  CHECK(std::filesystem::exists(box.folder / "vector_add.cu"));
}

TEST_CASE("a kernel is saved below the working directory only, and replaces nothing unless asked") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  static_cast<void>(session.call("evaluate", on_cpu(kRight)));
  const Json saved = content(session.call("save_kernel", {{"problem", "vector_add"}, {"path", "best.cu"}}));
  CHECK(saved["verified"] == true);
  const Json again =
      content(session.call("evaluate", {{"path", "best.cu"}, {"device", "emulator"}, {"wait_s", 500}}));
  CHECK(again["status"] == "ok");

  const TemporaryFolder outside;
  std::filesystem::create_directory_symlink(outside.path(), box.folder / "link");
  std::filesystem::create_symlink(outside / "target.cu", box.folder / "file.cu");
  std::filesystem::create_directory(box.folder / "below");
  const auto save = [&](const std::string& path, bool overwrite) {
    return session.call("save_kernel",
                        {{"variant", saved["variant"]}, {"path", path}, {"overwrite", overwrite}});
  };
  for (const std::string& path :
       {std::string("../k.cu"), (outside / "k.cu").string(), std::string("link/k.cu"), std::string("file.cu"),
        std::string("below/../../k.cu"), std::string("k.txt"), std::string("nowhere/k.cu"), std::string("")})
    CHECK(save(path, true)["isError"] == true);
  CHECK(std::filesystem::is_empty(outside.path()));
  CHECK(save("below/k.cu", false)["isError"] == false);
  box.write("best.cu", "mine");
  CHECK(text(save("best.cu", false)).find("overwrite") != std::string::npos);
  CHECK(read_file(box.folder / "best.cu") == "mine");
  CHECK(save("best.cu", true)["isError"] == false);
  CHECK(read_file(box.folder / "best.cu").find("alphakernel") != std::string::npos);
}

TEST_CASE("a query reads and does not write, and its answer has a size that a model can take") {
  Sandbox box;
  box.generate({});
  McpSession session(box);
  session.shake_hands();
  for (const char* sql : {"DELETE FROM evaluations", "ATTACH 'x' AS y", "SELEC 1", "SELECT 1; SELECT 2"})
    CHECK(session.call("query", {{"sql", sql}})["isError"] == true);
  const std::string many =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i";
  const Json few = content(session.call("query", {{"sql", many + " FROM n"}}));
  CHECK(few["rows"].size() == 50);
  CHECK(few["complete"] == false);
  CHECK(few["note"].get<std::string>().find("limit") != std::string::npos);
  const Json wide = session.call("query", {{"sql", many + ", hex(zeroblob(500)) FROM n"}, {"limit", 1000}});
  CHECK(wide.dump().size() < 100'000);
  CHECK(content(wide)["complete"] == false);
}

TEST_CASE("what a tool answers fits its schema: the answer, a failed kernel's, and a job") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  Json schemas;
  const Json listed = session.request("tools/list");
  for (const Json& tool : listed["result"]["tools"])
    schemas[tool["name"].get<std::string>()] = tool["outputSchema"];
  const auto answer = [&](const std::string& tool, const Json& arguments) {
    Json structured = content(session.call(tool, arguments));
    CHECK(schema_error(schemas[tool], structured) == "");
    return structured;
  };
  Json order = on_cpu(kRight);
  order["shape"] = {{"N", 1000}};
  CHECK(answer("evaluate", order)["status"] == "ok");
  CHECK(answer("query", {{"sql", "SELECT * FROM evaluations"}})["rows"].size() == 1);
  CHECK(answer("job_status", Json::object())["jobs"].empty());
  order["wait_s"] = 0;
  const Json job{{"job", answer("evaluate", order)["job"]}};
  CHECK(answer("job_cancel", job)["state"] == "cancelled");

  Json search{{"problem", "vector_add"}, {"device", "none"}, {"arch", "sm_90a"}, {"max_evaluations", 3}};
  search["wait_s"] = 500;
  const Json found = answer("search", search);
  CHECK(found["evaluated"] == 3);
  CHECK(found["best"]["source"].get<std::string>().find("__global__") != std::string::npos);
}

TEST_CASE("work that takes long becomes a job that can be asked for, waited for and cancelled") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  Json order = on_cpu(kRight);
  order["wait_s"] = 0;
  const Json begun = content(session.call("evaluate", order));
  CHECK(begun["job"] == "job-1");
  CHECK(begun["state"] == "running");
  CHECK(content(session.call("job_status"))["jobs"].size() == 1);
  CHECK(content(session.call("job_result", {{"job", "job-1"}, {"wait_s", 500}}))["status"] == "ok");
  CHECK(content(session.call("job_status", {{"job", "job-1"}}))["state"] == "done");
  CHECK(content(session.call("job_result", {{"job", "job-1"}}))["status"] == "ok");

  order = long_work();
  order["wait_s"] = 0;
  const Json second = content(session.call("evaluate", order));
  const auto below = processes_at_work(session);
  CHECK(content(session.call("job_cancel", {{"job", second["job"]}}))["state"] == "cancelled");
  CHECK(all_are_stopped(below, box, 1));
  CHECK(session.call("job_result", {{"job", second["job"]}})["isError"] == true);
  CHECK(session.call("job_cancel", {{"job", "job-99"}})["isError"] == true);
}

TEST_CASE("queries that do not end keep no other quick call waiting") {
  Sandbox box;
  box.generate({});
  McpSession session(box);
  session.shake_hands();
  const Json endless{
      {"name", "query"},
      {"arguments",
       {{"sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"}}}};
  constexpr int kQueries = 10;
  const auto id = [](int query) { return "query-" + std::to_string(query); };
  for (int i = 0; i < kQueries; ++i)
    session.send({{"jsonrpc", "2.0"}, {"id", id(i)}, {"method", "tools/call"}, {"params", endless}});
  CHECK_FALSE(session.call("show_devices").value("isError", false));
  CHECK(session.notifications.empty());  // no query had to end first
  for (int i = 0; i < kQueries; ++i)
    session.send({{"jsonrpc", "2.0"},
                  {"method", "notifications/cancelled"},
                  {"params", {{"requestId", id(i)}, {"reason", "test"}}}});
  CHECK(session.request("ping")["result"] == Json::object());
}

TEST_CASE("a cancelled request is stopped and gets no answer; one with a token reports progress") {
  Sandbox box;
  box.generate({});
  McpSession session(box);
  session.shake_hands();
  const Json order{{"name", "evaluate"}, {"arguments", long_work()}};
  session.send({{"jsonrpc", "2.0"}, {"id", "mine"}, {"method", "tools/call"}, {"params", order}});
  const auto below = processes_at_work(session);
  session.send({{"jsonrpc", "2.0"},
                {"method", "notifications/cancelled"},
                {"params", {{"requestId", "mine"}, {"reason", "test"}}}});
  CHECK(all_are_stopped(below, box, 3));
  CHECK(session.request("ping")["result"] == Json::object());
  CHECK(session.notifications.empty());

  // Counts until it is cancelled.
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
  session.send({{"jsonrpc", "2.0"},
                {"id", "long"},
                {"method", "tools/call"},
                {"params",
                 {{"name", "query"}, {"arguments", {{"sql", endless}}}, {"_meta", {{"progressToken", 7}}}}}});
  double last = 0;
  for (int i = 0; i < 2; ++i) {
    const Json message = session.receive();
    CHECK(message["method"] == "notifications/progress");
    CHECK(message["params"]["progressToken"] == 7);
    CHECK(message["params"]["progress"].get<double>() > last);
    last = message["params"]["progress"];
  }
  session.send(
      {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", "long"}}}});
  CHECK(session.request("ping")["result"] == Json::object());
}

TEST_CASE("whatever a line holds gets a precise error, and the next request its answer") {
  Sandbox box;
  McpSession session(box);
  session.shake_hands();
  struct Bad {
    std::string line;
    int code;
  };
  const std::string deep(100'000, '[');
  for (const Bad& bad :
       std::vector<Bad>{{"{", -32700},
                        {"\xff\xfe", -32700},
                        {deep, -32700},
                        {"[]", -32600},
                        {"5", -32600},
                        {R"({"id":1,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":1,"method":5})", -32600},
                        {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", -32602},
                        {R"({"jsonrpc":"2.0","id":1,"method":"nothing/here"})", -32601},
                        {R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}})", -32602},
                        {std::string(9 << 20, 'x'), -32600}}) {
    INFO(bad.line.substr(0, 100));
    session.send_line(bad.line);
    CHECK(session.receive()["error"]["code"] == bad.code);
  }
  session.send_line("");
  session.send_line(R"({"jsonrpc":"2.0","method":"notifications/unheard_of"})");
  session.send_line(R"({"jsonrpc":"2.0","id":1,"result":{}})");
  CHECK(session.request("tools/call", {{"name", "no_tool"}})["error"]["code"] == -32602);
  for (const Json& arguments :
       {Json{{"source", 5}}, Json{{"sauce", ""}}, Json{{"wait_s", -1}}, Json{{"depth", "deep"}}})
    CHECK(session.call("evaluate", arguments)["isError"] == true);
  CHECK(session.request("ping")["result"] == Json::object());
}

TEST_CASE("when the client is gone, or kills the server, no process is left behind") {
  for (const bool killed : {false, true}) {
    Sandbox box;
    McpSession session(box);
    session.shake_hands();
    Json order = long_work();
    order["wait_s"] = 0;
    static_cast<void>(session.call("evaluate", order));
    const auto below = processes_at_work(session);
    if (killed) kill(session.pid(), SIGKILL);
    CHECK(session.finish() == (killed ? 128 + SIGKILL : 0));
    CHECK(all_are_stopped(below, box, 0));
  }
}

TEST_CASE("two servers share one database") {
  Sandbox box;
  McpSession one(box), two(box);
  one.shake_hands();
  two.shake_hands();
  Json order = on_cpu(kRight);
  order["wait_s"] = 0;
  const Json first = content(one.call("evaluate", order)), second = content(two.call("evaluate", order));
  CHECK(content(one.call("job_result", {{"job", first["job"]}, {"wait_s", 500}}))["status"] == "ok");
  CHECK(content(two.call("job_result", {{"job", second["job"]}, {"wait_s", 500}}))["status"] == "ok");
  CHECK(content(two.call(
            "query", {{"sql", "SELECT count(*) FROM evaluations WHERE status = 'ok'"}}))["rows"][0][0] == 2);
}

TEST_CASE("requests that are piped in are answered before the end of the input ends the server") {
  Sandbox box;
  McpSession session(box);
  Json params = stateless({{"name", "list_problems"}});
  session.send({{"jsonrpc", "2.0"}, {"id", 0}, {"method", "tools/call"}, {"params", params}});
  session.close_input();
  CHECK(session.receive()["id"] == 0);
  CHECK(session.finish() == 0);
}
