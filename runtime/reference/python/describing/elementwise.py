"""Operators of one element as C expressions over `real`, which is float or double."""

import math


class Unknown(Exception):
    """There is no expression for it: no starting kernel."""


def number(value):
    """A Python number as C."""
    value = float(value)
    if not math.isfinite(value):
        raise Unknown
    return "real(%r)" % value


def _clamped(x, low=None, high=None):
    text = x
    if low is not None:
        text = "(%s < %s ? %s : %s)" % (text, number(low), number(low), text)
    if high is not None:
        text = "(%s > %s ? %s : %s)" % (text, number(high), number(high), text)
    return text


def _gelu(x, approximate="none"):
    """Without sums that cancel: a result near zero is as exact as any, also where it is the only one of a tensor."""
    if approximate == "none":
        return "(real(0.5) * {0} * erfc({0} * real({1!r})))".format(x, -math.sqrt(0.5))
    return "({0} / (real(1) + exp(real({1!r}) * ({0} + real(0.044715) * {0} * {0} * {0}))))".format(
        x, -2 * math.sqrt(2 / math.pi))


def _elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return "({0} > 0 ? {1} * {0} : {1} * {2} * expm1({3} * {0}))".format(
        x, number(scale), number(alpha), number(input_scale))


def _softplus(x, beta=1.0, threshold=20.0):
    return "({0} * {1} > {2} ? {0} : log1p(exp({0} * {1})) / {1})".format(x, number(beta), number(threshold))


def _power(x, exponent):
    if exponent in (2, 3):
        return "(%s)" % " * ".join([x] * int(exponent))
    return "sqrt(%s)" % x if exponent == 0.5 else "pow(%s, %s)" % (x, number(exponent))


# Functions of the expression of an element, and the operator's further arguments.
UNARY = {
    "relu": lambda x: "({0} < 0 ? real(0) : {0})".format(x),
    "sigmoid": lambda x: "(real(1) / (real(1) + exp(-%s)))" % x,
    "silu": lambda x: "({0} / (real(1) + exp(-{0})))".format(x),
    "mish": lambda x: "(%s * tanh(%s))" % (x, _softplus(x)),
    "gelu": _gelu, "elu": _elu, "softplus": _softplus, "pow": _power, "clamp": _clamped,
    "leaky_relu": lambda x, slope=0.01: "({0} > 0 ? {0} : {1} * {0})".format(x, number(slope)),
    "hardtanh": lambda x, low=-1.0, high=1.0: _clamped(x, low, high),
    "clamp_min": lambda x, low: _clamped(x, low), "clamp_max": lambda x, high: _clamped(x, None, high),
    "hardsigmoid": lambda x: "(%s / real(6))" % _clamped("(%s + real(3))" % x, 0, 6),
    "hardswish": lambda x: "(%s * %s / real(6))" % (x, _clamped("(%s + real(3))" % x, 0, 6)),
    "tanh": lambda x: "tanh(%s)" % x, "exp": lambda x: "exp(%s)" % x, "log": lambda x: "log(%s)" % x,
    "sqrt": lambda x: "sqrt(%s)" % x, "rsqrt": lambda x: "(real(1) / sqrt(%s))" % x, "abs": lambda x: "fabs(%s)" % x,
    "neg": lambda x: "(-%s)" % x, "reciprocal": lambda x: "(real(1) / %s)" % x, "erf": lambda x: "erf(%s)" % x,
    "sin": lambda x: "sin(%s)" % x, "cos": lambda x: "cos(%s)" % x, "log1p": lambda x: "log1p(%s)" % x,
    "expm1": lambda x: "expm1(%s)" % x,
}


def _scaled(text, alpha):
    return text if alpha == 1 else "%s * %s" % (number(alpha), text)


BINARY = {
    "add": lambda a, b, alpha=1: "(%s + %s)" % (a, _scaled(b, alpha)),
    "sub": lambda a, b, alpha=1: "(%s - %s)" % (a, _scaled(b, alpha)),
    "rsub": lambda a, b, alpha=1: "(%s - %s)" % (b, _scaled(a, alpha)),
    "mul": lambda a, b: "(%s * %s)" % (a, b),
    "div": lambda a, b: "(%s / %s)" % (a, b),
    "maximum": lambda a, b: "({0} > {1} ? {0} : {1})".format(a, b),
    "minimum": lambda a, b: "({0} < {1} ? {0} : {1})".format(a, b),
}
