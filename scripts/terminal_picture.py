#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a recorded run printed as a terminal: docs/pictures/run.svg.

    scripts/terminal_picture.py            writes the picture
    scripts/terminal_picture.py --check    exits with 1 where the picture is not what the record gives

Every line is the record's. Lines wider than the terminal are wrapped, as a terminal does.
"""
import argparse
import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "run.svg"
RECORD = ROOT / "experiments" / "results" / "2026-11-22_h200_llm_sessions" / "softmax.txt"
# The command of the record's README.md, for this record.
COMMAND = """\
generate_kernel -q --algorithm softmax --dtype bf16 --arch sm_90a --device cuda --proposer hybrid \\
  --model command:scribe --max-evaluations 80 --seed 1 --no-transfer -o kernels/softmax.cu"""
LAST = "wrote "  # what follows in the record is the shell's

COLUMNS = 112
CHARACTER_PX, LINE_PX, MARGIN_PX, BAR_PX = 7.6, 18, 16, 34
STYLE = """\
text { font: 12.6px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dce2; white-space: pre }
.command { fill: #ffffff } .good { fill: #7ee2a8 } .best { fill: #ffd479 } .title { fill: #9aa5b1 }"""
# What a line is coloured by: its first match.
COLOURS = (("good", r"^\S+ for \S+: \d+ tried|checks passed|right on all|no fault|times as fast as naive"),
           ("best", r"^best: |  kernel  "))


def wrapped(line):
    return [line[start:start + COLUMNS] for start in range(0, len(line), COLUMNS)] or [""]


def screen():
    """The lines of the terminal, each with its class."""
    lines = [("command", f"$ {COMMAND.splitlines()[0]}"), *(("command", line) for line in COMMAND.splitlines()[1:])]
    for line in RECORD.read_text().splitlines():
        colour = next((name for name, pattern in COLOURS if re.search(pattern, line)), "")
        lines += [(colour, part) for part in wrapped(line)]
        if line.startswith(LAST):
            break
    return lines


def picture():
    lines = screen()
    width = round(COLUMNS * CHARACTER_PX + 2 * MARGIN_PX)
    height = BAR_PX + len(lines) * LINE_PX + MARGIN_PX
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="A terminal: a search for a softmax kernel on an H200 and its result">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#14181d"/>',
        *(f'<circle cx="{20 + 18 * place}" cy="{BAR_PX / 2:g}" r="5" fill="#3a434e"/>' for place in range(3)),
        f'<text class="title" x="{width / 2:g}" y="{BAR_PX / 2 + 4:g}" text-anchor="middle">NVIDIA H200, 2026-11-22</text>',
    ]
    for place, (colour, line) in enumerate(lines):
        kind = f' class="{colour}"' if colour else ""
        y_px = BAR_PX + (place + 1) * LINE_PX - 4
        parts.append(f'<text{kind} x="{MARGIN_PX}" y="{y_px}" xml:space="preserve">{html.escape(line)}</text>')
    return "\n".join((*parts, "</svg>\n"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare with the committed picture instead of writing it")
    if arguments.parse_args().check:
        if not PICTURE.exists() or PICTURE.read_text() != picture():
            sys.exit(f"terminal_picture: {PICTURE.relative_to(ROOT)} is not what the record gives: run scripts/terminal_picture.py")
        return
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture())


if __name__ == "__main__":
    main()
