#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/quickstart.sh with a setup and a cmake that only say that they ran: what it does in which order, and what it refuses.

    quickstart_test.py ROOT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CMAKE = """#!/bin/sh
echo "cmake $*" >&2
case "$*" in *--build*) mkdir -p build/release/bin; cp ../search build/release/bin/generate_kernel ;; esac
"""
SEARCH = '#!/bin/sh\necho "search $*"\n'


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tree = folder / "tree"
        write(folder / "bin/cmake", CMAKE)
        write(folder / "search", SEARCH)
        write(tree / "tools/setup.sh", 'echo "setup $*"\n')
        shutil.copy(pathlib.Path(sys.argv[1]) / "tools/quickstart.sh", tree / "tools")
        environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}

        def run(*flags):
            done = subprocess.run(["bash", "tools/quickstart.sh", *flags], cwd=tree, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.returncode, done.stdout.splitlines()

        def expect(flags, code, *patterns):
            got, lines = run(*flags)
            rest = iter(lines)
            missing = [pattern for pattern in patterns if not any(re.search(pattern, line) for line in rest)]
            if got != code or missing:
                sys.exit("\n".join((f"quickstart.sh {flags}: exit code {got}, expected {code}",
                                    f"not printed in this order: {missing}", *lines)))
            return lines

        # How long it takes is said before anything runs.
        lines = expect((), 0, r"^quickstart: .* on \d+ cores: about \d+ minutes", r"^setup programs$",
                       r"^cmake --preset release .*BUILD_TESTING=OFF",
                       r"^cmake --build --preset release --target alphakernel$", r"^quickstart: built in .* CPU time",
                       r"^search .*--algorithm softmax .*--output quickstart/softmax.cu --max-evaluations \d+$")
        assert lines[0].startswith("quickstart:"), lines
        expect(("--max-minutes", "5"), 0, r"^search .* --max-minutes 5$")
        built = expect(("--programs", "build/release/bin"), 0, r"^search .*--algorithm softmax")
        assert not [line for line in built if line.startswith(("setup", "cmake"))], built
        expect(("--programs", "nowhere"), 2, r"nowhere has no program generate_kernel")


if __name__ == "__main__":
    main()
