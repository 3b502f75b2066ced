"""The wheel, the types, and what is imported when."""
import os
import shutil
import subprocess
import sys
import venv

import mete
import pytest
from conftest import ROOT

LIBRARY = mete.lib._name


def python(program, path, **env):
    r = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/",
                       env={"PATH": os.environ["PATH"], "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **env})
    return r.stdout + r.stderr


def test_a_wheel_carries_the_library(tmp_path):
    """pip install . in a fresh environment, which has Debian's NumPy."""
    pytest.importorskip("wheel")
    pytest.importorskip("pip")
    shutil.copytree(ROOT + "/python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__", "build"))
    shutil.copy(ROOT + "/CMakeLists.txt", tmp_path)
    venv.create(tmp_path / "venv", system_site_packages=True, with_pip=False)
    own = str(tmp_path / "venv/bin/python")
    subprocess.run([own, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-index",
                    "--disable-pip-version-check", "."], check=True, capture_output=True, cwd=tmp_path / "python",
                   env={**os.environ, "METE_LIBRARY": LIBRARY, "TMPDIR": str(tmp_path)})
    shutil.rmtree(tmp_path / "python")
    site = next((tmp_path / "venv/lib").glob("python*/site-packages"))
    r = subprocess.run([own, "-c", "import mete; print(mete.lib._name); print(mete.__version__)"], cwd="/",
                       env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert r.stdout.split() == [str(site / "mete/libmete.so"), mete.__version__], r.stderr
    assert (site / "mete/py.typed").exists()
    assert any(p.name == "mete-%s.dist-info" % mete.__version__ for p in site.iterdir())


def test_where_there_is_no_library(tmp_path):
    said = python("import mete", ROOT + "/python", METE_LIBRARY="/nowhere/libmete.so")
    assert "ImportError: mete: there is no libmete.so (looked for /nowhere/libmete.so)" in said
    (tmp_path / "libmete.so").write_text("not a library")
    said = python("import mete", ROOT + "/python", METE_LIBRARY=str(tmp_path / "libmete.so"))
    assert "ImportError: mete:" in said and "cannot be loaded" in said


def test_numpy_alone_is_imported():
    program = "import sys, mete; print([m for m in ('sklearn', 'torch', 'pandas', 'scipy') if m in sys.modules])"
    assert python(program, ROOT + "/python", METE_LIBRARY=LIBRARY) == "[]\n"


@pytest.mark.skipif(not shutil.which("mypy"), reason="there is no mypy")
def test_types():
    r = subprocess.run(["mypy", "--config-file", "setup.cfg", "--cache-dir", os.devnull, "mete"], cwd=ROOT + "/python",
                       capture_output=True, text=True)
    assert r.returncode == 0, r.stdout


def test_everything_public_says_what_it_is():
    for name in mete.__all__:
        thing = getattr(mete, name)
        assert thing.__doc__, name
