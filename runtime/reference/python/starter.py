"""Makes copies of a process that has imported PyTorch: each becomes a reference process.

The import takes seconds, a copy milliseconds. This process runs nothing of a user's; a copy confines itself before it
does. Whoever wants one connects, sends a line of JSON with descriptors, and gets the copy's number and at last the
status of its end. Where the connection ends first, so does the copy.
"""

import base64
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import traceback
import warnings

from . import confinement, rehearsal, serve
from .describing import describe

ENTRIES = {"serve": serve, "describing.describe": describe, "rehearsal": rehearsal}
LISTENER, LIFELINE = 4, 5  # what the process inherited: a socket, and a pipe whose end is its end
PLACES = {"prints": (1, 2), "socket": (3,), "memory": (4,), "device_memory": (5,)}  # of a reference process
FIRST_FREE = 6
MESSAGE_BYTES, MOST_DESCRIPTORS = 1 << 16, 8
PATIENCE_S = 10  # with one that has connected and says nothing (chosen)
NUMBER = struct.Struct("=i")


def received(connection):
    """The request, and descriptors by name."""
    space = socket.CMSG_LEN(MOST_DESCRIPTORS * NUMBER.size)
    message, control, _, _ = connection.recvmsg(MESSAGE_BYTES, space)
    descriptors = []
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors += [number for (number,) in NUMBER.iter_unpack(data[:len(data) // NUMBER.size * NUMBER.size])]
    request = json.loads(message)
    return request, dict(zip(request["places"], descriptors))


def tell(connection, number):
    try:
        os.write(connection.fileno(), NUMBER.pack(number))  # a confined process may not send()
    except OSError:  # no one waits for it
        pass


def take_places(descriptors):
    """Those of a reference process, and no others stay open. Returns the ruleset's, if there is one."""
    own = {name: confinement.moved_above(number) for name, number in descriptors.items()}
    for name, places in PLACES.items():
        for place in places if name in own else ():
            os.dup2(own[name], place)
    ruleset = own.get("ruleset")
    for number in map(int, os.listdir("/proc/self/fd")):
        last = FIRST_FREE - 1 if "device_memory" in own else FIRST_FREE - 2
        if number > last and number != ruleset:
            try:
                os.close(number)
            except OSError:  # the listing's own
                pass
    return ruleset


def become_reference(request, descriptors, parent):
    confinement.end_with(parent)
    ruleset = take_places(descriptors)
    for kind, limit in ((resource.RLIMIT_DATA, request["memory_bytes"]),
                        (resource.RLIMIT_AS, request["address_space_bytes"])):
        if limit:
            resource.setrlimit(kind, (limit, limit))
    confinement.confine_files(ruleset, request["own_rules"])
    confinement.confine_calls(base64.b64decode(request["filter"]), request["any_process"])
    ENTRIES[request["entry"]].main(os.fdopen(PLACES["socket"][0], "rb"), request["launch"])


class Starter:
    """Connections, and the copies that were asked for through them."""

    def __init__(self, listener):
        self.listener = listener
        self.copies = {}  # number -> its connection
        self.poller = select.poll()
        self.wakened, wakes = os.pipe()
        for end in (self.wakened, wakes):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wakes)
        for source in (listener.fileno(), self.wakened, LIFELINE):
            self.poller.register(source, select.POLLIN)

    def run(self):
        while True:
            for source, _ in self.poller.poll():
                if source == self.listener.fileno():
                    self.take_request()
                elif source == self.wakened:
                    os.read(self.wakened, 4096)
                elif source == LIFELINE:
                    return
                else:
                    self.end_copy_of(source)
            self.tell_of_ends()

    def take_request(self):
        connection, _ = self.listener.accept()
        try:
            connection.settimeout(PATIENCE_S)
            _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            request, descriptors = received(connection)
        except (OSError, ValueError, KeyError):
            connection.close()
            return
        if user == os.geteuid():
            self.copy(connection, request, descriptors)
        else:
            connection.close()
        for number in descriptors.values():
            os.close(number)

    def copy(self, connection, request, descriptors):
        parent = os.getpid()
        number = os.fork()
        if number == 0:
            self.run_copy(connection, request, descriptors, parent)
        connection.setblocking(False)
        self.copies[number] = connection
        self.poller.register(connection.fileno(), select.POLLIN)
        tell(connection, number)

    def run_copy(self, connection, request, descriptors, parent):
        """Does not return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (self.listener, connection, *self.copies.values()):
                inherited.detach()  # they are closed by number
            become_reference(request, descriptors, parent)
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException:  # noqa: BLE001: as an interpreter ends that nothing holds
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def end_copy_of(self, source):
        """Its connection has ended, or talks: either way no one waits for it."""
        for number, connection in self.copies.items():
            if connection.fileno() == source:
                os.kill(number, signal.SIGKILL)

    def tell_of_ends(self):
        while self.copies:
            number, status = os.waitpid(-1, os.WNOHANG)
            if number == 0:
                return
            connection = self.copies.pop(number)
            self.poller.unregister(connection.fileno())
            tell(connection, status)
            connection.close()


def main(stream, launch):
    stream.close()
    # Of PyTorch's and NumPy's threads none has work here; a newer Python warns of every copy.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork")
    gc.freeze()  # copies share what is there
    Starter(socket.socket(fileno=LISTENER)).run()
