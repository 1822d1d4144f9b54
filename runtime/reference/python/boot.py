"""First words of the reference process: finds its modules in its first message and hands over to one of them.

Everything that it runs comes through the socket that it inherited, so it needs no folder of its own.
"""

import base64
import ctypes
import importlib
import importlib.abc
import importlib.util
import json
import os
import sys

CHANNEL = 3  # the socket to the process that started this one
PACKAGE = "alphakernel_reference"


class Modules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the package from texts: file name -> source."""

    def __init__(self, files):
        self.sources, self.packages = {}, set()
        for file, source in files.items():
            name = ".".join([PACKAGE, *file[:-len(".py")].split("/")])
            if name.endswith(".__init__"):
                name = name.rpartition(".")[0]
                self.packages.add(name)
            self.sources[name] = source

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        # A name that looks like a path, so that messages tell these files from the user's.
        origin = "/<alphakernel>/%s.py" % name.rpartition(".")[2]
        spec = importlib.util.spec_from_loader(name, self, origin=origin, is_package=self.is_package(name))
        spec.has_location = True
        return spec

    def get_source(self, name):
        return self.sources[name]

    def is_package(self, name):
        return name in self.packages

    def get_code(self, name):
        return compile(self.sources[name], self.find_spec(name).origin, "exec")

    def exec_module(self, module):
        exec(self.get_code(module.__name__), module.__dict__)


def load_filter(code):
    """One more filter of system calls, beside those that the process has."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
    buffer = ctypes.create_string_buffer(code, len(code))
    program = Program(len(code) // 8, ctypes.addressof(buffer))
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))


def main():
    stream = os.fdopen(CHANNEL, "rb")
    boot = json.loads(stream.readline())
    sys.path[:] = boot["path"]
    load_filter(base64.b64decode(boot["filter"]))  # it was started as a program and starts none from now on
    sys.meta_path.insert(0, Modules(boot["files"]))
    importlib.import_module(PACKAGE + "." + boot["entry"]).main(stream, boot["launch"])


main()
