# SPDX-License-Identifier: Apache-2.0
"""The parent's end of scripts/turn_process.py: starts the process, asks it, and trusts nothing that it answers."""
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import time

MOST_ANSWER_BYTES = 1 << 20  # a block's times are some kilobytes
MOST_PRINTED_BYTES = 16 << 20  # between two answers; compilers print warnings
LAST_WORDS_BYTES = 600
CHUNK_BYTES = 1 << 16


class SideError(Exception):
    """Why a side gives no times: it ended, hung, flooded, answered something else, or says that it cannot."""


class Side:
    """A process that times one implementation. Ends with its `with` block, and everything that it started too."""

    def __init__(self, label, program=None):
        self.label = label
        command = program or [sys.executable, str(pathlib.Path(__file__).with_name("turn_process.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True)
        self.last_id, self.answers, self.printed, self.printed_bytes = 0, b"", b"", 0
        self.selector = selectors.DefaultSelector()
        for name in ("stdout", "stderr"):
            os.set_blocking(getattr(self.process, name).fileno(), False)
            self.selector.register(getattr(self.process, name), selectors.EVENT_READ, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.selector.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def ask(self, request, limit_s):
        """The answer to a request, as a dictionary. Raises SideError."""
        self.last_id += 1
        self.printed_bytes, deadline = 0, time.monotonic() + limit_s
        try:
            self.process.stdin.write(json.dumps({"id": self.last_id, **request}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.fail("ended")
        while b"\n" not in self.answers:
            self.read(deadline, request["do"], limit_s)
        line, _, self.answers = self.answers.partition(b"\n")
        return self.checked(line)

    def read(self, deadline, what, limit_s):
        ready = self.selector.select(max(deadline - time.monotonic(), 0))
        if not ready:
            self.fail("did not answer '%s' within %g s" % (what, limit_s))
        for key, _ in ready:
            chunk = os.read(key.fd, CHUNK_BYTES)
            if key.data == "stderr":
                self.printed_bytes += len(chunk)
                self.printed = (self.printed + chunk)[-2 * LAST_WORDS_BYTES:]
                if not chunk:
                    self.selector.unregister(key.fileobj)
            elif not chunk:
                self.fail("ended")
            else:
                self.answers += chunk
        if len(self.answers) > MOST_ANSWER_BYTES or self.printed_bytes > MOST_PRINTED_BYTES:
            self.fail("printed more than it may")

    def checked(self, line):
        try:
            answer = json.loads(line)
        except ValueError:
            self.fail("answered something that is no JSON")
        if not isinstance(answer, dict) or answer.get("id") != self.last_id or self.answers:
            self.fail("answered out of turn")
        if isinstance(answer.get("error"), str):
            raise SideError("%s: %s" % (self.label, plain(answer["error"])))
        if not isinstance(answer.get("ok"), dict):
            self.fail("answered without a result")
        return answer["ok"]

    def fail(self, why):
        words = plain(self.printed.decode(errors="replace")).strip()
        raise SideError("%s %s%s" % (self.label, why, "; its last words: " + words if words else ""))


def plain(text):
    """The end of a text of another process, without what a terminal obeys."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)[-LAST_WORDS_BYTES:]
