#!/usr/bin/env python3
"""What zsh makes of a command line when Tab is pressed: zsh_complete.py FOLDER LINE

FOLDER holds .zshrc.  Prints the line as zsh has it then."""
import os
import pty
import select
import sys
import time

folder, line = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.execvpe("zsh", ["zsh", "-i"], dict(os.environ, ZDOTDIR=folder, TERM="dumb"))


def read_until(text, seconds):
    seen, end = b"", time.time() + seconds
    while text not in seen and time.time() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
    return seen


read_until(b"> ", 20)
# Ctrl-X: print the line between marks, whatever it looks like on the screen
os.write(terminal, b"show() { print -r -- \"<<$BUFFER>>\" }; zle -N show; bindkey '^X' show\n")
read_until(b"bindkey", 5)
read_until(b"> ", 5)
os.write(terminal, line.encode() + b"\t")
os.write(terminal, b"\x18")
seen = read_until(b">>", 10).decode(errors="replace")
print(seen[seen.rindex("<<") + 2:seen.rindex(">>")] if "<<" in seen and ">>" in seen else repr(seen), end="")
os.write(terminal, b"\x03exit\n")
os.kill(child, 9)
