"""Small results that were computed before, by what they were computed from.

Every device worker of a search checks its kernels on the same inputs. On a GPU a result costs two changes of its context
and a dozen launches, milliseconds; one that is known costs a hash.
"""

import collections
import hashlib

BYTES = 1 << 28  # that are kept, of host memory (chosen)


class KnownResults:
    def __init__(self):
        self.entries = collections.OrderedDict()  # key -> (results: index -> bytes on the host, ms)
        self.bytes = 0

    def find(self, key):
        """Nothing where it is not known."""
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)

    def keep(self, key, results, ms):
        self.entries[key] = results, ms
        self.bytes += sum(contents.numel() for contents in results.values())
        while self.bytes > BYTES:
            _, (oldest, _) = self.entries.popitem(last=False)
            self.bytes -= sum(contents.numel() for contents in oldest.values())


def hash_of(contents):
    """Of bytes. No one who chooses them can make two of them that have the same."""
    return hashlib.blake2b(contents, digest_size=32).digest()
