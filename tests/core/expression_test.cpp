// SPDX-License-Identifier: Apache-2.0
#include "core/plan/expression.h"

#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <random>

#include "tests/support/fuzz_iterations.h"

namespace ak {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

Environment environment() {
  return {{"N", std::int64_t{1000}}, {"M", std::int64_t{-7}},           {"BLOCK", std::int64_t{256}},
          {"one", std::int64_t{1}},  {"dtype", std::string("float32")}, {"empty", std::string()}};
}

Expression parsed(const std::string& text) {
  const Result<Expression> expression = Expression::parse(text);
  INFO(text << ": " << (expression ? "" : expression.error().message));
  REQUIRE(expression.ok());
  return *expression;
}

std::string parse_error(const std::string& text) {
  const Result<Expression> expression = Expression::parse(text);
  INFO(text);
  REQUIRE_FALSE(expression.ok());
  return expression.error().message;
}

std::string evaluation_error(const std::string& text) {
  const Result<Value> value = parsed(text).evaluate(environment());
  INFO(text);
  REQUIRE_FALSE(value.ok());
  return value.error().message;
}

struct Pair {
  const char* text;
  Value value;
};
Pair integer(const char* text, std::int64_t value) { return {text, value}; }
Pair string(const char* text, const char* value) { return {text, std::string(value)}; }

}  // namespace

// Every value was checked with Python 3.11, except for the functions that Python lacks.
TEST_CASE("expressions have the values that Python gives them") {
  const std::vector<Pair> pairs{
      integer("0", 0), integer(" 42 ", 42), integer("00", 0), integer("True", 1), integer("False", 0),
      integer("9223372036854775807", kHighest), integer("-9223372036854775808", kLowest), integer("N", 1000),
      string("dtype", "float32"), string("'a b'", "a b"), string("\"it's\"", "it's"),
      integer("(((N)))", 1000), integer("1 +\n2", 3),
      // precedence and associativity
      integer("2 + 3 * 4", 14), integer("(2 + 3) * 4", 20), integer("10 - 4 - 3", 3),
      integer("100 // 7 // 2", 7), integer("100 // 7 * 2", 28), integer("2 * 100 // 7", 28),
      integer("7 % 4 * 2", 6), integer("-2 ** 2", -4), integer("(-2) ** 2", 4), integer("2 ** 3 ** 2", 512),
      integer("2 ** +3", 8), integer("-3 % 5", 2), integer("--3", 3), integer("-+-3", 3),
      integer("2 - -3", 5), integer("2*-3", -6), integer("- 2 * 3", -6), integer("-7 // 2", -4),
      integer("-(7 // 2)", -3),
      // rounding towards minus infinity
      integer("7 // 2", 3), integer("-7 // 2", -4), integer("7 // -2", -4), integer("-7 // -2", 3),
      integer("6 // -2", -3), integer("7 % 2", 1), integer("-7 % 2", 1), integer("7 % -2", -1),
      integer("-7 % -2", -1), integer("M % 4", 1), integer("0 // -5", 0), integer("0 % -5", 0),
      integer("12 / 4", 3), integer("-12 / 4", -3), integer("0 / 5", 0),
      // powers
      integer("0 ** 0", 1), integer("0 ** 5", 0), integer("1 ** 9223372036854775807", 1),
      integer("(-1) ** 9223372036854775807", -1), integer("2 ** 62", 4611686018427387904),
      integer("(-2) ** 63", kLowest), integer("7 ** 1", 7), integer("3037000499 ** 2", 9223372030926249001),
      // comparisons
      integer("1 < 2", 1), integer("2 <= 1", 0), integer("2 != 2", 0), integer("2 >= 2", 1),
      integer("3 > 3", 0), integer("1 < 2 < 3", 1), integer("1 < 3 < 2", 0), integer("3 > 2 == 2", 1),
      integer("1 < 2 == True", 0), integer("1 < 0 < 1 // 0", 0), integer("1 <= N <= 1024 != 7", 1),
      integer("(1 < 2) + (2 < 3)", 2), integer("dtype == 'float32'", 1), integer("dtype != \"float32\"", 0),
      integer("dtype == 1", 0), integer("'a' == 'a' == 'a'", 1),
      // in
      integer("2 in [1, 2]", 1), integer("2 in (1, 3)", 0), integer("2 not in [1, 3]", 1),
      integer("2 in (2,)", 1), integer("2 in []", 0), integer("2 not in ()", 1),
      integer("dtype in ['float16', 'float32']", 1), integer("'1' in [1]", 0),
      integer("N + 1 in [1, N + 1]", 1), integer("0 < 1 in [1]", 1), integer("not 1 in [1]", 0),
      integer("(1 in [1]) == 1", 1), integer("1 in [1, 2,]", 1),
      // logic returns operands and stops early
      integer("0 or 5", 5), integer("3 or 1 // 0", 3), integer("0 and 1 // 0", 0), integer("2 and 3", 3),
      integer("2 and 0 and 1 // 0", 0), integer("0 or 0", 0), string("empty or 'x'", "x"),
      string("dtype and empty", ""), integer("1 or 0 and 0", 1), integer("not 0", 1), integer("not 5", 0),
      integer("not not 5", 1), integer("not 1 == 2", 1), integer("not empty", 1), integer("1 + (not 0)", 2),
      // conditional
      integer("1 if True else 1 // 0", 1), integer("1 // 0 if 0 else 2", 2),
      integer("1 if 0 else 2 if 0 else 3", 3), integer("(1 if 1 else 2) + 1", 2),
      integer("1 if 1 else 2 + 1", 1), integer("5 if empty else 6", 6), string("'a' if N > 1 else 0", "a"),
      integer("1 or 2 if 0 else 3", 3),
      // functions
      integer("min(3, 1, 2)", 1), integer("max(3, 1, 2,)", 3), integer("abs(-5)", 5), integer("abs(5)", 5),
      integer("ceil_div(N, BLOCK)", 4), integer("ceil_div(-7, 2)", -3), integer("ceil_div(8, 4)", 2),
      integer("ceil_div(7, -2)", -3), integer("ceil_div(9223372036854775807, 2)", 4611686018427387904),
      integer("round_up(N, BLOCK)", 1024), integer("round_up(0, 8)", 0), integer("round_up(-7, 4)", -4),
      integer("is_pow2(BLOCK)", 1), integer("is_pow2(0)", 0), integer("is_pow2(-8)", 0),
      integer("is_pow2(1)", 1), integer("ilog2(1)", 0), integer("ilog2(BLOCK)", 8), integer("ilog2(255)", 7),
      integer("ilog2(2**62)", 62), integer("abs(min(M, N)) * 2", 14)};
  for (const Pair& pair : pairs) {
    const Result<Value> value = parsed(pair.text).evaluate(environment());
    INFO(pair.text << " " << (value ? to_string(*value) : value.error().message));
    REQUIRE(value.ok());
    CHECK(*value == pair.value);
  }
}

TEST_CASE("a text that is not an expression is refused with the column and what was expected") {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"", "column 1: expected a number, a name or '(', found the end"},
      {"1 +", "column 4: expected a number, a name or '(', found the end"},
      {"1 2", "column 3: expected an operator or the end, found '2'"},
      {"(1", "column 3: expected ')', found the end"},
      {"1)", "column 2: expected an operator or the end, found ')'"},
      {"N = 1", "column 3: unexpected character '='"},
      {"N & 1", "column 3: unexpected character '&'"},
      {"N \xC3\xA9", "column 3: unexpected byte 0xc3"},
      {"1.5", "column 1: expected a decimal integer (no fraction, exponent, suffix or other base)"},
      {"0x10", "column 1: expected a decimal integer (no fraction, exponent, suffix or other base)"},
      {"1_000", "column 1: expected a decimal integer (no fraction, exponent, suffix or other base)"},
      {"012", "column 1: an integer must not start with 0"},
      {"9223372036854775808", "column 1: the integer does not fit in 64 bits"},
      {"1 - 9223372036854775808", "column 5: the integer does not fit in 64 bits"},
      {"99999999999999999999", "column 1: the integer does not fit in 64 bits"},
      {"-9223372036854775808 ** 1", "column 2: the integer does not fit in 64 bits"},
      {"'abc", "column 1: the string has no closing quote"},
      {"'a\\n'", "column 1: a string must not contain a backslash: there are no escapes"},
      {"1 if 2", "column 7: expected 'else', found the end"},
      {"1 if 2 else", "column 12: expected a number, a name or '(', found the end"},
      {"not", "column 4: expected a number, a name or '(', found the end"},
      {"1 not 2", "column 7: expected 'in', found '2'"},
      {"1 in 2", "column 6: expected a list or tuple after 'in', found '2'"},
      {"1 in 'abc'", "column 6: expected a list or tuple after 'in', found a string"},
      {"1 in (1)", "column 8: expected ',': a tuple of one is written '(x,)'"},
      {"1 in [1 2]", "column 9: expected ',' or ']', found '2'"},
      {"1 in [,]", "column 7: expected a number, a name or '(', found ','"},
      {"1 in [1] == 1", "column 10: a list cannot be compared; put parentheses around 'x in [...]'"},
      {"[1]", "column 1: expected a number, a name or '(', found '['"},
      {"min(1 2)", "column 7: expected ',' or ')', found '2'"},
      {"min(1", "column 6: expected ',' or ')', found the end"},
      {"min(1)", "column 1: min takes at least 2 arguments, not 1"},
      {"abs()", "column 1: abs takes 1 argument, not 0"},
      {"ceil_div(1, 2, 3)", "column 1: ceil_div takes 2 arguments, not 3"},
      {"N(1)", "column 1: unknown function 'N'; known: min, max, abs, ceil_div, round_up, is_pow2, ilog2"},
      {"ceildiv(1, 2)",
       "column 1: unknown function 'ceildiv'; did you mean 'ceil_div'?; known: min, max, abs, ceil_div, "
       "round_up, "
       "is_pow2, ilog2"},
      {"2 ** ** 2", "column 6: expected a number, a name or '(', found '**'"},
      {"1 and", "column 6: expected a number, a name or '(', found the end"},
  };
  for (const Row& row : rows) CHECK(parse_error(row.text) == row.message);
  CHECK(parse_error(std::string("1\0", 2)) == "column 2: unexpected byte 0x00");
}

TEST_CASE("an expression without a value says where and why") {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"1 // 0", "column 3: division by zero"},
      {"1 % 0", "column 3: division by zero"},
      {"1 in [1, 1 // 0]", "column 12: division by zero"},
      {"1 / 0", "column 3: division by zero"},
      {"2 + N // (N - 1000)", "column 7: division by zero"},
      {"ceil_div(1, 0)", "column 1: division by zero"},
      {"round_up(1, 0)", "column 1: division by zero"},
      {"7 / 2", "column 3: '/' is not exact here; use '//' or ceil_div"},
      {"2 ** -1", "column 3: a negative exponent gives no integer"},
      {"ilog2(0)", "column 1: ilog2 needs a value of at least 1"},
      {"dtype + 1", "column 1: expected an integer, found a string"},
      {"-dtype", "column 2: expected an integer, found a string"},
      {"+dtype", "column 2: expected an integer, found a string"},
      {"max(1, dtype)", "column 8: expected an integer, found a string"},
      {"dtype < 'x'", "column 7: cannot order a string and a string"},
      {"1 <= dtype", "column 3: cannot order an integer and a string"},
      {"1 + BLOK",
       "column 5: unknown name 'BLOK'; did you mean 'BLOCK'?; known: BLOCK, M, N, dtype, empty, one"},
      {"zzz", "column 1: unknown name 'zzz'; known: BLOCK, M, N, dtype, empty, one"},
  };
  for (const Row& row : rows) CHECK(evaluation_error(row.text) == row.message);
}

TEST_CASE("a result that does not fit in 64 bits is an error, never a wrong value") {
  const char* overflows[] = {"9223372036854775807 + 1",
                             "-9223372036854775808 - 1",
                             "9223372036854775807 * 2",
                             "-9223372036854775808 * -1",
                             "-9223372036854775808 // -1",
                             "-9223372036854775808 / -1",
                             "-(-9223372036854775808)",
                             "--9223372036854775808",
                             "abs(-9223372036854775808)",
                             "2 ** 63",
                             "(-2) ** 64",
                             "3 ** 9223372036854775807",
                             "10 ** 19",
                             "round_up(9223372036854775807, 2)",
                             "ceil_div(-9223372036854775808, -1)",
                             "(-3) ** 9223372036854775807",
                             "round_up(-9223372036854775808, -1)"};
  for (const char* text : overflows)
    CHECK_THAT(evaluation_error(text), Catch::Contains("does not fit in 64 bits"));
  const auto value = [](const std::string& text) { return *parsed(text).evaluate_integer({}); };
  CHECK(value("-9223372036854775808 % -1") == 0);
  CHECK(value("-9223372036854775808 // 1") == kLowest);
  CHECK(value("-9223372036854775807 // -1") == kHighest);
  CHECK(value("-9223372036854775808 % 9223372036854775807") == kHighest - 1);
  CHECK(value("9223372036854775807 % -9223372036854775808") == -1);
  CHECK(value("-9223372036854775807 - 1") == kLowest);
}

TEST_CASE("evaluate_integer and evaluate_bool follow the type and the truth of Python") {
  CHECK(*parsed("N").evaluate_integer(environment()) == 1000);
  CHECK(parsed("dtype").evaluate_integer(environment()).error().message ==
        "expected an integer, the expression gives a string");
  CHECK(*parsed("N").evaluate_bool(environment()));
  CHECK_FALSE(*parsed("N - 1000").evaluate_bool(environment()));
  CHECK(*parsed("dtype").evaluate_bool(environment()));
  CHECK_FALSE(*parsed("empty").evaluate_bool(environment()));
}

TEST_CASE("an expression knows the names it refers to, but not its functions, strings or keywords") {
  const Expression expression = parsed("min(A, 'B') if C in [D, True] and not E else ceil_div(A, _f1)");
  CHECK(expression.names() == std::set<std::string>{"A", "C", "D", "E", "_f1"});
  CHECK(expression.text() == "min(A, 'B') if C in [D, True] and not E else ceil_div(A, _f1)");
}

TEST_CASE("long and deeply nested texts are refused, and long flat ones are not") {
  const auto repeat = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  CHECK_THAT(parse_error(std::string(4097, ' ')), Catch::Contains("longer than 4096 characters"));
  CHECK(*parsed("1" + repeat("+1", 2047)).evaluate_integer({}) == 2048);
  CHECK(*parsed("1" + repeat(" or 1", 800)).evaluate_integer({}) == 1);
  CHECK(*parsed("1" + repeat("==1", 1300)).evaluate_integer({}) == 1);
  CHECK(*parsed(repeat("(", 63) + "1" + repeat(")", 63)).evaluate_integer({}) == 1);
  for (const std::string& text :
       {repeat("(", 2000), repeat("(", 64) + "1" + repeat(")", 64), repeat("-", 2000) + "1",
        repeat("+", 65) + "1", repeat("not ", 1000) + "1", repeat("2**", 1000) + "2",
        repeat("1 if 1 else ", 300) + "1", repeat("abs(", 1000), repeat("1 in [", 600)}) {
    CHECK_THAT(parse_error(text), Catch::Contains("nested more than 64 levels deep"));
  }
}

namespace {

__extension__ using Wide = __int128;

// A random expression with its text and its value, computed alongside the real parser and evaluator: by value of
// the tree, in 128 bits. No value: something in it overflows or divides by zero.
struct Sample {
  std::string text;
  int precedence =
      0;  // 0 conditional, 1 or, 2 and, 3 not, 4 comparison, 5 sum, 6 product, 7 sign, 8 power, 9 atom
  std::optional<std::int64_t> value;
};

std::optional<std::int64_t> narrow(Wide value) {
  if (value < kLowest || value > kHighest) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string in_place(const Sample& sample, int min_precedence) {
  return sample.precedence < min_precedence ? "(" + sample.text + ")" : sample.text;
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Sample sample(int depth) {
    if (depth == 0) return atom();
    switch (below(9)) {
      case 0:
        return conditional(depth);
      case 1:
        return logic(depth);
      case 2:
        return negation(depth);
      case 3:
        return comparison(depth);
      case 4:
        return sign(depth);
      case 5:
        return power(depth);
      case 6:
        return sum(depth);
      default:
        return product(depth);
    }
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  Sample atom() {
    if (below(12) == 0) return {"9223372036854775807", 9, kHighest};
    if (below(4) == 0) return {"N", 9, 1000};
    const int value = below(20);
    return {std::to_string(value), 9, value};
  }

  Sample conditional(int depth) {
    const Sample condition = sample(depth - 1), yes = sample(depth - 1), no = sample(depth - 1);
    Sample result{in_place(yes, 1) + " if " + in_place(condition, 1) + " else " + no.text, 0, std::nullopt};
    if (condition.value) result.value = *condition.value != 0 ? yes.value : no.value;
    return result;
  }

  Sample logic(int depth) {
    const bool conjunction = below(2) == 0;
    const int precedence = conjunction ? 2 : 1;
    const Sample left = sample(depth - 1), right = sample(depth - 1);
    Sample result{
        in_place(left, precedence) + (conjunction ? " and " : " or ") + in_place(right, precedence + 1),
        precedence, std::nullopt};
    if (left.value) result.value = (*left.value != 0) == conjunction ? right.value : left.value;
    return result;
  }

  Sample negation(int depth) {
    const Sample inner = sample(depth - 1);
    Sample result{"not " + in_place(inner, 3), 3, std::nullopt};
    if (inner.value) result.value = *inner.value == 0;
    return result;
  }

  Sample comparison(int depth) {
    static const char* const kNames[] = {"<", "<=", ">", ">=", "==", "!="};
    const Sample left = sample(depth - 1), right = sample(depth - 1);
    const int op = below(6);
    Sample result{in_place(left, 5) + kNames[op] + in_place(right, 5), 4, std::nullopt};
    if (!left.value || !right.value) return result;
    const std::int64_t a = *left.value, b = *right.value;
    const bool values[] = {a<b, a <= b, a> b, a >= b, a == b, a != b};
    result.value = values[op];
    return result;
  }

  Sample sign(int depth) {
    const Sample inner = sample(depth - 1);
    Sample result{"-" + in_place(inner, 7), 7, std::nullopt};
    if (inner.value) result.value = narrow(-Wide{*inner.value});
    return result;
  }

  Sample power(int depth) {
    const Sample base = sample(depth - 1);
    const int exponent = below(5);
    Sample result{in_place(base, 9) + "**" + std::to_string(exponent), 8, std::nullopt};
    if (!base.value) return result;
    std::optional<std::int64_t> product = 1;
    for (int i = 0; i < exponent && product; ++i) product = narrow(Wide{*product} * *base.value);
    result.value = product;
    return result;
  }

  Sample sum(int depth) {
    const bool plus = below(2) == 0;
    const Sample left = sample(depth - 1), right = sample(depth - 1);
    Sample result{in_place(left, 5) + (plus ? " + " : " - ") + in_place(right, 6), 5, std::nullopt};
    if (left.value && right.value) {
      result.value = narrow(plus ? Wide{*left.value} + *right.value : Wide{*left.value} - *right.value);
    }
    return result;
  }

  Sample product(int depth) {
    static const char* const kNames[] = {" * ", " // ", " % "};
    const int op = below(3);
    const Sample left = sample(depth - 1), right = sample(depth - 1);
    Sample result{in_place(left, 6) + kNames[op] + in_place(right, 7), 6, std::nullopt};
    if (!left.value || !right.value || (op > 0 && *right.value == 0)) return result;
    const Wide a = *left.value, b = *right.value;
    Wide quotient = op == 0 ? 0 : a / b;
    if (op > 0 && quotient * b != a && (a < 0) != (b < 0)) --quotient;  // rounds towards minus infinity
    const Wide values[] = {a * b, quotient, a - quotient * b};
    result.value = narrow(values[op]);
    return result;
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("random expressions have the value of the tree they were written from") {
  Generator generator(20240607);
  int with_value = 0;
  const int rounds = test::fuzz_iterations(10'000);
  for (int i = 0; i < rounds; ++i) {
    const Sample sample = generator.sample(i % 5);
    if (sample.text.size() > 4000) continue;
    const Result<Expression> expression = Expression::parse(sample.text);
    const bool parses = expression.ok();
    const Result<std::int64_t> value =
        parses ? expression->evaluate_integer(environment()) : Result<std::int64_t>(expression.error());
    const bool agrees = parses && (sample.value ? value.ok() && *value == *sample.value : !value.ok());
    if (agrees) {
      with_value += sample.value ? 1 : 0;
      continue;
    }
    FAIL(sample.text << "\nexpected " << (sample.value ? std::to_string(*sample.value) : "an error")
                     << ", got " << (value ? std::to_string(*value) : value.error().message));
  }
  CHECK(with_value > rounds / 2);  // else the generator tests little but errors
}

TEST_CASE("no text makes the parser or the evaluator crash") {
  static const char* const kPieces[] = {"N",
                                        "dtype",
                                        "1",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        ",",
                                        "+",
                                        "-",
                                        "*",
                                        "/",
                                        "//",
                                        "%",
                                        "**",
                                        "<",
                                        "==",
                                        " in ",
                                        " not ",
                                        " and ",
                                        " or ",
                                        " if ",
                                        " else ",
                                        "min(",
                                        "ceil_div(",
                                        "'",
                                        "'a'",
                                        " ",
                                        "0",
                                        "True"};
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  int parsed_count = 0;
  for (int i = 0; i < test::fuzz_iterations(20'000); ++i) {
    std::string text;
    for (std::size_t length = below(30); length > 0; --length) {
      text += i % 4 == 0 ? std::string(1, static_cast<char>(below(256))) : kPieces[below(std::size(kPieces))];
    }
    const Result<Expression> expression = Expression::parse(text);
    if (!expression) continue;
    ++parsed_count;
    const bool has_outcome = expression->evaluate(environment()).ok() || !expression->evaluate({}).ok();
    REQUIRE(has_outcome);
  }
  CHECK(parsed_count > 0);
}

}  // namespace ak
