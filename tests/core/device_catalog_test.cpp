// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_catalog.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/text/file.h"

namespace ak {
namespace {

namespace fs = std::filesystem;

const DeviceCatalog& shipped() { return DeviceCatalog::shipped(); }

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("ak_devices_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  void write(const char* name, const char* text) const { write_file_atomically(path_ / name, text); }
  [[nodiscard]] DeviceCatalog catalog() const { return DeviceCatalog::with_folder(path_); }
  [[nodiscard]] std::string refusal() const {
    try {
      static_cast<void>(catalog());
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      return error.what();
    }
    return "accepted";
  }

 private:
  fs::path path_;
};

TEST_CASE("every product that is promised is there, and knows what a product must be known by") {
  for (const char* name : {"A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "rtx 3090", "NVIDIA GeForce RTX 4090",
                           "l40s", "h100", "h100 pcie", "NVIDIA H200", "gh200", "b200", "jetson thor",
                           "rtx-5090", "rtx_pro_6000_max_q", "gb10"}) {
    INFO(name);
    const DeviceEntry* entry = shipped().find(name);
    REQUIRE(entry != nullptr);
    REQUIRE(entry->is_product());
    for (const char* property :
         {"sm_count", "boost_clock_mhz", "memory_bandwidth_gbps", "memory_gb", "l2_mib",
          "shared_bytes_per_sm", "issue_slots", "special_per_clock", "pipe/fp32"})
      CHECK(entry->value(property).value_or(0) > 0);
    CHECK(entry->properties.contains("base_clock_mhz"));
  }
}

TEST_CASE("every figure of every device says who says so, or why it is not known") {
  for (const DeviceEntry& entry : shipped().entries()) {
    for (const auto& [name, property] : entry.properties) {
      INFO(entry.name << " " << name);
      CHECK(property.source.size() > 15);  // words, not a key that was left unresolved
    }
  }
}

TEST_CASE("a bandwidth is the memory clock times the bus") {
  int compared = 0;
  for (const DeviceEntry& entry : shipped().entries()) {
    const auto clock = entry.value("memory_clock_mhz"), bus = entry.value("memory_bus_bits");
    if (!clock || !bus) continue;
    INFO(entry.name);
    CHECK(2 * *clock * *bus / 8 / 1000 == Approx(entry.value("memory_bandwidth_gbps").value()).epsilon(0.01));
    ++compared;
  }
  CHECK(compared >= 14);
}

TEST_CASE("rates times SMs times clock are the data sheets' TFLOP/s") {
  constexpr std::string_view kSheet = "sheet/";
  int compared = 0;
  for (const DeviceEntry& entry : shipped().entries()) {
    for (const auto& [name, sheet] : entry.properties) {
      if (!name.starts_with(kSheet) || !sheet.value) continue;
      INFO(entry.name << " " << name);
      const std::string rate = name.substr(kSheet.size());
      const bool tensor = rate.starts_with("tensor/") && rate != "tensor/fp64";
      const double boost = entry.value("boost_clock_mhz").value();
      const double mhz = tensor ? entry.value("tensor_clock_mhz").value_or(boost) : boost;
      const double tera = entry.value(rate).value() * entry.value("sm_count").value() * mhz / 1e6;
      CHECK(tera == Approx(*sheet.value).epsilon(0.02));
      ++compared;
    }
  }
  CHECK(compared > 80);
}

TEST_CASE(
    "instructions are those of the architecture: sm_120 and sm_121 have TMA and block scales, no wgmma") {
  const auto has = [](const char* name, const char* feature) { return shipped().find(name)->has(feature); };
  for (const char* name : {"rtx5090", "rtx_pro_6000_max_q", "gb10", "sm_120", "sm_121"}) {
    INFO(name);
    CHECK_FALSE(has(name, "wgmma"));
    CHECK_FALSE(has(name, "tcgen05"));
    CHECK(has(name, "tma"));
    CHECK(has(name, "mma_block_scale"));
    CHECK(has(name, "fp4"));
  }
  CHECK(has("h200", "wgmma"));
  CHECK_FALSE(has("h200", "tcgen05"));
  CHECK(has("b200", "tcgen05"));
  CHECK(has("thor", "tcgen05"));
  CHECK_FALSE(has("b200", "wgmma"));
  CHECK_FALSE(has("rtx4090", "tma"));
  CHECK_FALSE(has("a100", "fp8"));
  CHECK(has("a100", "cp_async"));
}

TEST_CASE("a product's own rates come before its architecture's") {
  CHECK(shipped().find("rtx4090")->value("tensor/fp16") == 512);
  CHECK(shipped().find("rtx4090")->value("tensor/fp16_acc16") == 1024);
  CHECK(shipped().find("l40s")->value("tensor/fp16") == 1024);
  CHECK_FALSE(shipped().find("gb10")->value("tensor/fp16"));  // known not to be known, though sm_121's is
}

TEST_CASE("a device is found by the driver's name, a name that is not known by its architecture") {
  DeviceFacts device{.kind = DeviceKind::cuda, .name = "NVIDIA H200", .uuid = {}, .arch = {9, 0, 'a'}};
  CHECK(shipped().of(device)->name == "NVIDIA H200");
  device.name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb";
  CHECK(shipped().of(device)->name == "sm_90");
  device.name = "NVIDIA B200";  // a name that lies about its architecture
  CHECK(shipped().of(device)->name == "sm_90");
  device.arch = {7, 0};
  CHECK(shipped().of(device) == nullptr);
}

TEST_CASE("an architecture is represented by a product, or an older one's") {
  CHECK(shipped().nominal({9, 0, 'a'})->name == "NVIDIA H200");
  CHECK(shipped().nominal({8, 8})->name == "Orin");
  CHECK(shipped().nominal({12, 1, 'a'})->name == "NVIDIA GB10");
  CHECK(shipped().nominal({5, 0}) == nullptr);
}

TEST_CASE("a user's file replaces figures of a known device and adds devices") {
  const Folder folder;
  folder.write("mine.json", R"({"name": "H200", "figures": {"power_limit_w": [500, "our cooling"]}})");
  folder.write("other.json", R"({"name": "NVIDIA H20", "aliases": ["h20 of ours"], "arch": "sm_90a",
    "sources": {"sheet": "the vendor's list"}, "figures": {"sm_count": [78, "sheet"]}})");
  const DeviceCatalog catalog = folder.catalog();
  const DeviceEntry& h200 = *catalog.find("NVIDIA H200");
  CHECK(h200.value("power_limit_w") == 500);
  CHECK(h200.properties.at("power_limit_w").source == "our cooling");
  CHECK(h200.value("sm_count") == 132);
  CHECK(catalog.find("h20 of ours")->value("sm_count") == 78);
  CHECK(catalog.find("h20 of ours")->properties.at("sm_count").source == "the vendor's list");
  CHECK(catalog.find("h20 of ours")->value("tensor/bf16") == 4096);  // of its architecture
  CHECK(shipped().find("h200")->value("power_limit_w") == 700);
}

TEST_CASE("a file that is wrong is refused with its name and the key") {
  const auto refusal = [](const char* text) {
    const Folder folder;
    folder.write("bad.json", text);
    return folder.refusal();
  };
  const auto says = [&](const char* text, const char* words) {
    const std::string message = refusal(text);
    INFO(message);
    CHECK(message.find("bad.json: ") != std::string::npos);
    CHECK(message.find(words) != std::string::npos);
  };
  says("{", "not JSON");
  says(R"({"arch": "sm_90"})", "'name' is missing");
  says(R"({"name": "X"})", "'arch' is missing");
  says(R"({"name": "X", "arch": "hopper"})", "arch: expected a target such as \"sm_90a\"");
  says(R"({"name": "X", "arch": "sm_90", "figure": {}})", "unknown key 'figure'");
  says(R"({"name": "H200", "figures": {"sm_counts": [1, "me"]}})", "figures.sm_counts: no such property");
  says(R"({"name": "H200", "figures": {"sm_counts": [1, "me"]}})", "did you mean 'sm_count'?");
  says(R"({"name": "H200", "figures": {"sm_count": 132}})", "figures.sm_count: expected a list");
  says(R"({"name": "H200", "figures": {"sm_count": [132]}})", "figures.sm_count: expected [value, source]");
  says(R"({"name": "H200", "figures": {"sm_count": [132, ""]}})", "figures.sm_count[1]: expected");
  says(R"({"name": "H200", "figures": {"sm_count": [-1, "me"]}})", "figures.sm_count[0]: expected a number");
  says(R"({"name": "H200", "figures": {"feature/tma": [1, "me"]}})", "expected true or false");
}

TEST_CASE("an entry shown as JSON can be a user's file") {
  const Folder folder;
  Json entry = to_json(*shipped().find("rtx5090"));
  entry["name"] = "my card";
  entry["aliases"] = Json::array();
  folder.write("mine.json", entry.dump().c_str());
  const DeviceCatalog catalog = folder.catalog();
  CHECK(catalog.find("my card")->value("tensor/fp4") == 4096);
  CHECK(catalog.find("my card")->has("tma"));
}

}  // namespace
}  // namespace ak
