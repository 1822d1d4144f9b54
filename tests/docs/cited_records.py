#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks up every figure that pages of docs/ cite from experiments/results/.

A figure is the text of a link to a record. Without a title the record has to contain the figure as it is written; with
a title 'COLUMN where KEY=VALUE, ...' the column of the record's rows that fit has to round to the figure.

    cited_records.py [--selftest] ROOT
"""
import csv
import decimal
import gzip
import io
import pathlib
import re
import sys

CITATION = re.compile(r'\[([^\]]+)\]\(([^)\s]*experiments/results/[^)\s]+)(?: "([^"]*)")?\)')


def text_of(record):
    """The record as text, unpacked."""
    data = record.read_bytes()
    return (gzip.decompress(data) if record.suffix == ".gz" else data).decode()


def rounds_to(value, figure):
    """Whether the text `value`, rounded to as many places as `figure` has, is `figure`."""
    try:
        places = decimal.Decimal(figure)
        return decimal.Decimal(value).quantize(places, rounding=decimal.ROUND_HALF_UP) == places
    except decimal.InvalidOperation:
        return False


def contains(text, figure):
    """Whether `figure` stands in the text, and not as a part of a longer number."""
    return re.search(r"(?<![\d.])" + re.escape(figure) + r"(?!\d|\.\d)", text) is not None


def fault_in_rows(text, figure, title):
    """What is wrong with a figure of a table; empty: nothing."""
    column, _, conditions = title.partition(" where ")
    wanted = dict(condition.split("=", 1) for condition in conditions.split(", "))
    rows = [row for row in csv.DictReader(io.StringIO(text)) if all(row.get(k) == v for k, v in wanted.items())]
    if not rows:
        return f"no row has {conditions}"
    values = {row.get(column) for row in rows}
    wrong = [value for value in values if value is None or not rounds_to(value, figure)]
    return f"{column} is {', '.join(map(str, wrong))}" if wrong else ""


def faults(page, text):
    """Messages about the citations of a page, and how many citations there are."""
    found = CITATION.findall(text)
    messages = []
    for figure, target, title in found:
        record = (page.parent / target).resolve()
        if not record.is_file():
            wrong = "there is no such record"
        elif title:
            wrong = fault_in_rows(text_of(record), figure, title)
        else:
            wrong = "" if contains(text_of(record), figure) else "the record does not contain it"
        if wrong:
            messages.append(f"{page}: {figure} of {target} {title}: {wrong}")
    return messages, len(found)


def selftest():
    """The rules by example."""
    assert rounds_to("0.13475", "0.1348") and not rounds_to("0.13475", "0.1347") and not rounds_to("", "1")
    assert contains("took 8.5 us", "8.5") and not contains("took 18.5 us", "8.5") and not contains("8.55", "8.5")
    assert contains("ends with 8.5.", "8.5")
    table = "name,us\na,1.26\na,1.34\nb,2\n"
    assert fault_in_rows(table, "1.3", "us where name=a") == ""
    assert "is 2" in fault_in_rows(table, "1.3", "us where name=b")
    assert "no row" in fault_in_rows(table, "1.3", "us where name=c")
    here = pathlib.Path(__file__)
    missing = "[1](experiments/results/none/report.md)"
    assert faults(here, missing) == ([f"{here}: 1 of experiments/results/none/report.md : there is no such record"], 1)


def main(arguments):
    if arguments[0] == "--selftest":
        return selftest()
    root = pathlib.Path(arguments[0])
    messages, cited = [], 0
    for page in sorted(root.glob("docs/**/*.md")):
        wrong, count = faults(page, page.read_text())
        messages += wrong
        cited += count
    if messages or cited < 20:
        sys.exit("\n".join(messages) or f"only {cited} citations were found: the check would pass without looking")
    print(f"{cited} figures are in their records")


if __name__ == "__main__":
    main(sys.argv[1:])
