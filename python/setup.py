"""Builds a wheel that carries libmete.so: that of $METE_LIBRARY, or what CMake builds in ../build."""
import os
import re
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def version() -> str:
    """The one in CMakeLists.txt, where it is said once."""
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(mete VERSION ([\d.]+)", f.read()).group(1)


def library() -> str:
    named = os.environ.get("METE_LIBRARY")
    if named:
        return named
    build = os.path.join(ROOT, "build")
    subprocess.run(["cmake", "-S", ROOT, "-B", build], check=True)
    subprocess.run(["cmake", "--build", build, "--target", "mete_shared"], check=True)
    return os.path.join(build, "libmete.so")


class WithLibrary(build_py):
    def run(self) -> None:
        super().run()
        shutil.copyfile(library(), os.path.join(self.build_lib, "mete", "libmete.so"))


class ForThisPlatform(bdist_wheel):
    """No extension module, so one wheel is for every Python, but the library is for one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(version=version(), cmdclass={"build_py": WithLibrary, "bdist_wheel": ForThisPlatform})
