// SPDX-License-Identifier: Apache-2.0
// From a model's sizes to its operators and what the library would change, as a user meets it.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/needs_pytorch.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// As a model's config.json of Hugging Face is written, with keys that do not matter here.
constexpr const char* kLlama8b = R"json({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000, "eos_token_id": 128001,
  "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
  "max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})json";

constexpr const char* kBertBase = R"json({
  "model_type": "bert", "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072, "layer_norm_eps": 1e-12,
  "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 12, "type_vocab_size": 2,
  "vocab_size": 30522})json";

constexpr const char* kTiny = R"json({
  "model_type": "llama", "layers": 2, "hidden": 128, "heads": 2, "kv_heads": 1, "intermediate": 256, "vocabulary": 64})json";

Json planned(Sandbox& box, const std::string& model, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), {"library", "plan", box.write("model.json", model), "--json"});
  const ProgramResult result = box.run(arguments);
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  return parse_json(result.out);
}

/// The operator of that name in the first step of a phase.
Json operator_of(const Json& plan, const std::string& phase, const std::string& name) {
  for (const Json& row : plan["operators"])
    if (row["operator"] == name && row["phase"] == phase) return row;
  FAIL("no operator " << name << " of " << phase);
  return {};
}

std::vector<std::string> others(const Json& plan) {
  std::vector<std::string> names;
  for (const Json& row : plan["operators"])
    if (row["algorithm"] == "other") names.push_back(row["operator"]);
  return names;
}

/// A model with one value replaced, or one key taken out where `value` is null.
std::string changed(const char* model, const std::string& key, const Json& value) {
  Json json = parse_json(model);
  if (value.is_null())
    json.erase(key);
  else
    json[key] = value;
  return json.dump();
}

}  // namespace

TEST_CASE("a plan of an 8B model has every operator of a step with its shape, count and floor") {
  Sandbox box;
  const Json plan = planned(box, kLlama8b, {"--batch", "1,16", "--prompt", "512", "--context", "4096"});
  CHECK(plan["format"] == "alphakernel.library_plan");
  CHECK(plan["version"] == 1);
  CHECK(plan["model"]["head_dim"] == 128);
  CHECK(plan["device"]["name"] == "NVIDIA H200");
  REQUIRE(plan["steps"].size() == 4);
  CHECK(others(plan).empty());

  const Json down = operator_of(plan, "decode", "mlp_down");
  CHECK(down["algorithm"] == "gemm");
  CHECK(down["params"]["dtype"] == "bfloat16");
  CHECK(down["params"]["b_layout"] == "column");
  CHECK(down["axes"] == Json{{"K", 14336}, {"M", 1}, {"N", 4096}});
  CHECK(down["count"] == 32);
  // The weights, 4096 x 14336 of two bytes, at 4,814 GB/s less 2 %.
  CHECK(down["floor_us"].get<double>() == Approx(23.9).epsilon(0.01));
  CHECK(operator_of(plan, "decode", "attention")["axes"]["S"] == 4096);
  CHECK(operator_of(plan, "prefill", "attention")["params"]["causal"] == 1);
  CHECK(operator_of(plan, "prefill", "lm_head")["axes"]["M"] == 1);
  CHECK(operator_of(plan, "decode", "residual_norm")["count"] == 63);

  double weights = 0;
  for (const Json& row : plan["operators"]) {
    if (row["phase"] != "decode" || row["batch"] != 1) continue;
    const Json& axes = row["axes"];
    const int matrices = row["algorithm"] == "linear_swiglu" ? 2 : row["algorithm"] == "gemm" ? 1 : 0;
    if (matrices > 0)
      weights += matrices * row["count"].get<double>() * axes["N"].get<double>() * axes["K"].get<double>();
    if (row["algorithm"] == "embedding_lookup") weights += axes["V"].get<double>() * axes["H"].get<double>();
  }
  CHECK(weights == Approx(8.03e9).epsilon(0.001));
}

TEST_CASE("the shares of a step are of its sum, and the floor is under the library, which is under today") {
  Sandbox box;
  const Json plan = planned(box, kLlama8b, {"--batch", "16", "--prompt", "512"});
  for (const Json& step : plan["steps"]) {
    double share = 0, saved = 0, now = 0, floor = 0;
    for (const Json& row : plan["operators"]) {
      if (row["phase"] != step["phase"]) continue;
      INFO(row.dump());
      share += row["share"].get<double>();
      saved += row["saved"].get<double>();
      now += row["count"].get<double>() * row["now"]["us"].get<double>();
      floor += row["count"].get<double>() * row["floor_us"].get<double>();
      CHECK(row["now"]["source"] == "estimated");
      CHECK_FALSE(row["now"]["basis"].get<std::string>().empty());
      CHECK(row["library"]["source"] == "predicted");
      CHECK(row["library"]["us"].get<double>() >= row["floor_us"].get<double>());
    }
    CHECK(share == Approx(1));
    CHECK(now == Approx(step["now_us"].get<double>()));
    CHECK(floor == Approx(step["floor_us"].get<double>()));
    CHECK(1 / (1 - saved) == Approx(step["speedup"].get<double>()));
    CHECK(step["speedup"].get<double>() >= 1);
    CHECK(step["speedup_at_floor"].get<double>() >= step["speedup"].get<double>());
  }
}

TEST_CASE("quantisation decides which linear layers a model has, and what makes their codes") {
  Sandbox box;
  const auto algorithm = [&](const std::string& scheme, const std::string& name) {
    return operator_of(planned(box, kTiny, {"--quantisation", scheme}), "decode", name)["algorithm"];
  };
  CHECK(algorithm("none", "mlp_gate_up") == "linear_swiglu");
  CHECK(algorithm("int4", "mlp_gate_up") == "linear_w4a16");
  CHECK(algorithm("int8_weights", "qkv") == "linear_w8a16");
  CHECK(algorithm("none", "key_value") == "gemm");
  CHECK(algorithm("int8", "mlp_down") == "linear_int8");
  const Json fp8 = planned(box, kTiny, {"--quantisation", "fp8"});
  CHECK(operator_of(fp8, "decode", "mlp_down")["algorithm"] == "linear_fp8");
  CHECK(operator_of(fp8, "decode", "mlp_quantise")["algorithm"] == "cast_quantise");
  CHECK(operator_of(fp8, "decode", "residual_norm")["params"]["store"] == "fp8_row");
  CHECK(operator_of(fp8, "decode", "lm_head")["algorithm"] == "gemm");
  const Json named =
      planned(box, changed(kTiny, "quantization_config", Json{{"quant_method", "awq"}, {"bits", 4}}));
  CHECK(named["model"]["quantisation"] == "int4");
}

TEST_CASE("kinds of models differ in their operators") {
  Sandbox box;
  const Json qwen3 = planned(box, changed(kTiny, "model_type", "qwen3"));
  CHECK(operator_of(qwen3, "decode", "q_norm")["axes"] == Json{{"M", 2}, {"N", 64}});
  const Json qwen2 = planned(box, changed(kTiny, "model_type", "qwen2"));
  CHECK(operator_of(qwen2, "decode", "query")["algorithm"] == "linear");
  CHECK(operator_of(qwen2, "decode", "attention_output")["algorithm"] == "gemm");
  CHECK(operator_of(planned(box, changed(kTiny, "attention_bias", true)), "decode",
                    "attention_output")["algorithm"] == "linear");
  const std::string gemma = changed(kTiny, "hidden_activation", "gelu_pytorch_tanh");
  CHECK(operator_of(planned(box, gemma), "prefill", "mlp_gate_up")["params"]["function"] == "gelu_tanh");
  const Json coded = planned(box, gemma, {"--quantisation", "int8"});
  CHECK(operator_of(coded, "prefill", "mlp_gate")["params"]["function"] == "gelu_tanh");
  CHECK(operator_of(coded, "prefill", "first_norm")["params"]["any_epsilon"] == 1);
  Json mistral = parse_json(kTiny);
  mistral.update(Json{{"model_type", "mistral"}, {"sliding_window", 512}});
  const Json windowed = planned(box, mistral.dump(), {"--prompt", "2048"});
  CHECK(operator_of(windowed, "prefill", "attention_windowed")["params"]["window"] == 512);
  CHECK(operator_of(windowed, "decode", "attention_windowed")["axes"]["S"] == 512);
}

TEST_CASE("a plan has the steps of the phases that are asked for, and no operators of others") {
  Sandbox box;
  const Json decode = planned(box, kTiny, {"--phase", "decode"});
  REQUIRE_FALSE(decode["operators"].empty());
  for (const char* list : {"operators", "steps"})
    for (const Json& one : decode[list]) CHECK(one["phase"] == "decode");
  CHECK(planned(box, kTiny, {"--phase", "decode,prefill"})["steps"] == planned(box, kTiny)["steps"]);
}

TEST_CASE("a plan has the linear layers and the attention that a model's modules call") {
  Sandbox box;
  const Json llama = planned(box, kTiny, {"--batch", "4", "--context", "256"});
  CHECK(operator_of(llama, "decode", "query")["axes"] == Json{{"K", 128}, {"M", 4}, {"N", 128}});
  CHECK(operator_of(llama, "decode", "query")["count"] == 2);
  CHECK(operator_of(llama, "decode", "key_value")["axes"] == Json{{"K", 128}, {"M", 4}, {"N", 64}});
  CHECK(operator_of(llama, "decode", "key_value")["count"] == 4);
  CHECK(operator_of(llama, "decode", "embedding")["params"]["long_index"] == 1);
  const Json attention = operator_of(llama, "decode", "attention");
  CHECK(attention["params"]["paged"] == 0);
  CHECK(attention["axes"] == Json{{"B", 4}, {"HKV", 1}, {"HQ", 2}, {"Q", 1}, {"S", 256}});
  const Json paged = operator_of(planned(box, changed(kTiny, "paged_cache", true)), "decode", "attention");
  CHECK(paged["params"]["paged"] == 1);
  CHECK(paged["axes"]["B"] == 1);

  const Json phi3 = planned(box, changed(kTiny, "model_type", "phi3"));
  CHECK(operator_of(phi3, "decode", "qkv")["axes"]["N"] == 256);
  CHECK(operator_of(phi3, "decode", "mlp_gate_up")["algorithm"] == "gemm");
  CHECK(operator_of(phi3, "decode", "mlp_gate_up")["axes"]["N"] == 512);
  CHECK(operator_of(phi3, "decode", "mlp_gate")["params"]["layout"] == "halves");
  const Json biased = planned(box, changed(kTiny, "mlp_bias", true));
  CHECK(operator_of(biased, "decode", "mlp_gate_up")["axes"]["N"] == 256);
  CHECK(operator_of(biased, "decode", "mlp_gate_up")["count"] == 4);
  CHECK(others(biased) == std::vector<std::string>{"mlp_gate", "mlp_gate"});
}

TEST_CASE("what no module of a model calls is in a plan where it is asked for") {
  Sandbox box;
  const auto names = [&](const char* model, const std::vector<std::string>& more = {}) {
    std::set<std::string> found;
    const Json plan = planned(box, model, more);
    for (const Json& row : plan["operators"]) found.insert(row["operator"]);
    return std::pair(found, plan["notes"].dump());
  };
  const auto added = [&](const char* model) {
    const auto [without, note] = names(model);
    std::set<std::string> more = names(model, {"--outside"}).first;
    for (const std::string& name : without) CHECK(more.erase(name) == 1);
    for (const std::string& name : more) CHECK(note.find(name) != std::string::npos);
    return more;
  };
  CHECK(added(kTiny) == std::set<std::string>{"kv_cache_append", "sampling", "softmax"});
  CHECK(added(kBertBase) == std::set<std::string>{"embedding_sum", "pooling"});
  CHECK(names(kTiny, {"--outside"}).second == "[]");
  const ProgramResult text = box.run({"library", "plan", box.write("tiny.json", kTiny)});
  CHECK(text.out.find("without kv_cache_append, sampling, softmax, which no module of a model calls "
                      "(--outside)") != std::string::npos);
}

TEST_CASE("under torch.compile norms behind layers are not joined, and attention is the model's own code") {
  Sandbox box;
  const Json plan = planned(box, kTiny, {"--prompt", "64", "--compiled"});
  const auto count = [&](const std::string& name) { return operator_of(plan, "decode", name)["count"]; };
  CHECK(count("residual_norm") == 2);
  CHECK(count("first_norm") == 1);
  CHECK(count("next_norm") == 2);
  CHECK(operator_of(plan, "decode", "next_norm")["algorithm"] == "rmsnorm");
  CHECK(others(plan) == std::vector<std::string>{"rope", "attention", "rope", "attention"});
  CHECK(operator_of(plan, "decode", "attention")["note"].get<std::string>().find("torch.compile") !=
        std::string::npos);
  CHECK(others(planned(box, kBertBase, {"--dtype", "fp16", "--compiled"})) ==
        std::vector<std::string>{"attention"});
}

TEST_CASE(
    "a window of any size up to 4096 has a kernel for prompts, and a longer one says what was expected") {
  Sandbox box;
  const auto windowed = [&](int window) {
    Json model = parse_json(kTiny);
    model.update(Json{{"model_type", "mistral"}, {"sliding_window", window}, {"head_dim", 64}});
    return operator_of(planned(box, model.dump(), {"--prompt", "16384"}), "prefill", "attention_windowed");
  };
  for (const int window : {1, 1023, 2047, 4096}) {  // Phi-3 mini has 2047
    CHECK(windowed(window)["algorithm"] == "flash_attention");
    CHECK(windowed(window)["params"]["window"] == window);
  }
  CHECK(windowed(8192)["algorithm"] == "other");
  CHECK(windowed(8192)["note"].get<std::string>().find("expected an integer from 0 to 4096") !=
        std::string::npos);
}

TEST_CASE("attention with a soft cap is planned where operators that no module calls are asked for") {
  Sandbox box;
  Json gemma = parse_json(kTiny);
  gemma.update(Json{{"model_type", "gemma2"}, {"attn_logit_softcapping", 50}, {"sliding_window", 512}});
  CHECK(others(planned(box, gemma.dump(), {"--prompt", "64"})) ==
        std::vector<std::string>{"attention", "attention_windowed", "attention", "attention_windowed"});
  const Json asked = planned(box, gemma.dump(), {"--prompt", "64", "--outside"});
  CHECK(operator_of(asked, "prefill", "attention")["params"]["softcap"] == 50);
  CHECK(others(asked) == std::vector<std::string>{"attention", "attention_windowed"});
}

TEST_CASE("an encoder has one phase, and in float32 an attention that the library does not have") {
  Sandbox box;
  const Json exact = planned(box, kBertBase, {"--batch", "8", "--prompt", "128"});
  REQUIRE(exact["steps"].size() == 1);
  CHECK(exact["steps"][0]["phase"] == "encode");
  CHECK(others(exact) == std::vector<std::string>{"attention"});
  const Json attention = operator_of(exact, "encode", "attention");
  CHECK(attention["note"].get<std::string>().find("float32") != std::string::npos);
  CHECK(attention["library"]["source"] == "none");
  CHECK(attention["library"]["us"].is_null());
  CHECK(attention["floor_us"].get<double>() > 0);
  CHECK(attention["share"].get<double>() > 0);
  const Json half = planned(box, kBertBase, {"--batch", "8", "--prompt", "128", "--dtype", "fp16"});
  CHECK(others(half).empty());
  CHECK(operator_of(half, "encode", "mlp_up")["params"]["activation"] == "gelu");
  CHECK(operator_of(half, "encode", "mlp_up")["axes"] == Json{{"K", 768}, {"M", 1024}, {"N", 3072}});
  CHECK(operator_of(half, "encode", "qkv")["axes"] == Json{{"K", 768}, {"M", 1024}, {"N", 768}});
  CHECK(operator_of(half, "encode", "qkv")["count"] == 36);
  CHECK(operator_of(half, "encode", "embedding_norm")["algorithm"] == "layernorm");
  CHECK(operator_of(half, "encode", "residual_norm")["count"] == 24);
  const Json coded = planned(box, kBertBase, {"--quantisation", "int8"});
  CHECK(operator_of(coded, "encode", "embedding_quantise")["algorithm"] == "cast_quantise");
}

TEST_CASE("what a kind does not describe, and what no algorithm does, are rows of their own") {
  Sandbox box;
  const Json experts = planned(box, changed(kTiny, "num_local_experts", 8));
  CHECK(others(experts) == std::vector<std::string>{"num_local_experts", "num_local_experts"});
  CHECK(experts["steps"][0]["untimed"] == 1);
  const ProgramResult text = box.run({"library", "plan", (box.folder / "model.json").string()});
  CHECK(text.out.find("other: num_local_experts: not described") != std::string::npos);

  const std::string kind = box.write("kind.json", R"json({
    "format": 1, "name": "mixer", "summary": "sums", "model_types": ["mixer"],
    "sizes": {"width": {"help": "width of a token"}},
    "texts": {"dtype": {"default": "bfloat16", "choices": ["bfloat16"], "help": "element type"}},
    "phases": [{"name": "mix", "over": ["batch"]}],
    "operators": [
      {"operator": "hadamard", "what": "a transform", "count": "3", "flops": "batch * width", "bytes": "4 * batch * width"},
      {"operator": "norm", "what": "a norm", "count": "1", "algorithm": "rmsnorm", "params": {"dtype": "dtype"},
       "axes": {"M": "batch", "N": "width"}, "flops": "0", "bytes": "0"}]})json");
  const Json own =
      planned(box, R"({"model_type": "mixer", "width": 1048576})", {"--kind", kind, "--batch", "64"});
  CHECK(others(own) == std::vector<std::string>{"hadamard"});
  CHECK(operator_of(own, "mix", "hadamard")["floor_us"].get<double>() == Approx(54.6).epsilon(0.01));
  CHECK(operator_of(own, "mix", "norm")["algorithm"] == "rmsnorm");
}

TEST_CASE("times that were measured on the device for the shape count, and say so") {
  Sandbox box;
  const std::string best = (box.folder / "best.json").string();
  REQUIRE(box.run({"generate", "--algorithm", "softmax", "--dtype", "float32", "--shape", "M=1,N=64",
                   "--arch", "sm_90a", "--device", "emulator", "--max-evaluations", "1", "--unaudited",
                   "--output", (box.folder / "k.cu").string()})
              .exit_code == 0);
  REQUIRE(box.run({"best", "export", "--output", best}).exit_code == 0);
  const auto softmax = [&] {
    return operator_of(planned(box, kTiny, {"--best", best, "--outside"}), "decode", "softmax")["library"];
  };
  CHECK(softmax()["source"] == "predicted");  // a cost of the CPU device is no time
  Json points = parse_json(read_file(best));
  REQUIRE(points["points"].size() == 1);
  points["points"][0]["emulated"] = false;
  points["points"][0]["device"] = "NVIDIA H200";
  points["points"][0]["time_ns"] = 4250;
  write_file_atomically(best, points.dump());
  const Json measured = softmax();
  CHECK(measured["source"] == "measured");
  CHECK(measured["us"] == 4.25);
  CHECK(measured["variant"]["template"].get<std::string>().starts_with("softmax"));
  const Json elsewhere = operator_of(planned(box, kTiny, {"--best", best, "--arch", "h100", "--outside"}),
                                     "decode", "softmax")["library"];
  CHECK(elsewhere["source"] == "predicted");
}

TEST_CASE("a plan is a table for people, and a picture") {
  Sandbox box;
  const std::string picture = (box.folder / "plan.svg").string();
  const ProgramResult result =
      box.run({"library", "plan", box.write("tiny.json", kTiny), "--batch", "2", "--picture", picture});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("tiny: decoder (llama), dtype bfloat16") != std::string::npos);
  CHECK(result.out.find("decode, batch 2, context 1024\n") != std::string::npos);
  CHECK(result.out.find("\noperator  ") != std::string::npos);
  CHECK(result.out.find("  a step: ") != std::string::npos);
  CHECK(result.out.find("p: predicted") != std::string::npos);
  const std::string svg = read_file(picture);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.find("with the library") != std::string::npos);
  CHECK(svg.find("<title>mlp_down: ") != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("a plan names what is wrong with a model, and what was expected") {
  Sandbox box;
  const auto refused = [&](const std::string& model, const std::string& message,
                           const std::vector<std::string>& more = {}, ExitCode exit = ExitCode::bad_input) {
    std::vector<std::string> arguments{"library", "plan", box.write("wrong.json", model)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = box.run(arguments);
    INFO(result.err);
    CHECK(result.exit_code == code(exit));
    CHECK(result.err.find(message) != std::string::npos);
    CHECK(result.out.empty());
  };
  refused(kTiny, "--phase decoding: decoder has no such steps; expected prefill or decode",
          {"--phase", "decoding"}, ExitCode::usage);
  refused("layers: 3", "wrong.json: not JSON");
  refused("[1, 2]", "expected an object with the sizes of a model");
  refused(changed(kTiny, "hidden", nullptr), "the key 'hidden_size' is missing: width of a token");
  refused(changed(kTiny, "hidden", -128), "hidden_size: expected an integer from 1 to");
  refused(changed(kTiny, "hidden", 128.5), "hidden_size: expected an integer from 1 to");
  refused(changed(kTiny, "hidden", "wide"), "got \"wide\"");
  refused(changed(kTiny, "layers", 0), "num_hidden_layers: expected an integer from 1");
  refused(changed(kTiny, "hidden_size", 256), "'hidden', which means the same, is 128");
  refused(changed(kTiny, "heads", 3), "num_attention_heads have to divide hidden_size");
  refused(changed(kTiny, "kv_heads", 3), "num_key_value_heads have to divide num_attention_heads");
  refused(changed(kTiny, "model_type", nullptr), "the key 'model_type' is missing; expected one of ");
  refused(changed(kTiny, "model_type", "lama"), "model_type 'lama' is not known; did you mean 'llama'?");
  refused(changed(kTiny, "torch_dtype", "float8"), "dtype: expected one of float32, float16, bfloat16");
  refused(changed(kTiny, "attention_bias", "yes"), "attention_bias: expected true or false");
  refused(changed(kTiny, "quantization_config", Json{{"quant_method", "hqq"}}), "the method 'hqq'");
  refused(kTiny, "quantisation: expected one of none, fp8", {"--quantisation", "fp3"}, ExitCode::usage);
  refused(kTiny, "--batch: expected an integer from 1 to", {"--batch", "0"}, ExitCode::usage);
  refused(kTiny, "unknown architecture", {"--arch", "h2000"}, ExitCode::usage);
  refused(kTiny, "kind.json", {"--kind", (box.folder / "kind.json").string()});
  refused(
      kTiny, "operators: expected",
      {"--kind",
       box.write(
           "k.json",
           R"({"name": "k", "summary": "", "model_types": [], "sizes": {}, "texts": {}, "phases": [], "operators": []})")});
  CHECK(box.run({"library", "plan", (box.folder / "none.json").string()}).exit_code ==
        code(ExitCode::bad_input));
  CHECK(box.run({"library", "plan"}).exit_code == code(ExitCode::usage));
  CHECK(box.run({"library", "plans"}).err.find("did you mean 'plan'") != std::string::npos);
}

TEST_CASE("a PyTorch model is traced, and patterns that give the same numbers become operators") {
  if (!pytorch_here()) return;
  Sandbox box;
  const std::string file = box.write("block.py", R"py(import math
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, HEADS = 64, 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.scale = nn.LayerNorm(WIDTH), nn.Parameter(torch.ones(WIDTH))
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS), -1)
        x = self.norm(x + self.o((p @ v).transpose(1, 2).reshape(x.shape)))
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        y = x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * self.scale
        return torch.erfinv(F.silu(self.gate(y)) * self.up(y))


def get_inputs():
    return [torch.randn(2, 24, WIDTH)]


def get_init_inputs():
    return []
)py");
  const ProgramResult result = box.run({"library", "plan", file, "--json"});
  INFO(result.out << result.err);
  REQUIRE(result.exit_code == 0);
  const Json plan = parse_json(result.out);
  const auto row = [&](const std::string& name) { return operator_of(plan, "forward", name); };
  CHECK(row("attention")["axes"] == Json{{"B", 2}, {"G", 4}, {"H", 4}, {"S", 24}, {"T", 24}});
  CHECK(row("attention")["note"].get<std::string>().find("float32") != std::string::npos);
  CHECK(row("linear")["count"] == 4);
  CHECK(row("linear")["axes"] == Json{{"K", 64}, {"M", 48}, {"N", 64}});
  CHECK(row("residual_norm")["params"]["kind"] == "layernorm");
  CHECK(row("rmsnorm")["axes"] == Json{{"M", 48}, {"N", 64}});
  CHECK(row("rmsnorm")["count"] == 1);  // the other one is along tokens: its formula is refused
  CHECK(plan["notes"].dump().find("is not rmsnorm: its formula is off") != std::string::npos);
  CHECK(row("erfinv")["algorithm"] == "other");
  CHECK(row("erfinv")["floor_us"].get<double>() > 0);
  CHECK(plan["steps"][0]["phase"] == "forward");
  CHECK_FALSE(plan["steps"][0].contains("batch"));

  const ProgramResult sized = box.run({"library", "plan", file, "--batch", "4"});
  CHECK(sized.exit_code == code(ExitCode::usage));
  CHECK(sized.err.find("has its own sizes") != std::string::npos);
  const ProgramResult wrong = box.run({"library", "plan", box.write("wrong.py", "def model(:\n")});
  CHECK(wrong.exit_code == code(ExitCode::bad_input));
  CHECK(wrong.err.find("is not Python: line 1") != std::string::npos);
}

TEST_CASE("a table of a PyTorch model is looked up by indices of the type that it is given") {
  if (!pytorch_here()) return;
  Sandbox box;
  for (const bool wide : {true, false}) {
    const std::string file = box.write("table.py", std::string(R"py(import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 64)

    def forward(self, index):
        return self.table(index)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.arange(24).)py") + (wide ? "long()]\n" : "int()]\n"));
    const ProgramResult result = box.run({"library", "plan", file, "--json"});
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    const Json row = operator_of(parse_json(result.out), "forward", "embedding");
    CHECK(row["params"]["long_index"] == (wide ? 1 : 0));
    CHECK(row["axes"] == Json{{"H", 64}, {"N", 24}, {"V", 100}});
  }
}

TEST_CASE("what a plan says wrong of an operator is bad input of its file, with the place") {
  Sandbox box;
  const struct {
    const char *wrong, *said;
  } cases[] = {{R"({"operator": "up", "algorithm": "gem"})",
                "operators[1]: unknown algorithm 'gem'; did you mean 'gemm'"},
               {R"({"operator": "up", "algorithm": "gemm", "params": {"dtyp": "bf16"}})",
                "operators[1]: gemm has no parameter"},
               {R"({"operator": "up", "algorithm": "gemm", "params": {"dtype": "int3"}})", "operators[1]: "},
               {R"({"operator": "not a name", "algorithm": "gemm"})",
                "operators[1]: the operator's name 'not a name'"},
               {R"({"operator": "up"})", "operators[1]: it has no text \"algorithm\""},
               {"7", "operators[1]: it has no text \"operator\""}};
  for (const auto& one : cases) {
    const std::string plan = box.write(
        "plan.json",
        R"({"format": "alphakernel.library_plan", "operators": [{"operator": "down", "algorithm": "gemm"}, )" +
            std::string(one.wrong) + "]}");
    const ProgramResult result =
        box.run({"library", "build", "--plan", plan, "--output", (box.folder / "package").string()});
    INFO(one.wrong << "\n" << result.err);
    CHECK(result.exit_code == code(ExitCode::bad_input));
    CHECK_THAT(result.err, Catch::Contains("plan.json: " + std::string(one.said)));
    CHECK(is_one_line(result.err));
    CHECK_FALSE(box.exists("package.tune.json"));
  }
}
