"""What a Python installation has, as JSON, without importing PyTorch."""

import importlib.util
import json
import os
import sys
import sysconfig


def torch_version():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None, None
    names = {}
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
        exec(file.read(), names)
    return str(names["__version__"]), names.get("cuda")


def readable():
    folders = [folder for folder in sys.path if folder]
    folders += [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for prefix in (sys.prefix, sys.base_prefix):
        if prefix not in ("/", "/usr", "/usr/local"):
            folders += [os.path.join(prefix, "lib"), os.path.join(prefix, "lib64"), os.path.join(prefix, "pyvenv.cfg")]
    return sorted({os.path.realpath(folder) for folder in folders if os.path.exists(folder)})


def main():
    torch, cuda = torch_version()
    print(json.dumps({"executable": sys.executable, "version": sys.version.split()[0], "torch": torch, "cuda": cuda,
                      "path": [folder for folder in sys.path if folder], "readable": readable()}))


main()
