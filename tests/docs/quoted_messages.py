#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds every message that pages of docs/ quote in the texts of the program.

A message is a line '> `...`' of its own. Where the program puts a value, the page writes '...'.

    quoted_messages.py [--selftest] ROOT
"""
import pathlib
import re
import sys

ROOMS = ["core", "emulator", "codegen", "db", "runtime", "profiler", "agent", "app", "pages", "serve", "tools"]
QUOTED = re.compile(r"^> `(.+)`$", re.MULTILINE)
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|R"(?P<fence>[^(\s]*)\((?P<raw>.*?)\)(?P=fence)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|(?P<character>(?<![0-9a-zA-Z])'(?:[^'\\]|\\.)+')"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)", re.DOTALL)
ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\", "\\t": "\t"}


def literals(source):
    """The texts of a C++ source, neighbouring ones joined as the compiler does."""
    texts, current = [], None
    for token in TOKEN.finditer(source):
        if token["raw"] is not None:
            current = (current or "") + token["raw"]
        elif token["text"] is not None:
            current = (current or "") + re.sub(r'\\[n"\\t]', lambda e: ESCAPES[e[0]], token["text"])
        elif current is not None and (token["other"] or token["character"]):
            texts.append(current)
            current = None
    return texts if current is None else [*texts, current]


def as_quoted(literal):
    """A format string as pages quote it: '...' where a value is put, braces as they are printed."""
    return re.sub(r"\{\{|\}\}|\{[^{}]*\}", lambda m: {"{{": "{", "}}": "}"}.get(m[0], "..."), literal)


def is_said(message, texts):
    """Whether a text of the program has the message; it may begin or end with a value that the text leaves open."""
    return any(message in text or message.strip(".") in text for text in texts)


def selftest():
    """The rules by example."""
    source = 'f("a {} " /* " */ "b\\n", 1\'000, \'"\'); // "no"\n g(R"(raw "x")"); h("{{}} {:.1f}%");'
    assert literals(source) == ["a {} b\n", 'raw "x"', "{{}} {:.1f}%"]
    assert [as_quoted(text) for text in literals(source)][0::2] == ["a ... b\n", "{} ...%"]
    assert is_said("a ... b", ["a ... b\n"]) and not is_said("a b", ["a ... b\n"])


def main(arguments):
    if arguments[0] == "--selftest":
        return selftest()
    root = pathlib.Path(arguments[0])
    sources = [file for room in ROOMS for suffix in ("cpp", "h") for file in (root / room).rglob(f"*.{suffix}")]
    # A text that is not a format has its braces as they are.
    found = {form for file in sources for text in literals(file.read_text()) for form in (text, as_quoted(text))}
    texts = [" ".join(text.split()) for text in found if len(text) > 8]
    quoted = [(page, message) for page in sorted(root.glob("docs/**/*.md")) for message in QUOTED.findall(page.read_text())]
    missing = [f"{page}: the program does not say: {message}" for page, message in quoted if not is_said(message, texts)]
    if missing or len(quoted) < 20:
        sys.exit("\n".join(missing) or f"only {len(quoted)} messages were found: the check would pass without looking")
    print(f"{len(quoted)} messages are in the sources")


if __name__ == "__main__":
    main(sys.argv[1:])
