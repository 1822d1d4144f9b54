"""What a copy of the starter confines itself by: the kernel's own calls, which Python has no names for."""

import ctypes
import fcntl
import os
import signal
import struct

from __main__ import load_filter

FIRST_ABOVE = 64  # descriptors below may be places of a reference process
PR_SET_PDEATHSIG = 1
# System calls since Linux 5.1 have one number on every machine (landlock(7)).
LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 445, 446
PATH_BENEATH = 1

_libc = ctypes.CDLL(None, use_errno=True)


class _Rule(ctypes.Structure):
    """landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def _called(what, result):
    if result != 0:
        raise OSError(ctypes.get_errno(), what + ": " + os.strerror(ctypes.get_errno()))


def moved_above(descriptor):
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD, FIRST_ABOVE)


def end_with(parent):
    """The kernel ends this process with the one of that number, which may have ended already."""
    _called("prctl", _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(1)


def confine_files(ruleset, own):
    """ruleset: a descriptor, closed here; None where the kernel has no Landlock. own: folders under /proc/self."""
    if ruleset is None:
        return
    for path, rights in own:
        folder = os.open(path, os.O_PATH)
        rule = _Rule(rights, folder)
        _called("a Landlock rule", _libc.syscall(
            LANDLOCK_ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(folder)
    _called("Landlock", _libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def confine_calls(code, any_process):
    """The filter of this process, whose number takes the place of `any_process`."""
    words = list(struct.unpack("=%dI" % (len(code) // 4), code))
    own = [os.getpid() if word == any_process else word for word in words]
    load_filter(struct.pack("=%dI" % len(own), *own))
