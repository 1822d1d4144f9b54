"""Requests and answers of the reference process: a line of JSON each, one at a time."""

import json
import os
import resource
import traceback

from .problems import TaskError

FORBIDDEN = "; a reference may write no files, open no sockets and start no programs"


def explained_refusal(message):
    """The message, and what the sandbox forbids where that is what it is about."""
    about_sandbox = "PermissionError" in message or "Operation not permitted" in message
    return message + FORBIDDEN if about_sandbox else message


class Channel:
    """The socket that the process inherited."""

    def __init__(self, stream):
        self.stream = stream

    def requests(self):
        """Those that come, until the other end closes."""
        for line in iter(self.stream.readline, b""):
            yield json.loads(line)

    def answer(self, request, answer):
        line = json.dumps({"id": request["id"], **answer}).encode() + b"\n"
        while line:
            line = line[os.write(self.stream.fileno(), line):]


def limit_cpu_time(seconds):
    """The process ends when it has used this much more, all threads together."""
    if not seconds:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + seconds, hard))


def serve(stream, handlers):
    """Answers requests by their `do` with what its handler returns, or with why it cannot."""
    channel = Channel(stream)
    for request in channel.requests():
        limit_cpu_time(request.get("cpu_s"))
        try:
            answer = {"ok": handlers[request["do"]](request)}
        except TaskError as error:
            answer = {"error": explained_refusal(str(error))}
        except MemoryError:
            answer = {"error": "it needs more memory than there is"}
        except Exception:  # noqa: BLE001: the worker says what went wrong, whatever it was
            answer = {"error": explained_refusal(traceback.format_exc(limit=-3).strip())}
        channel.answer(request, answer)
