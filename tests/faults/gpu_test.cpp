// SPDX-License-Identifier: Apache-2.0
// GPUs that are missing or lost, as a driver of our own reports to the program.
#include <catch2/catch.hpp>

#include "tests/faults/processes.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

/// A machine whose one GPU fails the given driver calls.
struct FakeGpu {
  explicit FakeGpu(const std::string& failures) {
    std::filesystem::copy(AK_FAKE_CUDA, box.folder / "libcuda.so.1");
    box.write("fail", failures);
    box.environment["LD_LIBRARY_PATH"] = box.folder.path().string();
  }
  ProgramResult generate(const std::string& device) {
    return box.run({"generate", "--algorithm", "vector_add", "--shape", "N=1000", "--device", device,
                    "--arch", "sm_80", "--max-evaluations", "8", "--output", (box.folder / "k.cu").string()});
  }
  Sandbox box;
};

TEST_CASE(
    "a GPU that is missing at the start is exit code 5 where it was asked for, else the CPU stands in") {
  FakeGpu gpu("cuInit 100\n");
  const ProgramResult asked = gpu.generate("cuda");
  INFO(asked.err);
  CHECK(asked.exit_code == code(ExitCode::environment));
  CHECK_THAT(asked.err,
             Contains("no GPU to run on") && Contains("starting the CUDA driver") && Contains("doctor"));
  CHECK(is_one_line(asked.err));
  const ProgramResult automatic = gpu.generate("auto");
  INFO(automatic.err);
  CHECK(automatic.exit_code == 0);
  CHECK_THAT(automatic.err, Contains("no GPU found") && Contains("CPU emulator"));
}

TEST_CASE("a GPU that is lost before or during a run ends it with exit code 5 and the driver's reason") {
  const Subreaper subreaper;
  struct Case {
    std::string failures, words;
  };
  for (const Case& lost : {Case{"cuDevicePrimaryCtxRetain 46\n", "opening a context on device 0 (Fake GPU)"},
                           Case{"cuModuleLoadDataEx 999\ncuModuleLoadData 999\n", "CUDA_ERROR_MADE_UP"},
                           Case{"cuStreamSynchronize 214\ncuCtxSynchronize 214\n", "CUDA_ERROR_MADE_UP"}}) {
    FakeGpu gpu(lost.failures);
    const ProgramResult result = gpu.generate("cuda");
    INFO(lost.failures << result.out << result.err);
    CHECK(result.exit_code == code(ExitCode::environment));
    CHECK_THAT(result.err, Contains(lost.words));
    CHECK(gpu.box.query("SELECT status FROM searches") == "failed\r\n");
    CHECK(Subreaper::all_end());
  }
}

struct LostNight {
  /// @param minutes that its session waits for the GPU
  explicit LostNight(double minutes) {
    const std::string manifest =
        gpu.box.write("night.json", fmt::format(R"({{"budgets": {{"wait_for_device_minutes": {}}}, "runs": [
          {{"algorithm": "vector_add", "shape": {{"N": 1000}}, "device": "auto", "arch": "sm_80", "max_evaluations": 8}},
          {{"name": "next", "algorithm": "vector_add", "device": "emulator", "arch": "sm_80"}}]}})",
                                                minutes));
    const std::string folder = gpu.box.folder.path().string();
    lost = gpu.box.run({"session", "start", manifest, "--foreground", "-o", folder});
  }
  [[nodiscard]] bool tried_again() const { return lost.err.find("trying again in") != std::string::npos; }

  FakeGpu gpu{"cuStreamSynchronize 214\ncuCtxSynchronize 214\n"};
  ProgramResult lost;
};

TEST_CASE("a session waits for a lost GPU, ends with exit code 5 where it does not come back, and resumes") {
  const Subreaper subreaper;
  // Where the machine takes longer for the first try than the session waits, it has to wait longer.
  auto night = std::make_unique<LostNight>(0.05);
  for (double minutes = 0.5; !night->tried_again() && minutes < 10; minutes *= 4)
    night = std::make_unique<LostNight>(minutes);
  auto& [gpu, lost] = *night;
  INFO(lost.out << lost.err);
  CHECK(lost.exit_code == code(ExitCode::environment));
  CHECK_THAT(lost.err, Contains("trying again in") && Contains("CUDA_ERROR_MADE_UP"));
  CHECK(gpu.box.query("SELECT status, exit_code FROM sessions") == "failed,5\r\n");
  CHECK(gpu.box.query("SELECT state FROM session_searches ORDER BY position") == "failed\r\nqueued\r\n");
  gpu.box.write("fail", "cuDevicePrimaryCtxRetain 46\n");
  const ProgramResult again = gpu.box.run({"session", "resume", "1", "--foreground"});
  INFO(again.out << again.err);
  CHECK(again.exit_code == code(ExitCode::environment));  // and not on the CPU instead
  CHECK(gpu.box.query("SELECT count(*), min(status) FROM searches") == "1,failed\r\n");
  CHECK(Subreaper::all_end());
}

}  // namespace
