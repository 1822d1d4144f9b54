#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a search shows on a real pseudo-terminal, read as a terminal reads it.

    live_view_test.py PROGRAM

Nothing here depends on the machine's speed: every frame that the program draws is looked at, not what is there at some time.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

PROGRAM = ""
ROWS = 24
PHASES = ("looking for the device", "starting the compiler", "compiling headers", "running the first kernels", "search",
          "confirming")
# A block of lines is taken back by going up to its first line and erasing all below (ECMA-48: CUU, CR, ED).
TAKE_BACK = re.compile(r"\x1b\[(\d+)A\r\x1b\[J")
STYLE = re.compile(r"\x1b\[\d*m")


class Screen:
    """A terminal that knows no more sequences than the program may send, and fails on any other."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.frames = []  # the lines of each block that was taken back
        self.style = ""   # the last one that was set

    def feed(self, text):
        at = 0
        while at < len(text):
            at = self._sequence(text, at) if text[at] == "\x1b" else self._character(text, at)

    def _character(self, text, at):
        if text[at] == "\n":
            self.lines.append("")
        elif text[at] != "\r":  # the terminal's driver sends one before each line feed
            if len(self.lines[-1]) == self.columns:
                self.lines.append("")  # it wraps
            self.lines[-1] += text[at]
        return at + 1

    def _sequence(self, text, at):
        if back := TAKE_BACK.match(text, at):
            rows = int(back[1])
            assert self.lines[-1] == "" and rows < min(ROWS, len(self.lines)), f"goes up {rows} lines from {self.lines[-3:]}"
            self.frames.append(self.lines[-1 - rows:-1])
            self.lines[-1 - rows:] = [""]
            return back.end()
        style = STYLE.match(text, at)
        assert style, f"no such sequence here: {text[at:at + 12]!r}"
        self.style = style[0]
        return style.end()


class Terminal:
    """A program on a pseudo-terminal of its own, read to its end; it gets Ctrl-C once `interrupt_at` has been drawn."""

    def __init__(self, command, columns=80, interrupt_at=None, **environment):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        before = termios.tcgetattr(slave)
        # At Ctrl-C a terminal throws away what it has not yet read, and echoes ^C into what it reads: at any place.
        before[3] = (before[3] | termios.NOFLSH) & ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, before)
        process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                   env=os.environ | {"TERM": "xterm"} | environment,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.text = read_all(master, process, interrupt_at)
        self.code = process.wait()
        self.same_settings = termios.tcgetattr(slave) == before
        os.close(slave)
        os.close(master)
        self.screen = Screen(columns)
        self.screen.feed(self.text)

    def phases(self):
        """What the first lines of the blocks say, each once, in their order."""
        names = [next((phase for phase in PHASES if frame[0].startswith(phase)), frame[0]) for frame in self.screen.frames]
        return [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]


def read_all(master, process, interrupt_at):
    data = b""
    while True:
        if select.select([master], [], [], 0.05)[0]:
            data += os.read(master, 65536)
        elif process.poll() is not None:
            return data.decode()
        if interrupt_at and interrupt_at in data:
            os.write(master, b"\x03")  # as the key does: the terminal sends the signal
            interrupt_at = None


class LiveView(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ak_live_view_")
        self.addCleanup(folder.cleanup)
        self.kernel = os.path.join(folder.name, "k.cu")
        self.database = os.path.join(folder.name, "k.db")

    def command(self, evaluations):
        return [PROGRAM, "generate", "--algorithm", "vector_add", "--arch", "h200", "--device", "emulator", "--seed", "1",
                "--max-evaluations", str(evaluations), "--db", self.database, "--output", self.kernel]

    def assert_whole(self, terminal):
        """Nothing of the blocks is left, none wrapped, and what the search has to say is there."""
        screen = terminal.screen
        for frame in screen.frames:
            self.assertRegex(frame[0], r"^(%s)" % "|".join(PHASES))
            for line in frame:
                self.assertLess(len(line), screen.columns)
        left = "\n".join(screen.lines)
        self.assertNotRegex(left, r"\[#*\.*\]|tried, \d+ passed|looking for the device")
        self.assertEqual(screen.lines[-1], "")
        self.assertIn("best: ", left)
        self.assertIn("next:", left)
        self.assertIn(screen.style, ("", "\x1b[0m"))
        self.assertTrue(terminal.same_settings)

    def test_the_first_words_are_true_and_every_phase_is_shown_in_its_order(self):
        terminal = Terminal(self.command(3))
        self.assertEqual(terminal.code, 0, terminal.text)
        self.assertTrue(STYLE.sub("", terminal.text).startswith("looking for the device  0 s\r\n"), terminal.text[:200])
        shown = terminal.phases()
        self.assertEqual(shown, [phase for phase in PHASES if phase in shown])
        self.assertLessEqual({PHASES[0], PHASES[1], "search"}, set(shown))
        self.assert_whole(terminal)

    def test_the_bar_and_the_counts_only_grow(self):
        frames = [frame for frame in Terminal(self.command(6)).screen.frames if frame[0].startswith("search")]
        shares = [int(re.search(r"\[[#.]{10,30}\]  (\d+) %", frame[0])[1]) for frame in frames]
        tried = [int(re.match(r"  (\d+) of \d+ tried, \d+ passed", frame[1])[1]) for frame in frames]
        self.assertEqual((shares, tried), (sorted(shares), sorted(tried)))
        self.assertGreater(tried[0], 0)
        self.assertTrue(any("best predicted" in line for line in frames[-1]), frames[-1])

    def test_a_narrow_terminal_shows_lines_that_fit(self):
        terminal = Terminal(self.command(2), columns=40)
        self.assert_whole(terminal)
        for frame in terminal.screen.frames:
            self.assertRegex(frame[0], r"  \d+( s|m\d\ds)", "the time is always there")

    def test_ctrl_c_ends_the_search_and_leaves_the_terminal_as_it_was(self):
        terminal = Terminal(self.command(100_000), interrupt_at=b" tried, ")
        self.assertEqual(terminal.code, 130, terminal.text)
        self.assert_whole(terminal)
        self.assertTrue(os.path.exists(self.kernel))

    def test_ctrl_c_before_the_first_kernel_leaves_the_terminal_as_it_was(self):
        terminal = Terminal(self.command(100_000), interrupt_at=b"starting the compiler")
        self.assertEqual(terminal.code, 130, terminal.text)
        self.assertTrue(terminal.same_settings)
        self.assertEqual(terminal.screen.lines[-1], "")
        self.assertNotRegex("\n".join(terminal.screen.lines), "looking for the device|starting the compiler")

    def test_a_terminal_that_wants_no_colour_has_none(self):
        terminal = Terminal(self.command(2), NO_COLOR="1")
        self.assertEqual(terminal.screen.style, "")
        self.assert_whole(terminal)

    def test_a_terminal_that_obeys_nothing_gets_plain_lines(self):
        terminal = Terminal(self.command(2), TERM="dumb")
        self.assertNotIn("\x1b", terminal.text)
        self.assertIn("search: ", terminal.text)

    def test_a_self_check_counts_in_place_only_where_that_is_obeyed(self):
        command = [PROGRAM, "selfcheck", "--device", "emulator", "--arch", "h200", "--only", "r01", "--no-templates"]
        self.assertRegex(Terminal(command).text, r"\x1b\[1A")
        self.assertNotIn("\x1b", Terminal(command, TERM="dumb").text)

    def test_a_log_has_plain_lines(self):
        run = subprocess.run(self.command(2), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertNotIn("\x1b", run.stdout)
        self.assertIn("search: ", run.stdout)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
