"""A toolchain that is missing or of the wrong version is refused with one sentence (issue: bad input)."""

import os
import subprocess
import sys

import pytest
from fake_environment import FakeEnvironment, other_python
from hypothesis import given, settings
from hypothesis import strategies as st

from <<cookiecutter.package_name>>.installed import find_module
from <<cookiecutter.package_name>>.requirements_check import Requirement, parse_requirement, satisfies
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, ENV_PREFIX, PACKAGE_NAME

CALL = f"""
from {PACKAGE_NAME}.errors import InstallationError
from {PACKAGE_NAME}.requirements_check import require_toolchain
try:
    require_toolchain()
except InstallationError as error:
    print(error)
"""


@pytest.fixture
def env(tmp_path):
    return FakeEnvironment(tmp_path)


def complaint(env, before="", **environ):
    done = env.run("-c", before + CALL, **environ)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.strip()


def test_sound_toolchain(env):
    assert complaint(env) == ""


@pytest.mark.parametrize("name", ["triton", "xdsl", "llvmlite", "numpy"])
def test_missing(env, name):
    env.remove(name)
    text = complaint(env)
    assert text.startswith(f"{BACKEND_NAME}: {name} is not installed (supported: {name}")
    assert f"{env.python} -m pip install" in text and f"{DISTRIBUTION_NAME} doctor" in text
    assert len(text.splitlines()) == 1


def test_files_gone_but_recorded(env):
    env.remove("xdsl", files_too=False)
    (env.site / "xdsl").rename(env.site / "moved")
    assert "xdsl is not installed" in complaint(env)


@pytest.mark.parametrize(
    ("name", "version", "supported"),
    [
        ("triton", "3.6.0", "triton>=3.7,<3.10"),
        ("xdsl", "0.60.0", "xdsl==0.75.*"),
        ("llvmlite", "0.44", "llvmlite>=0.45"),
    ],
)
def test_wrong_version(env, name, version, supported):
    env.replace_version(name, version)
    text = complaint(env)
    assert f"{name} {version} is installed (supported: {supported})" in text
    assert f"pip install '{supported}'" in text and f"a newer {DISTRIBUTION_NAME} may support more" in text
    assert complaint(env, **{f"{ENV_PREFIX}_SKIP_VERSION_CHECK": "1"}) == ""


def test_several_at_once(env):
    env.remove("xdsl")
    env.replace_version("triton", "3.10.0")
    text = complaint(env)
    assert "triton 3.10.0 is installed" in text and "xdsl is not installed" in text
    assert "pip install 'triton>=3.7,<3.10' 'xdsl==0.75.*'" in text
    assert "xdsl is not installed" in complaint(env, **{f"{ENV_PREFIX}_SKIP_VERSION_CHECK": "1"})


def test_the_triton_that_is_running_counts(env):
    """A fork put earlier on the path, say: its own word is taken before that of the metadata."""
    loaded = "import sys, types; sys.modules['triton'] = types.SimpleNamespace(__version__='3.5.1+fork')\n"
    assert "triton 3.5.1+fork is installed" in complaint(env, loaded)


def test_fork_of_triton_without_version(env):
    env.remove("triton", files_too=False)
    assert complaint(env) == ""


def test_python_3_10(env):
    python = other_python("3.10")
    if python is None:
        pytest.skip("no Python 3.10 on this machine")
    done = env.run("-c", CALL, python=python, PYTHONPATH=str(env.site))
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "Python 3.10." in done.stdout and "(supported: Python >=3.11)" in done.stdout


def test_checked_once_and_fast(env):
    script = f"""
import importlib.metadata, time
from {PACKAGE_NAME} import requirements_check
start = time.perf_counter()
requirements_check.require_toolchain()
first = time.perf_counter() - start
requirements_check.own_requirements = None  # a second look would call it
requirements_check.require_toolchain()
print(first)
"""
    times = [float(env.run("-c", script).stdout) for _ in range(5)]
    assert min(times) < 0.005  # in a process that has imported Triton: 1 ms


PROGRAM = f"""
import sys
sys.modules["HIDDEN"] = None
import triton, triton.language as tl
from {PACKAGE_NAME} import activate
from {PACKAGE_NAME}.errors import InstallationError

@triton.jit
def kernel(x):
    tl.store(x, 1)

class Pointer:
    dtype = "int32"
    def data_ptr(self):
        return 0

def launch():
    kernel[(1,)](Pointer())

try:
    CALL()
except InstallationError as error:
    print(error)
"""


@pytest.mark.parametrize("call", ["launch", "activate"])
@pytest.mark.parametrize("name", ["xdsl", "llvmlite"])
def test_using_the_backend_ends_in_the_sentence(tmp_path, name, call):
    """With the real Triton: nothing on the way to the check may need what the check finds missing."""
    if find_module("triton") is None:
        pytest.skip("Triton, which compiles the kernel, is not installed")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("HIDDEN", name).replace("CALL", call))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_")}
    environ |= {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_DEFAULT_BACKEND": BACKEND_NAME}
    done = subprocess.run([sys.executable, str(program)], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{BACKEND_NAME}: {name} is not installed")
    assert len(done.stdout.splitlines()) == 1
    cached = [file.name for file in tmp_path.glob("cache/*/*")]
    assert not set(cached) - {"answer.txt"}, "no kernel may be cached"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("triton<3.10,>=3.7", Requirement("triton", "<3.10,>=3.7")),
        ("numpy (>=1.26)", Requirement("numpy", ">=1.26")),
        ('torch>=2.4 ; extra == "torch"', Requirement("torch", ">=2.4", "torch")),
        (
            "a.b-c[x,y] >= 1 ; python_version < \"3.13\" and extra == 'dev'",
            Requirement("a.b-c", ">=1", "dev"),
        ),
        ("plain", Requirement("plain", "")),
        ("local @ file:///x/y", Requirement("local", "")),
    ],
)
def test_parse_requirement(line, expected):
    assert parse_requirement(line) == expected


def test_parse_requirement_refuses_nonsense():
    with pytest.raises(ValueError, match="not a dependency"):
        parse_requirement("((")


@pytest.mark.parametrize(
    ("version", "specifiers", "expected"),
    [
        ("3.8.0", ">=3.7,<3.10", True),
        ("3.10.0", ">=3.7,<3.10", False),
        ("3.10.0rc1", "<3.10", False),
        ("3.7.0rc1", ">=3.7", False),
        ("3.9.0+git1a2b3c", ">=3.7,<3.10", True),
        ("0.75.0", "==0.75.*", True),
        ("0.750.0", "==0.75.*", False),
        ("1.4.5", "~=1.4.2", True),
        ("1.5.0", "~=1.4.2", False),
        ("1", "!=1.0", False),
        ("not a version", ">=1", False),
        ("not a version", "", True),
        ("1.0", "=>1", False),
    ],
)
def test_satisfies(version, specifiers, expected):
    assert satisfies(version, specifiers) is expected


release = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
suffix = st.sampled_from(["", "", "", "rc1", "a2", "b1", ".dev3", ".post1", "+cpu", "rc2+cpu"])
version = st.builds(str.__add__, release, suffix)
bound = st.one_of(
    st.builds(
        "{}{}".format,
        st.sampled_from([">=", "<=", "==", "!="]),
        st.builds(str.__add__, release, st.sampled_from(["", "rc1"])),
    ),
    st.builds("{}{}".format, st.sampled_from([">", "<"]), release),
    st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), release),
    st.builds("~={}.{}".format, st.integers(0, 3), release),
)


@settings(max_examples=500, deadline=None)
@given(version, st.lists(bound, max_size=2).map(",".join))
def test_satisfies_agrees_with_packaging(installed, specifiers):
    packaging = pytest.importorskip("packaging.specifiers", reason="packaging is the judge")
    expected = packaging.SpecifierSet(specifiers).contains(installed, prereleases=True)
    assert satisfies(installed, specifiers) is expected, (installed, specifiers)
