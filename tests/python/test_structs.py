"""The structs of _structs.py are those of the headers, by the C compiler."""
import ctypes
import shutil
import subprocess

import pytest
from conftest import ROOT
from mete import _structs, _library

STRUCTS = {name: kind for name, kind in vars(_structs).items()
           if name.startswith("mete_") and isinstance(kind, type) and issubclass(kind, ctypes.Structure)}


def by_the_compiler(folder):
    lines = []
    for name, kind in STRUCTS.items():
        lines.append('printf("%s %%zu\\n", sizeof(struct %s));' % (name, name))
        for field, _ in kind._fields_:
            lines.append('printf("%s.%s %%zu %%zu\\n", offsetof(struct %s, %s), sizeof ((struct %s *)0)->%s);'
                         % (name, field, name, field, name, field))
    source = folder / "sizes.c"
    source.write_text('#include <stdio.h>\n#include "mete_learner.h"\n#include "mete_plan.h"\n#include "mete_theory.h"\nint main(void)\n{\n%s\n}\n'
                      % "\n".join(lines))
    subprocess.run(["gcc", "-I%s/include" % ROOT, "-o", str(folder / "sizes"), str(source)], check=True)
    text = subprocess.run([str(folder / "sizes")], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in text.splitlines()}


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_every_struct_is_as_in_the_headers(tmp_path):
    want = by_the_compiler(tmp_path)
    for name, kind in STRUCTS.items():
        assert want[name] == (ctypes.sizeof(kind),), name
        for field, _ in kind._fields_:
            at = getattr(kind, field)
            assert want["%s.%s" % (name, field)] == (at.offset, at.size), "%s.%s" % (name, field)


def test_every_function_is_in_a_header():
    text = "".join(open("%s/include/%s.h" % (ROOT, n)).read() for n in ("mete", "mete_learner", "mete_plan", "mete_theory"))
    for name in _library.FUNCTIONS:
        assert name + "(" in text, name
