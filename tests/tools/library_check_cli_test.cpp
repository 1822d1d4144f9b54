// SPDX-License-Identifier: Apache-2.0
// A package of kernels that is measured again, on the CPU device, whose costs hardly vary.
#include <catch2/catch.hpp>

#include <filesystem>

#include "app/kernel_library/library_repair.h"
#include "app/kernel_library/package_folder.h"
#include "app/kernel_library/package_plan.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// The head that every kernel of a package has: which problem it is of.
std::string kernel_text(const std::string& body) {
  return "/* alphakernel\n{\"problem\": \"vector_add\", \"params\": {\"dtype\": \"float32\"},\n"
         " \"launches\": [{\"kernel\": \"add\", \"grid\": [\"ceil_div(N, 256)\"], \"block\": [256], "
         "\"args\": [\"a\", \"b\", \"c\", {\"i64\": \"N\"}]}]}\n*/\n"
         "__global__ void add(const float* a, const float* b, float* c, long long n) {\n" +
         body + "}\n";
}

const std::string kAdd =
    "  const long long i = blockIdx.x * 256LL + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n";

/// A kernel that the CPU device has timed, packed.
struct PackedSandbox : Sandbox {
  const std::string dist = (folder / "dist").string();
  const std::string description = dist + "/made_ops/library.json";

  /// With the files of one that was packed once: measuring and compiling take seconds.
  PackedSandbox() {
    static const PackedSandbox first{Packs{}};
    variant = first.variant;
    std::filesystem::copy(
        first.folder.path(), folder.path(),
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  }

  struct Packs {};
  explicit PackedSandbox(Packs) {
    const std::string file = write("add.cu", kernel_text(kAdd));
    const ProgramResult evaluated = run({"evaluate", file, "--device", "emulator", "--unaudited", "--json"});
    INFO(evaluated.out << evaluated.err);
    REQUIRE(evaluated.exit_code == 0);
    variant = query("SELECT id FROM variants");
    variant.erase(variant.find_last_not_of("\r\n") + 1);
    pack({"add=" + variant});
  }

  void pack(const std::vector<std::string>& kernels) {
    std::vector<std::string> arguments{"library", "build",  "--name", "made_ops", "--output",
                                       dist,      "--arch", "sm_90a", "--force"};
    for (const std::string& kernel : kernels) arguments.insert(arguments.end(), {"--kernel", kernel});
    const ProgramResult built = run(arguments);
    INFO(built.out << built.err);
    REQUIRE(built.exit_code == 0);
  }

  /// Changes what library.json says of how the first operator was measured.
  void change_measured(const std::function<void(Json&)>& change) const {
    Json json = parse_json(read_file(description));
    change(json["operators"][0]["measured"]);
    write_file_atomically(description, json.dump());
  }

  ProgramResult check(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"library", "check", dist, "--device", "emulator", "--unaudited"});
    return run(more);
  }

  std::string variant;
};

void scale_times(Json& measured, double factor) {
  for (Json& time : measured["times"]) time["median_us"] = time["median_us"].get<double>() * factor;
}

}  // namespace

TEST_CASE("a package in which nothing changed is fine, and says what was compared") {
  PackedSandbox box;
  const ProgramResult text = box.check();
  INFO(text.out << text.err);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("no regression in") != std::string::npos);
  const Json json = parse_json(box.check({"--json"}).out);
  CHECK(json["regressed"].empty());
  CHECK(json["comparisons"] > 0);
  for (const Json& row : json["shapes"]) {
    CHECK(row["operator"] == "add");
    CHECK(row["verdict"] == "fine");
    CHECK(row["stored_us"] == row["now_us"]);
  }
}

TEST_CASE(
    "a kernel that costs five per cent more than when it was packed is named, one of one per cent is not") {
  PackedSandbox box;
  box.change_measured([](Json& measured) { scale_times(measured, 1 / 1.01); });
  CHECK(box.check().exit_code == 0);
  box.change_measured([](Json& measured) { scale_times(measured, 1.01 / 1.05); });
  const ProgramResult slower = box.check();
  INFO(slower.out << slower.err);
  CHECK(slower.exit_code == code(ExitCode::expectation));
  CHECK(slower.out.find("it costs 5.0 % more than when it was packed") != std::string::npos);
  CHECK(slower.out.find("regressions: add") != std::string::npos);
}

TEST_CASE("a check leaves its measurements in the database") {
  PackedSandbox box;
  REQUIRE(box.check().exit_code == 0);
  CHECK(box.query("SELECT count(*) FROM searches WHERE command LIKE 'library check%'").starts_with("1"));
}

TEST_CASE("a kernel that no longer assembles is named, and the others are checked") {
  PackedSandbox box;
  box.pack({"add=" + box.variant, "sum=" + box.write("sum.cu", kernel_text("  // another\n" + kAdd))});
  write_file_atomically(box.dist + "/made_ops/kernels/sum.cu", kernel_text("  no_such_function();\n"));
  Json json_of_older = parse_json(read_file(box.description));
  json_of_older.erase("files");  // as before packages said what is in them
  write_file_atomically(box.description, json_of_older.dump());
  const ProgramResult result = box.check({"--json"});
  INFO(result.out << result.err);
  CHECK(result.exit_code == code(ExitCode::expectation));
  const Json json = parse_json(result.out);
  CHECK(json["regressed"] == Json::array({"sum"}));
  for (const Json& row : json["shapes"])
    if (row["operator"] == "sum")
      CHECK(row["reason"].get<std::string>().find("no_such_function") != std::string::npos);
}

TEST_CASE("a file of a package that changed since it was built is named, and made again by a repair") {
  PackedSandbox box;
  const std::string kernel = "made_ops/kernels/add.cu", image = "images/add.sm_90a.json";
  const std::string library = "made_ops/libmade_ops.so", readme = "README.md";
  const auto [changed, words] = GENERATE_COPY(
      std::pair(kernel, "changed since it was built"), std::pair(image, "changed since it was built"),
      std::pair(kernel, "is missing"), std::pair(library, "is missing"),
      std::pair(std::string("made_ops/_operators.py"), "is missing"),
      std::pair(std::string("pyproject.toml"), "changed since it was built"));
  const std::string before = read_file(box.dist + "/" + changed);
  if (words == std::string("is missing"))
    std::filesystem::remove(box.dist + "/" + changed);
  else
    write_file_atomically(box.dist + "/" + changed, "garbage");
  const Json found = parse_json(box.check({"--json"}).out);
  INFO(found.dump(1));
  CHECK(found["regressed"] == Json::array({"add"}));
  CHECK(found["shapes"][0]["reason"] == changed + " " + words);
  const ProgramResult repaired = box.check({"--repair", "--json"});
  INFO(repaired.out << repaired.err);
  CHECK(parse_json(repaired.out)["repair"]["replaced"]["add"] == box.variant);
  CHECK(repaired.err.find("tuning again") == std::string::npos);
  if (!changed.ends_with(".so") && changed != "pyproject.toml")
    CHECK(read_file(box.dist + "/" + changed) == before);
  CHECK(box.check().exit_code == 0);
  write_file_atomically(box.dist + "/" + readme, "garbage");
  const ProgramResult noted = box.check();
  CHECK(noted.exit_code == 0);
  CHECK(noted.out.find("README.md changed since it was built") != std::string::npos);
}

TEST_CASE("a package that is built again has nothing of the one before, and leaves other files alone") {
  PackedSandbox box;
  write_file_atomically(box.dist + "/notes.txt", "mine");
  const std::string sum = box.write("sum.cu", kernel_text("  // another\n" + kAdd));
  const ProgramResult built = box.run({"library", "build", "--name", "other_ops", "--output", box.dist,
                                       "--arch", "sm_90a", "--force", "--kernel", "sum=" + sum});
  INFO(built.out << built.err);
  REQUIRE(built.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(box.dist + "/made_ops"));
  CHECK_FALSE(std::filesystem::exists(box.dist + "/images/add.sm_90a.json"));
  CHECK(std::filesystem::exists(box.dist + "/images/sum.sm_90a.json"));
  CHECK(read_file(box.dist + "/notes.txt") == "mine");
  CHECK_FALSE(std::filesystem::exists(box.dist + "/.alphakernel-new"));
}

TEST_CASE("a package takes no file's place that is of no package, and comes through links") {
  PackedSandbox box;
  const std::filesystem::path own = box.folder / "own";
  const auto build_into = [&](const std::filesystem::path& folder) {
    return box.run({"library", "build", "--name", "made_ops", "--output", folder.string(), "--arch", "sm_90a",
                    "--force", "--kernel", "add=" + box.variant});
  };
  for (const std::string file : {"pyproject.toml", "made_ops/_patch.py"}) {
    std::filesystem::remove_all(own);
    std::filesystem::create_directories((own / file).parent_path());
    write_file_atomically(own / file, "mine");
    const ProgramResult refused = build_into(own);
    INFO(refused.err);
    CHECK(refused.exit_code == code(ExitCode::output));
    CHECK(refused.err.find(file + " is there, and is of no package") != std::string::npos);
    CHECK(read_file(own / file) == "mine");
    std::filesystem::remove(own / file);
  }
  std::filesystem::create_directories(own / "images");
  write_file_atomically(own / "images/a.png", "mine");
  write_file_atomically(own / "made_ops/code.py", "mine");
  std::filesystem::create_directory_symlink(own, box.folder / "link");
  for (int i = 0; i < 2; ++i) {
    const ProgramResult built = build_into(box.folder / "link");
    INFO(built.err);
    REQUIRE(built.exit_code == 0);
    CHECK(read_file(own / "images/a.png") == "mine");
    CHECK(read_file(own / "made_ops/code.py") == "mine");
    CHECK(std::filesystem::exists(own / "made_ops/libmade_ops.so"));
  }
}

TEST_CASE("one process at a time makes a package for a folder, and what a killed one left is gone") {
  PackedSandbox box;
  const std::string folder = (box.folder / "fresh").string();
  const std::vector<std::string> build{"library", "build",  "--name", "made_ops", "--output",
                                       folder,    "--arch", "sm_90a", "--kernel", "add=" + box.variant};
  {
    const app::PackageFolder taken(folder, false);
    write_file_atomically(taken.made() / "half.txt", "half");
    const ProgramResult second = box.run(build);
    CHECK(second.exit_code == code(ExitCode::output));
    CHECK(second.err.find("another process makes a package for") != std::string::npos);
    CHECK(std::filesystem::exists(taken.made() / "half.txt"));
  }
  CHECK_FALSE(std::filesystem::exists(folder));
  std::filesystem::create_directories(folder + "/.alphakernel-new/made");
  write_file_atomically(folder + "/.alphakernel-new/made/half.txt", "half");
  const ProgramResult built = box.run(build);
  INFO(built.out << built.err);
  CHECK(built.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder + "/half.txt"));
  CHECK_FALSE(std::filesystem::exists(folder + "/.alphakernel-new"));
  CHECK(box.run(build).err.find("is not empty; --force writes into it") != std::string::npos);
  const ProgramResult nowhere =
      box.run({"library", "build", "--output", "", "--kernel", "add=" + box.variant});
  CHECK(nowhere.exit_code == code(ExitCode::usage));
  CHECK(nowhere.err.find("--output is empty") != std::string::npos);
}

TEST_CASE(
    "shapes of a plan that are none are refused with their place, and a missing compiler before tuning") {
  PackedSandbox box;
  const auto built = [&](const std::string& axes, std::vector<std::string> more = {}) {
    const std::string plan = box.write(
        "plan.json",
        R"({"format": "alphakernel.library_plan", "operators": [{"operator": "copied", "algorithm": "copy", "params": {"dtype": "float32"}, "axes": )" +
            axes + "}]}");
    more.insert(more.begin(),
                {"library", "build", "--plan", plan, "--output", (box.folder / "planned").string()});
    return box.run(more);
  };
  for (const auto& [axes, words] : std::map<std::string, std::string>{
           {R"({"N": -1})", "its axis N is -1, and no whole number from 1 on"},
           {R"({"N": 1.5})", "its axis N is 1.5, and no whole number from 1 on"},
           {R"("N")", "its \"axes\" are no object"},
           {R"({"M": 5})", "its axes are M; expected N"},
           {R"({"M": 5, "N": 5})", "its axes are M, N; expected N"}}) {
    const ProgramResult result = built(axes);
    INFO(axes << result.err);
    CHECK(result.exit_code == code(ExitCode::bad_input));
    CHECK(result.err.find("operators[0]: " + words) != std::string::npos);
  }
  const ProgramResult blind = built(R"({"N": 4096})", {"--tune", "1", "--compiler", "/bin/false"});
  CHECK(blind.exit_code == code(ExitCode::environment));
  CHECK(blind.err.find("'/bin/false' does not run") != std::string::npos);
  CHECK(blind.err.find("no verified kernel") == std::string::npos);
}

TEST_CASE("what is no package of this database and this device is refused with what is wrong") {
  PackedSandbox box;
  const auto refused = [](const ProgramResult& result, ExitCode expected, const std::string& words) {
    INFO(result.out << result.err);
    CHECK(result.exit_code == code(expected));
    CHECK(result.err.find(words) != std::string::npos);
  };
  refused(box.run({"library", "check", (box.folder / "nothing").string()}), ExitCode::bad_input,
          "has no package");
  refused(box.check({"--operator", "mul"}), ExitCode::usage, "has no operator mul; it has add");
  refused(box.check({"--db", (box.folder / "other.db").string()}), ExitCode::bad_input, "another database");
  box.change_measured([](Json& measured) { measured["device"] = "NVIDIA H200"; });
  refused(box.check(), ExitCode::environment, "was measured on NVIDIA H200");
  box.change_measured([](Json& measured) { measured.erase("key"); });
  refused(box.check(), ExitCode::bad_input, "build the library again");
  write_file_atomically(box.description, "{\"format\": \"something\"}");
  refused(box.check(), ExitCode::bad_input, "is no \"alphakernel.kernel_library\"");
  write_file_atomically(
      box.description,
      R"({"format": "alphakernel.kernel_library", "name": "x", "operators": [{"name": 1}]})");
  refused(box.check(), ExitCode::bad_input, "lacks a field");
}

TEST_CASE("a kernel of a problem of the user's own is tuned again and takes the old one's place") {
  Sandbox box;
  const std::filesystem::path own = box.folder / "own";
  const std::string dist = (box.folder / "dist").string();
  std::filesystem::copy(AK_SOURCE_DIR "/templates/vector_add", own);
  for (const char* file : {"audit.json", "vector_add.cu"}) std::filesystem::remove(own / file);
  Json problem = parse_json(read_file(own / "problem.json"));
  problem["name"] = "own_add";
  problem["definition"]["name"] = "own_add_{dtype}";
  write_file_atomically(own / "problem.json", problem.dump());
  const std::string head = "\"problem\": \"vector_add\", \"params\": {\"dtype\": \"float32\"},\n";
  std::string found = kernel_text(kAdd);  // by a search among the folder's templates
  write_file_atomically(own / "add.cu", found.erase(found.find(head), head.size()));
  std::string slow = kernel_text("  for (long long i = threadIdx.x; i < n; i += 32) c[i] = a[i] + b[i];\n");
  for (const auto& [what, other] : std::map<std::string, std::string>{
           {"vector_add", "own_add"}, {"[256]", "[32]"}, {"\"ceil_div(N, 256)\"", "1"}})
    slow.replace(slow.find(what), what.size(), other);
  const auto succeeds = [&](std::vector<std::string> arguments, std::vector<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = box.run(arguments);
    INFO(result.out << result.err);
    REQUIRE(result.exit_code == 0);
    return result.out;
  };
  const std::vector<std::string> of_problem{"--problem", own.string()};
  succeeds({"evaluate", box.write("slow.cu", slow), "--device", "emulator", "--unaudited"}, of_problem);
  succeeds(
      {"library", "build", "--name", "made_ops", "--output", dist, "--arch", "sm_90a", "--kernel", "add=1"},
      of_problem);
  const std::string description = dist + "/made_ops/library.json";
  Json packed = parse_json(read_file(description));
  scale_times(packed["operators"][0]["measured"], 1 / 1.1);
  write_file_atomically(description, packed.dump());
  const Json json = parse_json(succeeds(
      {"library", "check", dist, "--device", "emulator", "--unaudited", "--repair", "--tune", "1", "--json"},
      of_problem));
  CHECK(json["regressed"] == Json::array({"add"}));
  CHECK(json["repair"]["replaced"].contains("add"));
  const Json repaired = parse_json(read_file(description));
  CHECK(repaired["version"] == "1.0.post1");
  CHECK(repaired["operators"][0]["algorithm"] == "own_add");
  CHECK(read_file(dist + "/made_ops/kernels/add.cu").find("i += 32") == std::string::npos);
}

TEST_CASE("a package that nobody measured has nothing to compare, which is no success") {
  PackedSandbox box;
  box.change_measured([](Json& measured) { measured = nullptr; });
  const ProgramResult result = box.check();
  CHECK(result.exit_code == code(ExitCode::environment));
  CHECK(result.err.find("nothing of made_ops could be compared") != std::string::npos);
}

TEST_CASE("the package keeps its machine code, and no folder of this machine in it") {
  PackedSandbox box;
  const std::string image = read_file(box.dist + "/images/add.sm_90a.json");
  CHECK(parse_json(image)["build"]["kernels"].size() == 1);
  CHECK(image.find(box.folder.path().string()) == std::string::npos);
}

TEST_CASE("of a kernel with more shapes than a set is learned from a session tunes so many, evenly") {
  app::TuningOrder order{.entries = {{.name = "add", .kernel = "", .problem = "vector_add"}},
                         .arch = {},
                         .device = {},
                         .minutes = 1};
  const auto shapes = [&](int count) {
    order.entries[0].axes.clear();
    for (int n = 0; n < count; ++n) order.entries[0].axes.push_back(Json{{"N", n}});
    return app::tuning_manifest(order)["runs"][0]["shape"];
  };
  CHECK(shapes(64).size() == 64);
  const Json some = shapes(128);
  REQUIRE(some.size() == 64);
  CHECK(some[1]["N"] == 2);
  CHECK(some[63]["N"] == 126);
}

TEST_CASE(
    "each kernel of a library is searched for in minutes of its own, most where most of the model's time "
    "goes") {
  const auto entry = [](const std::string& name, double share) {
    return app::PackageEntry{.name = name, .kernel = "", .problem = name, .share = share};
  };
  app::TuningOrder order{
      .entries = {entry("norm", 0.1), entry("gemm", 0.6), entry("norm", 0.1), entry("rope", 0.2)},
      .arch = {},
      .device = {},
      .minutes = 30};
  const Json manifest = app::tuning_manifest(order);
  CHECK_FALSE(manifest.contains("budgets"));
  REQUIRE(manifest["runs"].size() == 3);
  CHECK(manifest["runs"][0]["name"] == "gemm");
  CHECK(manifest["runs"][0]["max_minutes"] == 14.0);
  CHECK(manifest["runs"][1]["max_minutes"] == 8.0);
  CHECK(manifest["runs"][2]["max_minutes"] == 8.0);
  for (app::PackageEntry& one : order.entries) one.share = 0;
  CHECK(app::tuning_manifest(order)["runs"][0]["max_minutes"] == 10.0);
  order.minutes = 0;
  CHECK(app::tuning_manifest(order)["runs"][0]["max_minutes"] == 0.01);
}

TEST_CASE("a package that is made again has a version that pip takes for newer") {
  CHECK(app::next_version("1.0") == "1.0.post1");
  CHECK(app::next_version("1.0.post9") == "1.0.post10");
  CHECK(app::next_version("1.0.posts") == "1.0.posts.post1");
}
