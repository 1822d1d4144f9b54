# SPDX-License-Identifier: Apache-2.0
"""Which lines of each room the tests ran, by gcov.

  cmake --workflow --preset coverage
  python3 scripts/coverage.py build/coverage [--folders] [--files ROOM]

Prints a table by room; with --folders also one by folder, the least covered first; with --files also one of the room's
files, those with the most lines that never ran first.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["core", "emulator", "codegen", "runtime", "profiler", "db", "agent", "app", "serve", "tools"]


def counted_lines(build: pathlib.Path, root: pathlib.Path) -> dict[str, dict[int, int]]:
    """{file: {line: times run}} of the rooms' sources, summed over all objects that hold them."""
    lines: dict[str, dict[int, int]] = collections.defaultdict(lambda: collections.defaultdict(int))
    for data in sorted(build.rglob("*.gcda")):
        answer = subprocess.run(["gcov", "--json-format", "--stdout", str(data)], cwd=build, check=True,
                                capture_output=True, text=True)
        for unit in answer.stdout.splitlines():
            for source in json.loads(unit)["files"]:
                path = (build / source["file"]).resolve()
                if not path.is_relative_to(root) or path.is_relative_to(build):
                    continue
                name = path.relative_to(root).as_posix()
                if name.split("/")[0] not in ROOMS:
                    continue
                for line in source["lines"]:
                    lines[name][line["line_number"]] += line["count"]
    return lines


def table(title: str, rows: list[tuple[str, int, int]]) -> str:
    """Rows are name, lines that ran, lines that can run."""
    text = f"| {title} | lines | ran | % |\n|---|---:|---:|---:|\n"
    for name, ran, lines in rows:
        text += f"| `{name}` | {lines} | {ran} | {100 * ran / lines:.1f} |\n"
    return text


def totals(lines: dict[str, dict[int, int]], key) -> list[tuple[str, int, int]]:
    ran: collections.Counter = collections.Counter()
    all_lines: collections.Counter = collections.Counter()
    for name, counts in lines.items():
        all_lines[key(name)] += len(counts)
        ran[key(name)] += sum(1 for count in counts.values() if count > 0)
    return [(name, ran[name], all_lines[name]) for name in all_lines if all_lines[name] > 0]


def share(row: tuple[str, int, int]) -> float:
    return row[1] / row[2]


def folder_of(name: str) -> str:
    return name.rpartition("/")[0]


def report(build: pathlib.Path, root: pathlib.Path, folders: bool, room: str | None) -> str:
    lines = counted_lines(build, root)
    if not lines:
        sys.exit(f"coverage: no counts in {build}: run the tests of a build with the preset 'coverage' first")
    rooms = sorted(totals(lines, lambda name: name.split("/")[0]), key=lambda row: ROOMS.index(row[0]))
    rooms.append(("all", sum(row[1] for row in rooms), sum(row[2] for row in rooms)))
    text = table("room", rooms)
    if folders:
        text += "\n" + table("folder", sorted(totals(lines, folder_of), key=share))
    if room:
        of_room = {name: counts for name, counts in lines.items() if name.startswith(room + "/")}
        text += "\n" + table("file", sorted(totals(of_room, str), key=lambda row: row[1] - row[2]))
    return text


def selftest() -> None:
    """A program of one room, one branch of which never runs."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name).resolve()
        (root / "core").mkdir()
        (root / "build").mkdir()
        (root / "core/a.cpp").write_text(
            "int pick(int x) {\n  if (x > 0)\n    return 1;\n  return 2;\n}\nint main() { return pick(1) - 1; }\n")
        subprocess.run(["g++", "--coverage", "../core/a.cpp", "-o", "a"], cwd=root / "build", check=True)
        subprocess.run([str(root / "build/a")], cwd=root / "build", check=True)
        text = report(root / "build", root, True, "core")
        assert text.count("| `core` | 5 | 4 | 80.0 |") == 2, text
        assert "| `core/a.cpp` | 5 | 4 | 80.0 |" in text, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, help="build folder, e.g. build/coverage")
    parser.add_argument("--folders", action="store_true", help="also a table by folder")
    parser.add_argument("--files", choices=ROOMS, help="also a table of this room's files")
    parser.add_argument("--selftest", action="store_true", help="try the script itself")
    arguments = parser.parse_args()
    if arguments.selftest:
        selftest()
    elif arguments.build is None:
        parser.error("say which build folder, e.g. build/coverage")
    else:
        print(report(arguments.build.resolve(), ROOT, arguments.folders, arguments.files), end="")


if __name__ == "__main__":
    main()
