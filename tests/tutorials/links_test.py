#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link and picture of README.md, CONTRIBUTING.md and docs leads to a file, and every anchor to a heading.

    links_test.py ROOT
"""
import pathlib
import re
import sys


def without_code(text):
    return re.sub(r"(?ms)^(`{3,})[^\n]*\n.*?^\1$", "", text)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", without_code(page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            yield f"{target}: no such heading"


def main():
    root = pathlib.Path(sys.argv[1])
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]
    index = (root / "docs/tutorials/README.md").read_text()
    faults = [f"{page.relative_to(root)}: {fault}" for page in pages for fault in broken_links(page)]
    faults += [f"docs/tutorials/README.md does not list {page.name}" for page in (root / "docs/tutorials").glob("*.md")
               if page.name != "README.md" and f"({page.name})" not in index]
    return "\n".join(faults) or None


if __name__ == "__main__":
    sys.exit(main())
