"""Makes copies of a process that has imported PyTorch: each becomes a reference process.

The import takes seconds, a copy milliseconds, its start on a GPU half a second. This process runs nothing of a user's;
a copy confines itself before it does. Whoever wants one connects, sends a line of JSON with descriptors, and gets the
copy's number and at last the status of its end. Where the connection says anything, or ends, so does the copy; one that
was asked for with a key rests instead when its connection ends, and is given to the next who asks with that key.
"""

import base64
import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
import warnings

from . import confinement, rehearsal, serve
from .describing import describe
from .modelling import operators

ENTRIES = {"serve": serve, "describing.describe": describe, "modelling.operators": operators, "rehearsal": rehearsal}
LISTENER, LIFELINE = 4, 5  # what the process inherited: a socket, and a pipe whose end is its end
PLACES = {"prints": (1, 2), "socket": (3,), "memory": (4,), "device_memory": (5,), "way": (6,)}  # of a copy
WAY = 6  # from the starter to a copy that rests
MESSAGE_BYTES, MOST_DESCRIPTORS = 1 << 16, 8
PATIENCE_S = 10  # with one that has connected and says nothing (chosen)
END_S = 0.5  # for a copy whose connection has ended to finish what it does, before it is ended (chosen)
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


def heard(end):
    """What came, nothing at its end; None where there is nothing yet, of an end that does not wait."""
    try:
        return os.read(end.fileno(), MESSAGE_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def take_places(descriptors):
    """The places of a reference process, and `descriptors` are closed. Returns those that have no place."""
    own = {name: confinement.moved_above(number) for name, number in descriptors.items()}
    for number in descriptors.values():  # now, for a place may have the same number
        os.close(number)
    for name, places in PLACES.items():
        if name in own:
            for place in places:
                os.dup2(own[name], place)
            os.close(own.pop(name))
    return own


def close_others(kept):
    """Leaves open what the places of a reference process have, and `kept`."""
    for number in map(int, os.listdir("/proc/self/fd")):
        if number not in kept:
            try:
                os.close(number)
            except OSError:  # the listing's own
                pass


def leave_places():
    """Of a device worker that has ended: what they hold would live on."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for name in ("prints", "socket", "memory"):
        for place in PLACES[name]:
            os.dup2(0, place)
    for place in PLACES["device_memory"]:
        with contextlib.suppress(OSError):  # there was none
            os.close(place)


def next_requests():
    """Tells the starter that this copy rests, and waits for who gets it next.

    Returns a stream of requests; None at the end."""
    leave_places()
    with socket.socket(fileno=confinement.moved_above(WAY)) as way:
        os.write(WAY, b"rests")
        waiting = select.poll()
        waiting.register(way, select.POLLIN)
        waiting.poll()
        try:
            _, descriptors = received(way)
        except ValueError:  # nothing: the starter has ended
            return None
        take_places(descriptors)
    return os.fdopen(PLACES["socket"][0], "rb", closefd=False)


def become_reference(request, descriptors, parent):
    confinement.end_with(parent)
    ruleset = take_places(descriptors).get("ruleset")
    close_others({0, ruleset, *(place for name in descriptors for place in PLACES.get(name, ()))})
    for kind, limit in ((resource.RLIMIT_DATA, request["memory_bytes"]),
                        (resource.RLIMIT_AS, request["address_space_bytes"])):
        if limit:
            resource.setrlimit(kind, (limit, limit))
    confinement.confine_files(ruleset, request["own_rules"])
    confinement.confine_calls(base64.b64decode(request["filter"]), request["any_process"])
    stream = os.fdopen(PLACES["socket"][0], "rb", closefd=False)
    entry = ENTRIES[request["entry"]]
    if request["key"]:
        entry.main(stream, request["launch"], next_requests)
    else:
        entry.main(stream, request["launch"])


class Copy:
    """A reference process, the connection of who has it, and the way to it where it may be given to another."""

    def __init__(self, number, request, connection, way):
        self.number, self.connection, self.way = number, connection, way
        self.key, self.launch = request["key"], request["launch"]
        self.rests = False
        self.ends_at = None  # where no one has it and it does not rest

    def sources(self):
        return [end for end in (self.connection, self.way) if end is not None]

    def free_for(self, request):
        return self.rests and self.connection is None and self.key == request["key"]

    def soon_free_for(self, request):
        return self.ends_at is not None and self.key == request["key"]

    def in_the_way_of(self, key, launch):
        """It rests for others, on the same device: its memory is wanted."""
        same_device = all(self.launch[what] == launch[what] for what in ("gpu", "ordinal"))
        return self.rests and self.connection is None and self.key != key and same_device

    def end(self):
        """No one gets it from here on, though it may live on for a moment."""
        self.key, self.ends_at = None, None
        os.kill(self.number, signal.SIGKILL)


class Starter:
    """Connections, and the copies that were asked for through them."""

    def __init__(self, listener):
        self.listener = listener
        self.copies = {}  # number -> Copy
        self.waiting = []  # requests: connection, words, descriptors
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
            for source, _ in self.poller.poll(self.patience_ms()):
                if source == self.listener.fileno():
                    self.take_request()
                elif source == self.wakened:
                    os.read(self.wakened, 4096)
                elif source == LIFELINE:
                    return
                else:
                    self.hear(source)
            self.end_late_copies()
            self.tell_of_ends()
            self.serve_waiting()

    def patience_ms(self):
        ends = [copy.ends_at for copy in self.copies.values() if copy.ends_at is not None]
        return max(0, int((min(ends) - time.monotonic()) * 1e3) + 1) if ends else None

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
            self.waiting.append((connection, request, descriptors))
        else:
            connection.close()

    def serve_waiting(self):
        waiting, self.waiting = self.waiting, []
        for connection, request, descriptors in waiting:
            if any(copy.soon_free_for(request) for copy in self.copies.values()):
                self.waiting.append((connection, request, descriptors))
                continue
            try:
                self.give(connection, request, descriptors)
            except OSError:  # no process or descriptor is to be had: who asked starts an interpreter
                connection.close()
            for number in descriptors.values():
                os.close(number)

    def give(self, connection, request, descriptors):
        for copy in self.copies.values() if request["key"] else ():
            if copy.free_for(request) and self.hand_on(copy, connection, descriptors):
                return
            if copy.in_the_way_of(request["key"], request["launch"]):
                copy.end()
        self.copy(connection, request, descriptors)

    def hand_on(self, copy, connection, descriptors):
        """Whether a copy that rests has taken it."""
        own = {name: number for name, number in descriptors.items() if name in PLACES}
        rights = struct.pack("=%di" % len(own), *own.values())
        try:
            copy.way.sendmsg([json.dumps({"places": list(own)}).encode()],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except OSError:  # it has ended: tell_of_ends() will find it
            return False
        copy.rests = False
        self.connect(copy, connection)
        return True

    def connect(self, copy, connection):
        connection.setblocking(False)
        copy.connection, copy.ends_at = connection, None
        self.poller.register(connection.fileno(), select.POLLIN)
        tell(connection, copy.number)

    def copy(self, connection, request, descriptors):
        parent, (way, its_way) = os.getpid(), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        number = os.fork()
        if number == 0:
            kept = dict(descriptors, way=its_way.fileno()) if request["key"] else descriptors
            self.run_copy((connection, way, its_way), request, kept, parent)
        its_way.close()
        way.setblocking(False)
        copy = self.copies[number] = Copy(number, request, connection, way)
        self.poller.register(way.fileno(), select.POLLIN)
        self.connect(copy, connection)

    def run_copy(self, ends, request, descriptors, parent):
        """Does not return."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            others = [end for copy in self.copies.values() for end in copy.sources()]
            for inherited in (self.listener, *ends, *others):
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

    def hear(self, source):
        for copy in self.copies.values():
            if copy.way is not None and copy.way.fileno() == source:
                return self.hear_copy(copy)
            if copy.connection is not None and copy.connection.fileno() == source:
                return self.hear_owner(copy)

    def hear_copy(self, copy):
        """It rests, or has ended."""
        said = heard(copy.way)
        if said is None:
            return
        if not said:
            self.forget(copy.way)
            copy.way = None
            return
        copy.rests, copy.ends_at = True, None
        if any(other.key and other.connection and copy.in_the_way_of(other.key, other.launch)
               for other in self.copies.values()):
            copy.end()

    def hear_owner(self, copy):
        """The connection has ended, and no one has the copy; or it talks, and wants the copy's end."""
        said = heard(copy.connection)
        if said is None:
            return
        self.forget(copy.connection)
        copy.connection = None
        if said or not copy.key:
            copy.end()
        elif not copy.rests:
            copy.ends_at = time.monotonic() + END_S

    def end_late_copies(self):
        now = time.monotonic()
        for copy in self.copies.values():
            if copy.ends_at is not None and copy.ends_at <= now:
                copy.end()

    def tell_of_ends(self):
        while self.copies:
            number, status = os.waitpid(-1, os.WNOHANG)
            if number == 0:
                return
            copy = self.copies.pop(number)
            if copy.connection is not None:
                tell(copy.connection, status)
            for end in copy.sources():
                self.forget(end)

    def forget(self, end):
        self.poller.unregister(end.fileno())
        end.close()


def main(stream, launch):
    stream.close()
    # Of PyTorch's and NumPy's threads none has work here; a newer Python warns of every copy.
    warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork")
    gc.freeze()  # copies share what is there
    Starter(socket.socket(fileno=LISTENER)).run()
