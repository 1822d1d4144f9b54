#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the package as a wheel, or as installed files, with nothing but the standard library.

    build_wheel.py FOLDER               FOLDER/alphakernel-VERSION-py3-none-any.whl
    build_wheel.py --installed FOLDER   FOLDER/alphakernel and FOLDER/alphakernel-VERSION.dist-info

The bytes of a wheel depend on the sources alone. `pip install --no-index --no-deps FILE` takes it.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parent
EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a zip file can say
SUMMARY = "Fast, verified CUDA kernels: search, tuning and checks from Python"


def version():
    """That of the program which wrote the table of operations."""
    text = (SOURCE / "alphakernel" / "operations.py").read_text(encoding="utf-8")
    return re.search(r'^VERSION = "([^"]+)"', text, re.M).group(1)


def record(files, name):
    """The list of all files with their hashes; of itself it has none."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}\n")
    return "".join(lines) + f"{name},,\n"


def package():
    """Path -> content of everything, in the order of a wheel."""
    files = {}
    for path in sorted((SOURCE / "alphakernel").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".typed"):
            files[path.relative_to(SOURCE).as_posix()] = path.read_bytes()
    info = f"alphakernel-{version()}.dist-info"
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: alphakernel\nVersion: {version()}\nSummary: {SUMMARY}\n"
                                 "License: Apache-2.0\nRequires-Python: >=3.9\n").encode()
    files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: alphakernel\nRoot-Is-Purelib: true\n"
                              b"Tag: py3-none-any\n")
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD").encode()
    return files


def write_wheel(folder):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"alphakernel-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for path, content in package().items():
            entry = zipfile.ZipInfo(path, EARLIEST)
            entry.compress_type = zipfile.ZIP_STORED  # compressors differ from version to version
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            wheel.writestr(entry, content)
    return file


def write_files(folder):
    for path, content in package().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder / "alphakernel"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--installed", action="store_true", help="write the files themselves")
    options = arguments.parse_args()
    print((write_files if options.installed else write_wheel)(options.folder))


if __name__ == "__main__":
    main()
