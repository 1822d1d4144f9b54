"""What a file tries that its sandbox refuses, in words, even where the file goes on after the refusal."""

import os
import sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of sys.audit -> what they are called.
TRIED = {"socket.__new__": "to open a socket", "socket.connect": "to open a socket",
         "subprocess.Popen": "to start a program", "os.system": "to start a program", "os.exec": "to start a program",
         "os.posix_spawn": "to start a program", "os.spawn": "to start a program", "os.fork": "to start a process",
         "os.forkpty": "to start a process", "os.kill": "to signal a process", "os.mkdir": "to make a folder",
         "os.remove": "to remove a file", "os.rename": "to rename a file", "os.truncate": "to write a file",
         "os.link": "to make a link", "os.symlink": "to make a link", "os.rmdir": "to remove a folder"}

_watched, _found = [], []  # the folder; what was tried


def watch(path):
    """Notes from now on what a file, or others of its folder, try."""
    if not _watched:
        sys.addaudithook(_seen)  # which nothing can remove
    path = os.path.abspath(path)
    _watched[:] = [path if os.path.isdir(path) else os.path.dirname(path)]
    _found.clear()


def notes():
    """In words, each attempt once."""
    return list(_found)


def _seen(event, arguments):
    if event == "open":
        tried = "to write %s" % _path(arguments[0]) if _writes(*arguments[1:3]) else None
    else:
        tried = TRIED.get(event)
    if tried is None:
        return
    line = _line()
    if line and len(_found) < 16:
        text = "line %d tries %s, which a reference may not" % (line, tried)
        if text not in _found:
            _found.append(text)


def _writes(mode, flags):
    if isinstance(mode, str):
        return bool(set("wax+") & set(mode))
    return isinstance(flags, int) and bool(flags & WRITING)


def _path(path):
    return path if isinstance(path, str) else "a file"


def _line():
    """The line of the user's file that is running, if one is."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if os.path.isabs(name) and os.path.dirname(name) in _watched:
            return frame.f_lineno
        frame = frame.f_back
    return None
