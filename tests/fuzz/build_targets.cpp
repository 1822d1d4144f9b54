// SPDX-License-Identifier: Apache-2.0
// What compilers and their workers leave: results in the cache, images, logs.
#include "core/build.h"
#include "core/error.h"
#include "core/text/hash.h"
#include "runtime/build/build_cache.h"
#include "runtime/build/build_key.h"
#include "runtime/build/code_hash.h"
#include "runtime/build/compile_log.h"
#include "runtime/build/ptxas_facts.h"
#include "runtime/evaluator/compute_sanitizer.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input_files.h"

namespace ak::fuzz {
namespace {

namespace fs = std::filesystem;

const std::string kKey(64, '0');

/// The input as a cache's entry, and as what an entry with the right hash holds.
void find_in_cache(std::string_view input) {
  const fs::path folder = empty_folder("cache");
  const std::string entry = "cache/00/" + kKey + ".json";
  fs::create_directories(folder / "00");
  runtime::BuildCache cache(folder);
  const auto key = runtime::BuildKey::parse(kKey).value();
  (void)input_file(entry, input);
  (void)cache.find(key);
  (void)input_file(entry, "alphakernel-build-2 " + sha256_hex(input) + ' ' + std::to_string(input.size()) +
                              " 0\n" + std::string(input));
  const auto found = cache.find(key);
  AK_ASSERT(!found || found->key == kKey, "an entry of another key is none");
}

}  // namespace

void read_build_result(std::string_view input) {
  find_in_cache(input);
  const Json json = try_parse_json(input);
  if (json.is_discarded()) return;
  try {
    const Json written = to_json(build_result_from_json(json));
    AK_ASSERT(to_json(build_result_from_json(written)) == written, "a result that was written is the same");
  } catch (const Error& error) {
    AK_ASSERT(error.code() == ExitCode::bad_input, "what is wrong in a result is bad input");
  }
}

void read_image(std::string_view input) { (void)runtime::code_hash(input); }

void read_tool_log(std::string_view input) {
  (void)runtime::parse_compile_log(input, "fuzz.cu");
  (void)runtime::clean_compile_log(input);
  KernelFacts facts{.expression = "softmax", .lowered_name = "softmax", .parameter_types = {}};
  runtime::read_ptxas_report(input, facts);
  (void)runtime::read_entry(input, facts);
  (void)runtime::read_sanitizer_log(input);
}

}  // namespace ak::fuzz
