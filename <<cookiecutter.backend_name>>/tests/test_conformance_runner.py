"""The conformance runner on a tiny stand-in for Triton's tests, which pass, fail, crash and hang as they are told to."""

import importlib
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "conformance"
if not FOLDER.is_dir():
    pytest.skip("the conformance folder has been deleted", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
cases, checkout, run, workers = map(importlib.import_module, ("cases", "checkout", "run", "workers"))
KnownFailures = importlib.import_module("known").KnownFailures
sys.path.remove(str(FOLDER))

RELEASE = "3.8"

CONFTEST = """\
import pytest

def pytest_addoption(parser):
    parser.addoption("--device")

@pytest.fixture
def device(request):
    return request.config.getoption("--device")
"""

ORDINARY = """\
import os, subprocess, sys
import pytest

def test_device(device):
    assert device == "cpu"

@pytest.mark.interpreter
@pytest.mark.parametrize("n", range(5))
def test_some(n):
    assert n != 3, "three is wrong"

def test_wrapped():
    try:
        raise ValueError("the cause")
    except ValueError as error:
        raise RuntimeError("the wrapping") from error

def test_skips():
    pytest.skip("not today")

@pytest.fixture
def broken():
    raise KeyError("in a fixture")

def test_setup(broken):
    pass

@pytest.mark.xfail
def test_expected():
    assert False

LEFTOVER = []

def test_leaves_something_behind():
    LEFTOVER.append(1)

def test_minds_it():
    assert not LEFTOVER

def test_environment():
    assert os.environ["TRITON_DEFAULT_BACKEND"] and "TRITON_UNRELATED" not in os.environ
    assert os.path.isdir(os.environ["HOME"]) and "conformance-" in os.environ["HOME"]
"""

WILD = """\
import ctypes, os, time
import pytest

def test_first(): pass
def test_segfault(): ctypes.string_at(0)
def test_between(): pass
def test_exit(): os._exit(0)
def test_hang(): time.sleep(1000)
def test_native_hang(): ctypes.PyDLL(None).sleep(1000)  # PyDLL: the interpreter's lock stays held
def test_fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
def test_last(): pass
"""

BROKEN = "import no_such_module\ndef test_never(): pass\n"


@pytest.fixture(scope="module")
def triton_checkout(tmp_path_factory):
    root = tmp_path_factory.mktemp("triton checkout")
    language = root / "python/test/unit/language"
    language.mkdir(parents=True)
    (root / "python/test/conftest.py").write_text(CONFTEST)
    (root / "python/triton").mkdir()
    (root / "python/triton/__init__.py").write_text("raise ImportError('the checkout shadows the wheel')")
    (language / "test_core.py").write_text(ORDINARY)
    (language / "test_wild.py").write_text(WILD)
    (language / "test_broken.py").write_text(BROKEN)
    (language / "test_clc.py").write_text("raise SystemExit('not applicable, and so not even imported')")
    return root


@pytest.fixture
def runner(triton_checkout, tmp_path, monkeypatch, capsys):
    """Calls the runner; returns its exit status, its JSON report and what it printed."""
    monkeypatch.setattr(run, "check_backend", lambda environment: None)
    monkeypatch.setattr(run, "versions", lambda: {"triton": RELEASE + ".0"})
    monkeypatch.setenv("TRITON_UNRELATED", "1")

    def call(*arguments, known=""):
        listed = tmp_path / "known.toml"
        if known is not None:
            listed.write_text(textwrap.dedent(known))
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        options = ["--tests", str(triton_checkout), "--known", str(listed), "--out", str(report)]
        status = run.main([*options, *map(str, arguments)])
        result = json.loads(report.read_text()) if report.exists() else None
        return status, result, capsys.readouterr()

    return call


def listed(test, reason="for a reason", release=RELEASE):
    return f'[[failure]]\ntest = "{test}"\ntriton = ["{release}"]\nreason = "{reason}"\n'


CORE = "unit/language/test_core.py::"
WILDS = "unit/language/test_wild.py::"


def test_every_outcome(runner):
    status, report, printed = runner("--timeout", 1, "--workers", 2)
    assert status == 1
    outcomes = {test["id"]: test["outcome"] for test in report["tests"]}
    assert outcomes == {
        "unit/language/test_broken.py": "failed",
        CORE + "test_device": "passed",
        **{f"{CORE}test_some[{n}]": "failed" if n == 3 else "passed" for n in range(5)},
        CORE + "test_wrapped": "failed",
        CORE + "test_skips": "skipped",
        CORE + "test_setup": "failed",
        CORE + "test_expected": "skipped",
        CORE + "test_leaves_something_behind": "passed",
        CORE + "test_minds_it": "passed",
        CORE + "test_environment": "passed",
        WILDS + "test_first": "passed",
        WILDS + "test_segfault": "crashed",
        WILDS + "test_between": "passed",
        WILDS + "test_exit": "crashed",
        WILDS + "test_hang": "timeout",
        WILDS + "test_native_hang": "timeout",
        WILDS + "test_fork": "passed",
        WILDS + "test_last": "passed",
    }
    messages = {test["id"]: test["message"] for test in report["tests"]}
    assert "no_such_module" in messages["unit/language/test_broken.py"]
    assert "three is wrong" in messages[CORE + "test_some[3]"]
    assert messages[CORE + "test_wrapped"] == "ValueError: the cause\nfrom which RuntimeError: the wrapping"
    assert "not today" in messages[CORE + "test_skips"]
    assert "in a fixture" in messages[CORE + "test_setup"]
    assert messages[CORE + "test_minds_it"].startswith("passes alone, but after other tests: AssertionError")
    assert (
        "Segmentation fault" in messages[WILDS + "test_segfault"]
        and "test_segfault" in messages[WILDS + "test_segfault"]
    )
    hang = messages[WILDS + "test_native_hang"]
    assert hang.startswith("stopped after 1 s") and "in test_native_hang" in hang, "where it hung"
    assert report["counts"] == {"passed": 12, "failed": 4, "crashed": 2, "timeout": 2, "skipped": 2}
    assert len(report["unlisted"]) == 8
    assert report["files"]["unit/language/test_core.py"] == {"passed": 8, "failed": 3, "skipped": 2}
    # Of 16 functions that ran, 8 pass wholly, and test_some in four cases of five.
    assert report["functions"] == 16 and report["functions_that_pass"] == 8
    assert report["mean_function_pass_rate"] == pytest.approx((8 + 4 / 5) / 16, abs=1e-4)
    assert "8 fail, and are not in" in printed.out and f"crashed: {WILDS}test_segfault" in printed.out


def test_a_function_that_keeps_hanging_is_given_up_on(tmp_path):
    tests = tmp_path / "python/test"
    tests.mkdir(parents=True)
    (tests / "conftest.py").write_text(CONFTEST)
    (tests / "test_hang.py").write_text(
        "import pytest, time\n"
        "@pytest.mark.parametrize('n', range(9))\n"
        "def test_hang(n): time.sleep(1000)\n"
        "def test_after(): pass\n"
    )
    work = tmp_path / "work"
    work.mkdir()
    session = workers.Session(tests, work, "cpu", 0.5, run.test_environment(work, "cpu"))
    collected, _ = session.collect(["test_hang.py"])
    results = []
    session.run(collected, 1, results.append)
    hung = [result for result in results if "test_hang[" in result.case]
    assert [result.outcome for result in hung] == ["timeout"] * 9
    assert sum(result.message.startswith("not run") for result in hung) == 9 - workers.MOST_TIMEOUTS
    assert [result.outcome for result in results if "test_after" in result.case] == ["passed"]


def test_known_failures(runner):
    known = listed(CORE + "test_some[3]") + listed(CORE + "test_wrapped") + listed(CORE + "test_setup")
    status, report, _ = runner("-k", "test_core", known=known)
    assert status == 0 and report["good"] and report["counts"]["failed"] == 3
    assert {test["known"] for test in report["tests"] if test["outcome"] == "failed"} == {"for a reason"}

    known = (
        listed(CORE + "test_some") + listed(CORE + "test_gone") + listed(CORE + "test_wrapped", reason=" ")
    )
    status, report, printed = runner("-k", "test_some", known=known)
    assert status == 1 and not report["good"] and report["unlisted"] == []
    assert report["passing"] == [f"{CORE}test_some[{n}]" for n in (0, 1, 2, 4)]
    assert report["vanished"] == [CORE + "test_gone"] and report["unexplained"] == [CORE + "test_wrapped"]
    for finding in ("4 pass, and are listed in", "1 are listed in", "without a reason"):
        assert finding in printed.out


@pytest.mark.parametrize(
    ("known", "outcome", "findings"),
    [
        ("", "passed", {}),
        ("", "skipped", {}),
        ("", "failed", {"unlisted"}),
        ("", "crashed", {"unlisted"}),
        ("", "timeout", {"unlisted"}),
        (listed("a.py::test_x[1]"), "failed", {}),
        (listed("a.py::test_x"), "failed", {}),
        (listed("a.py::test_*"), "timeout", {}),
        (listed("a.py::test_x[1]"), "passed", {"passing"}),
        (listed("a.py::test_x[1]"), "skipped", {}),
        (listed("a.py::test_y"), "passed", {}),  # did not run, which says nothing
        (listed("a.py::test_x[1]", release="3.0"), "failed", {"unlisted"}),
        (listed("a.py::test_z", release="3.0"), "passed", {}),
        (listed("a.py::test_z"), "passed", {"vanished"}),
        (listed("a.py::test_x[1]", reason=""), "failed", {"unexplained"}),
    ],
)
def test_judgement(known, outcome, findings, tmp_path):
    (tmp_path / "known.toml").write_text(known)
    collected = ["a.py::test_x[1]", "a.py::test_x[2]", "a.py::test_y"]
    result = cases.Result("a.py::test_x[1]", outcome)
    verdict = KnownFailures(tmp_path / "known.toml", RELEASE).judge([result], collected)
    found = {name for name in ("unlisted", "passing", "vanished", "unexplained") if getattr(verdict, name)}
    assert found == set(findings) and verdict.is_good == (not findings)


def test_update_known(runner, tmp_path):
    other = listed("unit/language/test_other.py::test_x", release="3.0")
    before = (
        "# About the list.\n\n"
        + listed(CORE + "test_some", "it counts wrongly")
        + listed(CORE + "test_gone")
        + other
    )
    status, _, _ = runner("-k", "test_core", "--update-known", known=before)
    assert status == 1, "a new failure needs a reason"
    text = (tmp_path / "known.toml").read_text()
    assert text.startswith("# About the list.\n")
    entries = KnownFailures(tmp_path / "known.toml", RELEASE).entries
    assert [(entry.test, entry.reason) for entry in entries] == [
        (CORE + "test_setup", ""),
        (CORE + "test_some[3]", "it counts wrongly"),
        (CORE + "test_wrapped", ""),
        ("unit/language/test_other.py::test_x", "for a reason"),
    ]
    filled = text.replace('reason = ""', 'reason = "said \\"why\\" – here"')
    status, report, _ = runner("-k", "test_core", known=filled)
    assert status == 0, report["unlisted"]
    runner("-k", "test_core", "--update-known", known=filled)
    assert (tmp_path / "known.toml").read_text() == filled, "nothing to do, nothing changed"


def test_bad_known_failures(runner):
    for text, complaint in (
        ("[[failure]", "known.toml"),
        ('[[failure]]\ntest = "a"\ntriton = ["3.8"]', "'reason'"),
    ):
        status, report, printed = runner(known=text)
        assert status == 2 and report is None and complaint in printed.err


def test_sampling():
    everything = [f"a.py::test_many[{n}]" for n in range(1000)] + [f"a.py::test_{n}" for n in range(20)]
    for size in (1, 21, 50, 300):
        chosen = cases.sample(everything, size, "1")
        assert len(chosen) == len(set(chosen)) == size
        assert chosen == cases.sample(reversed(everything), size, "1"), (
            "the order of collection does not matter"
        )
        assert set(chosen) <= set(cases.sample(everything, size * 2, "1")), "a larger one contains it"
    assert {cases.function_of(case) for case in cases.sample(everything, 21, "1")} == {
        cases.function_of(case) for case in everything
    }
    assert cases.sample(everything, 50, "1") != cases.sample(everything, 50, "2")
    assert cases.sample(everything, 5000, "1") == cases.sample(everything, len(everything), "1")
    # A stable choice: it depends on names only, and not on this interpreter or on what else there is.
    few = [f"a.py::test_many[{n}]" for n in range(8)]
    assert cases.sample(few, 3, "1") == [f"a.py::test_many[{n}]" for n in (4, 5, 3)]
    assert [case for case in cases.sample([*few, "b.py::test_x"], 4, "1") if case in few] == cases.sample(
        few, 3, "1"
    )


def test_patterns():
    def matches(pattern, case):
        return cases.Pattern(pattern).matches(case)

    assert matches("f.py::test_a", "f.py::test_a[1-x]") and matches("f.py::test_a", "f.py::test_a")
    assert not matches("f.py::test_a", "f.py::test_ab") and not matches("f.py::test_a", "f.py::test_a2[1]")
    assert matches("f.py::test_a[1-x]", "f.py::test_a[1-x]") and not matches(
        "f.py::test_a[1-x]", "f.py::test_a[1-y]"
    )
    assert matches("f.py::test_*[*e4b15*]", "f.py::test_a[fp8e4b15-1]")
    assert matches("f.py::*", "f.py::Class::test_a[1]") and not matches("f?py::*", "f.py::test_a")


def test_scope_of_the_package():
    scope = cases.Scope.load(FOLDER / "scope.toml")
    assert scope.why_not("unit/language/test_core.py::test_inline_asm_packed")
    assert scope.why_not("unit/language/test_core.py::test_bin_op[1-int8-int8-+]") == ""
    assert all(reason.strip() for _, reason in scope.exclusions)
    assert scope.family("unit/language/test_core.py::test_dot[1-2]") == "dot"


def test_known_failures_of_the_package():
    entries = KnownFailures(FOLDER / "known_failures.toml", RELEASE).entries
    assert all(entry.reason and entry.triton for entry in entries)
    assert len({(entry.test, release) for entry in entries for release in entry.triton}) == sum(
        len(entry.triton) for entry in entries
    ), "listed twice"


def test_a_git_directory(triton_checkout, tmp_path):
    repository = tmp_path / "history"
    subprocess.run(["cp", "-r", triton_checkout, repository], check=True)

    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"]
        subprocess.run(["git", "-C", repository, *identity, *arguments], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "tests")
    git("tag", "v3.8.0")
    bare = tmp_path / "bare"
    subprocess.run(["git", "clone", "--bare", repository, bare], check=True, capture_output=True)

    tests = checkout.prepare(bare, "", "3.8.0", tmp_path / "by tag")
    assert (tests.folder / "unit/language/test_core.py").read_text() == ORDINARY and len(tests.commit) == 40
    assert not (tests.folder.parent / "triton").exists(), "Triton's own source would hide the installed one"
    again = checkout.prepare(bare, tests.commit, "3.7.1", tmp_path / "by commit")
    assert again.commit == tests.commit
    in_place = checkout.prepare(repository, "", "3.7.1", tmp_path / "work tree")
    assert in_place.commit == tests.commit and not (in_place.folder.parent / "triton").exists()
    with pytest.raises(checkout.CheckoutError, match="git clone --depth 1 --branch v3.7.1"):
        checkout.prepare(bare, "", "3.7.1", tmp_path / "no tag")
    with pytest.raises(checkout.CheckoutError, match="does not exist"):
        checkout.prepare(tmp_path / "nowhere", "", "3.8.0", tmp_path / "nothing")


def test_nothing_to_run_is_an_error(runner):
    status, report, printed = runner("-k", "no such test")
    assert status == 2 and report is None and "nothing ran" in printed.err


def test_the_installed_backend_is_the_one_that_is_tested(tmp_path):
    environment = run.test_environment(tmp_path, "cpu")
    run.check_backend(environment)
    with pytest.raises(run.UsageError, match="does not run kernels on"):
        run.check_backend({**environment, "TRITON_DEFAULT_BACKEND": "another"})
