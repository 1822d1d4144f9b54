// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/export_text.h"

#include <catch2/catch.hpp>

namespace ak::codegen {
namespace {

TEST_CASE("every placeholder takes its value, as often as it is there") {
  CHECK(filled_text("@a@@b_c@ {@a@}\n", {{"a", "1"}, {"b_c", "@a@"}}).value() == "1@a@ {1}\n");
  CHECK(filled_text("", {}).value().empty());
  CHECK(filled_text("no placeholder", {}).value() == "no placeholder");
}

TEST_CASE("a sign that begins no placeholder stays") {
  for (const char* text : {"@", "@@", "/// @param x", "a@b.c and d@e.f", "@Big@", "@1@", "@a"})
    CHECK(filled_text(text, {}).value() == text);
  CHECK(filled_text("@param @x@", {{"x", "y"}}).value() == "@param y");
}

TEST_CASE("a placeholder without a value and a value without a placeholder are errors") {
  CHECK(filled_text("@a@ @b@", {{"a", "1"}}).error().message == "the placeholder @b@ has no value");
  CHECK(filled_text("@a@", {{"a", "1"}, {"b", "2"}}).error().message == "there is no placeholder @b@");
}

TEST_CASE("a text of a problem stays in the line of comment that it is put in") {
  CHECK(comment_text("two\nlines \\ and a tab\t\\ ") == "two lines \\ and a tab");
}

TEST_CASE("a text is the file of its name") {
  CHECK(export_text("operator_copied.cpp", {}).starts_with("at::Tensor copied("));
  CHECK(export_text("package.py", {{"name", "softmax"}, {"space", "alphakernel_1"}, {"prepared", ""}})
            .find("softmax_out = torch.ops.alphakernel_1") != std::string::npos);
}

}  // namespace
}  // namespace ak::codegen
