# SPDX-License-Identifier: Apache-2.0
"""The wheel of the Python package: wheel_test.py PROGRAM SOURCE_FOLDER."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

PROGRAM, SOURCE = sys.argv[1:3]


def built(folder):
    run = subprocess.run([sys.executable, "-B", os.path.join(SOURCE, "python", "build_wheel.py"), folder], check=True,
                         stdout=subprocess.PIPE, text=True)
    return Path(run.stdout.strip())


class WheelTest(unittest.TestCase):
    def test_its_record_is_right_and_its_bytes_repeat(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            wheel = built(one)
            self.assertEqual(wheel.read_bytes(), built(other).read_bytes())
            with zipfile.ZipFile(wheel) as archive:
                (record,) = [name for name in archive.namelist() if name.endswith(".dist-info/RECORD")]
                rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
                self.assertEqual([row[0] for row in rows], archive.namelist())
                self.assertIn("alphakernel/py.typed", archive.namelist())
                for name, digest, size in rows:
                    if name == record:
                        continue
                    content = archive.read(name)
                    expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((digest, size), ("sha256=" + expected, str(len(content))))

    def test_it_has_the_version_of_the_program(self) -> None:
        said = subprocess.run([PROGRAM, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(built(folder).name, f"alphakernel-{said}-py3-none-any.whl")

    def test_pip_installs_it_without_an_index(self) -> None:
        if subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("this Python has no pip")
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "site")
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target",
                            target, str(built(folder))], check=True)
            code = "import alphakernel, importlib.metadata as m; " \
                   "assert m.version('alphakernel') == alphakernel.__version__; print(alphakernel.__file__)"
            shown = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": target}, cwd=folder,
                                   check=True, stdout=subprocess.PIPE, text=True).stdout
            self.assertTrue(shown.startswith(target), shown)


unittest.main(argv=sys.argv[:1])
