"""Small results that were computed before, by what they were computed from.

Every device worker of a search checks its kernels on the same inputs. On a GPU a result costs two changes of its
context and a dozen launches, milliseconds; one that is known costs a hash.
"""

import collections
import hashlib

SMALL_BYTES = 1 << 20  # of all inputs, or all results, of what is remembered (chosen)
KEPT_BYTES = 1 << 28  # of host memory for all that is (chosen)

# results: index -> bytes on the host; notes: what was said while they were computed
Known = collections.namedtuple("Known", "results ms notes")


class KnownResults:
    def __init__(self):
        self.entries = collections.OrderedDict()  # key -> Known, the least recently used one first
        self.bytes = 0

    def find(self, key):
        """None where it is not known."""
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def keep(self, key, known):
        if bytes_of(known) > SMALL_BYTES or key in self.entries:
            return
        self.entries[key] = known
        self.bytes += bytes_of(known)
        while self.bytes > KEPT_BYTES:
            _, oldest = self.entries.popitem(last=False)
            self.bytes -= bytes_of(oldest)


def bytes_of(known):
    return sum(contents.numel() for contents in known.results.values())


def hash_of(contents, *meanings):
    """Of bytes and of what they mean. No one who chooses them can make two that have the same."""
    digest = hashlib.blake2b(repr(meanings).encode(), digest_size=32)
    digest.update(contents)
    return digest.digest()
