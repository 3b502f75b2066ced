#!/usr/bin/env python3
"""Runs a command with a terminal of its own: terminal.py COLUMNS COMMAND...

What the command writes to the terminal comes out as it is; the exit status is the command's,
128 + N where signal N ended it.  With SIGNAL_AFTER="TEXT NUMBER" in the environment the command gets
that signal when TEXT has been written."""
import fcntl
import os
import pty
import struct
import sys
import termios

columns, command = int(sys.argv[1]), sys.argv[2:]
text, _, number = os.environ.get("SIGNAL_AFTER", "").rpartition(" ")
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ.pop("COLUMNS", None)
    os.execvp(command[0], command)
seen = b""
while True:
    try:
        some = os.read(terminal, 65536)
    except OSError:  # the other end is closed
        break
    if not some:
        break
    seen += some
    sys.stdout.buffer.write(some)
    sys.stdout.buffer.flush()
    if text and text.encode() in seen:
        os.kill(child, int(number))
        text = ""
_, status = os.waitpid(child, 0)
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
