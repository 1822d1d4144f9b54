"""The files of its own folder that a reference imports, directly or through one another, and tensors that it names."""

import ast
import os
import sys

from ..problems import TaskError

MOST_FILES, MOST_BYTES = 64, 1 << 20  # a helper or a small package; more is a project (chosen)
# Files of tensors, which a text names in full, such as "weights.pt"; a problem folder travels (chosen).
DATA, MOST_DATA_BYTES = (".pt", ".pth", ".npy", ".npz"), 128 << 20


def imported(source):
    """Their paths from the folder of `source` (entries.Source), sorted. Raises TaskError where they are too much."""
    folder = os.path.realpath(source.folder)
    found, waiting = set(), [("", source.text)]
    while waiting:
        package, text = waiting.pop()
        found.update(_data(folder, text))
        for name in _names(text, package):
            for path in _files(folder, name):
                if path not in found and _is_other(folder, path, source.path):
                    found.add(path)
                    waiting.append((os.path.dirname(path).replace(os.sep, "."), _text(folder, path)))
    for path in _executed(folder):
        if _is_other(folder, path, source.path):
            found.add(path)
    _check(folder, found)
    return sorted(found)


def _data(folder, text):
    """Files of tensors that a text names."""
    for node in ast.walk(_tree(text)):
        path = getattr(node, "value", None)
        if not isinstance(node, ast.Constant) or not isinstance(path, str) or not path.endswith(DATA):
            continue
        path = os.path.normpath(path)
        if not os.path.isabs(path) and not path.startswith("..") and os.path.isfile(os.path.join(folder, path)):
            yield path


def _tree(text):
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def _is_other(folder, path, own):
    return os.path.join(folder, path) != os.path.realpath(own)


def _names(text, package):
    """Dotted names that a text of Python may import, those in `package` too."""
    for node in ast.walk(_tree(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if node.level and package else []
            parts = parts[:len(parts) - node.level + 1] if node.level > 1 else parts
            base = ".".join(parts + ([node.module] if node.module else []))
            for alias in node.names:
                yield base + "." + alias.name if base else alias.name


def _files(folder, name):
    """Files that importing a dotted name reads: its packages, and itself."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        path = os.path.join(*parts[:count]) if all(parts[:count]) else ""
        for file in (path + ".py", os.path.join(path, "__init__.py")):
            if path and os.path.isfile(os.path.join(folder, file)):
                yield file


def _executed(folder):
    """What was imported by other means: by a name that the text computes."""
    elsewhere = [os.path.realpath(path) + os.sep for path in sys.path]
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file):
            continue
        file = os.path.realpath(file)
        installed = any(file.startswith(path) for path in elsewhere if path != folder + os.sep)
        if file.startswith(folder + os.sep) and os.path.isfile(file) and not installed:
            if not file.endswith(".py"):
                raise TaskError("it imports %s, which is no Python text and cannot be copied into the problem folder"
                                % os.path.basename(file))
            yield os.path.relpath(file, folder)


def _text(folder, path):
    try:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _check(folder, paths):
    texts, data = [path for path in paths if path.endswith(".py")], [path for path in paths if path.endswith(DATA)]
    for what, files, most in (("imports", texts, MOST_BYTES), ("reads", data, MOST_DATA_BYTES)):
        size = sum(os.path.getsize(os.path.join(folder, path)) for path in files)
        if len(files) > MOST_FILES or size > most:
            raise TaskError("it %s %d files of its folder with %d bytes, such as %s, which a problem folder would have "
                            "to hold; expected at most %d with %d"
                            % (what, len(files), size, sorted(files)[0], MOST_FILES, most))
