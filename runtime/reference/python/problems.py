"""What is wrong with a user's file, as a message for the user."""

import contextlib
import os
import sys
import traceback


class TaskError(Exception):
    """The file cannot be a reference; the message says what was expected."""


def _own(frame_path):
    return os.path.dirname(os.path.abspath(__file__)) == os.path.dirname(os.path.abspath(frame_path))


@contextlib.contextmanager
def explained(doing):
    """Turns whatever a user's file raises into a TaskError that names its line."""
    try:
        yield
    except TaskError:
        raise
    except MemoryError:
        raise TaskError("%s needs more memory than there is" % doing)
    except SystemExit as error:
        raise TaskError("%s: the file calls exit(%s)" % (doing, error.code))
    except RecursionError:
        raise TaskError("%s: it calls itself without end" % doing)
    except Exception as error:  # noqa: BLE001: anything a user's file may raise
        if any(words in str(error).lower() for words in ("allocate memory", "out of memory")):
            raise TaskError("%s needs more memory than there is (%s)" % (doing, first_line(error)))
        raise TaskError("%s: %s%s: %s%s" % (doing, type(error).__name__, _line(error), first_line(error),
                                            _of_another_version(error)))


def _of_another_version(error):
    """The version, where PyTorch lacks what the file calls."""
    lacks = isinstance(error, AttributeError) and str(error).startswith("module 'torch")
    return " (this is PyTorch %s)" % sys.modules["torch"].__version__ if lacks and "torch" in sys.modules else ""


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:400] if lines else "no message"


def _line(error):
    """Where in the user's file it happened."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.isfile(frame.filename) and not _own(frame.filename) and "site-packages" not in frame.filename
              and "dist-packages" not in frame.filename and "/lib/python" not in frame.filename]
    return " in line %d" % frames[-1].lineno if frames else ""
