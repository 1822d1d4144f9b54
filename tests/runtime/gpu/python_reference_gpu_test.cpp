// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/support/started_reference.h"

namespace ak::testing {
namespace {

TEST_CASE("a confined reference process computes on the GPU, and opens no connection from there") {
  const auto python = python_here();
  if (!python) return;
  StartedReference started(*python, {}, true);
  REQUIRE(started.open("import torch\ndef run(x):\n  return x + 1\n"));
  const auto answer = started.compute();
  REQUIRE(answer);
  CHECK(answer->at("notes").dump() == "[]");
  CHECK(started.refusal_of("assert x.is_cuda; return x + 1") == "");
  CHECK_THAT(started.refusal_of("import socket; socket.socket(); return x + 1"),
             Catch::Contains("a reference may write no files, open no sockets"));
}

}  // namespace
}  // namespace ak::testing
