// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/code_closure.h"

#include <catch2/catch.hpp>
#include <string>

#include "codegen/source/frozen_constants.h"

using namespace ak;

namespace {

const std::string kUnrelated = "__global__ void product(float* y) { y[threadIdx.x] = OTHER; }\n";

std::string behind(const std::string& before, const std::string& body, const std::string& kernel = "pack") {
  return codegen::code_behind(before + "\n__global__ void pack(int* packed) { " + body + " }\n" + kUnrelated,
                              {kernel});
}

}  // namespace

TEST_CASE("what a packing depends on is behind it, however it is declared") {
  struct Row {
    std::string before, body;
  };
  const Row rows[] = {
      {"", "packed[0] = WIDTH;"},
      {"using Rows = Count<WIDTH>;\nusing Tile = Wide<int, Rows>;", "Tile tile;"},
      {"template <class T> using Tile = Wide<T, WIDTH>;", "Tile<int> tile;"},
      {"using Order = enum { FIRST, LAST = WIDTH };", "packed[0] = LAST;"},
      {"enum { FIRST = WIDTH, LAST };", "packed[0] = LAST;"},
      {"typedef struct { int at[WIDTH]; } Tile;", "Tile tile;"},
      {"struct Tile { int at = WIDTH; } constexpr tile;", "packed[0] = tile.at;"},
      {"constexpr int HALF = max(1, 2), WHOLE = WIDTH;", "packed[0] = WHOLE;"},
      {"constexpr int HALF{2}, WHOLE{WIDTH};", "packed[0] = WHOLE;"},
      {"__attribute__((noinline)) __device__ int width() { return WIDTH; }", "packed[0] = width();"},
      {"DEVICE(inline) int width() { return WIDTH; }", "packed[0] = width();"},
      {"template <int BY = (1 << 2)> __device__ int width() { return WIDTH; }", "packed[0] = width();"},
      {"extern \"C\" { __device__ int width() { return WIDTH; } }", "packed[0] = width();"},
      {"struct Tile { int a, b; __device__ Tile(); };\n__device__ Tile::Tile() : a{1}, b{2} { a = WIDTH; }",
       "Tile tile;"},
      {"struct Tile { int at; };\n__device__ int operator+(Tile a, int b) { return a.at * WIDTH + b; }",
       "packed[0] = Tile{1} + 2;"},
      {"namespace one { constexpr int OF = WIDTH; }", "packed[0] = one::OF;"},
      {"#define OF (2 * WIDTH)", "packed[0] = OF;"},
      {"constexpr int OF =\n#if WIDTH == 4\n  1\n#else\n  2\n#endif\n  ;", "packed[0] = OF;"},
      // Declarations that cannot be told apart: all of the source.
      {"#define NAME(x) of_##x\nconstexpr int of_rows = WIDTH;", "packed[0] = NAME(rows);"},
      {"#if BIG\nnamespace a {\n#else\nnamespace b {\n#endif\nconstexpr int OF = WIDTH;\n}",
       "packed[0] = OF;"},
      {"#define OF \\\r\n  WIDTH", "packed[0] = OF;"},
  };
  for (const Row& row : rows) {
    INFO(row.before);
    CHECK(codegen::mentions(behind(row.before, row.body), "WIDTH"));
  }
}

TEST_CASE("what a packing does not depend on is not behind it") {
  for (const std::string before :
       {"constexpr int LINES = WIDTH * 2;", "using Layer = Product<int, WIDTH>;",
        "struct Lines { int at[WIDTH]; } lines;", "__device__ auto lines() -> int { return WIDTH; }",
        "__device__ int lines(int packed, int threads = WIDTH) { return packed; }",
        "__global__ void lines() {\n#pragma unroll WIDTH\n  for (int i = 0; i < 8; ++i) {}\n}"}) {
    INFO(before);
    const std::string code = behind(before, "packed[0] = 1;");
    CHECK_FALSE(codegen::mentions(code, "WIDTH"));
    CHECK_FALSE(codegen::mentions(code, "product"));
  }
}

TEST_CASE("pragmas that change what follows them, and namespaces that are searched, tell packings apart") {
  const std::string tile = "struct Tile { char a; int b; };", one = "namespace one { struct Tile {}; }\n",
                    two = "namespace two { struct Tile { int at; }; }\n";
  CHECK(behind("#pragma pack(1)\n" + tile, "Tile tile;") != behind("#pragma pack(2)\n" + tile, "Tile tile;"));
  CHECK(behind(one + two + "using namespace one;", "Tile tile;") !=
        behind(one + two + "using namespace two;", "Tile tile;"));
}

TEST_CASE("types that a packing is made for, and kernels that a macro writes, are behind it") {
  CHECK(codegen::mentions(behind("struct Tile { int at[WIDTH]; };", "packed[0] = 1;", "pack<Tile, 2>"),
                          "WIDTH"));
  CHECK(codegen::mentions(codegen::code_behind("#define KERNEL(name) __global__ void name(int* packed)\n"
                                               "KERNEL(pack) { packed[0] = WIDTH; }\n",
                                               {"pack"}),
                          "WIDTH"));
}
