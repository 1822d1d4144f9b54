# SPDX-License-Identifier: Apache-2.0
"""How far two files of raw tensor elements are apart; needs neither PyTorch nor NumPy."""
import math
import os
import struct

MOST_ELEMENTS = 1 << 16  # that are compared, evenly spaced (chosen: a wrong formula is wrong in most elements)
FORMATS = {"float64": "d", "float32": "f", "float16": "e", "bfloat16": "H", "int64": "q", "int32": "i", "int16": "h",
           "int8": "b", "uint8": "B"}


def elements(file, dtype, count):
    """Some of the file's `count` elements. Raises ValueError where it holds another number of them."""
    code = FORMATS[dtype]
    size = struct.calcsize(code)
    if os.path.getsize(file) != count * size:
        raise ValueError("%s has %d bytes; expected %d elements of %s" % (file, os.path.getsize(file), count, dtype))
    step = max(count // MOST_ELEMENTS, 1) | 1  # odd: rows of a power of two do not hide their other columns
    with open(file, "rb") as stream:
        raw = stream.read()
    values = [struct.unpack_from("<" + code, raw, index * size)[0] for index in range(0, count, step)]
    if dtype == "bfloat16":
        values = [struct.unpack("<f", struct.pack("<I", value << 16))[0] for value in values]
    return values


def difference(files, dtype, count):
    """The largest |a - b| / (|a| + rms(a)); infinite where they are not finite alike."""
    ours, theirs = (elements(file, dtype, count) for file in files)
    if any(math.isfinite(a) != math.isfinite(b) for a, b in zip(ours, theirs)):
        return math.inf
    pairs = [(a, b) for a, b in zip(ours, theirs) if math.isfinite(a)]
    rms = math.sqrt(sum(a * a for a, _ in pairs) / max(len(pairs), 1))
    return max((abs(a - b) / (abs(a) + rms) for a, b in pairs if a != b), default=0.0)
