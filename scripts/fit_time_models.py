#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the models of models/time/ again, each to the measurements that models/sources.json names.

    scripts/fit_time_models.py [NAME...] [--alphakernel PROGRAM]

Run it from the repository's root after measurements, the analytic time or the features have changed.
"""
import argparse
import json
import pathlib
import subprocess
import sys


def command(program, name, model):
    databases = [flag for file in model["databases"] for flag in ("--db", file)]
    return [program, "model", "fit", "--arch", model["arch"], *databases, "--output", f"models/time/{name}.json"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models to fit (default: all)")
    parser.add_argument("--alphakernel", default="build/release/bin/alphakernel", help="the program that fits")
    arguments = parser.parse_args()
    sources = json.loads(pathlib.Path("models/sources.json").read_text(encoding="utf-8"))
    unknown = set(arguments.names) - set(sources)
    if unknown:
        sys.exit(f"unknown model {', '.join(sorted(unknown))}; expected one of: {', '.join(sources)}")
    for name in arguments.names or sources:
        subprocess.run(command(arguments.alphakernel, name, sources[name]), check=True)


if __name__ == "__main__":
    main()
