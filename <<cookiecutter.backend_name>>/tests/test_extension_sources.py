"""What others add is in the cache key with all that it is made of, and with nothing that differs between processes."""

from __future__ import annotations

import importlib
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from native import run_python

from <<cookiecutter.package_name>> import extension_sources, extensions
from <<cookiecutter.package_name>>.extensions import source_digest

FILES = {
    "ext_pack/__init__.py": "",
    "ext_pack/rules.py": "from .deep.helper import K\ndef rule(f, x): return x * K\n",
    "ext_pack/deep/__init__.py": "",
    "ext_pack/deep/helper.py": "K = 2.0\n",
    "ext_pack/examples/__init__.py": "S = 1\n",
    "ext_single.py": "from ext_helper import K\ndef rule(f, x):\n    import ext_other\n    return x * K\n",
    "ext_helper.py": "import ext_more\nK = 2.0\n",
    "ext_more.py": "",
    "ext_other/__init__.py": "",
    "ext_other/part.py": "",
    "ext_unrelated.py": "",
    "ext_space/inner/__init__.py": "",
    "ext_space/inner/rules.py": "def rule(f, x): return x\n",
    "ext_space/inner/helper.py": "",
    "ext_space/other/helper.py": "",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("ext_")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def digest(module: str) -> str:
    forget()
    return source_digest(importlib.import_module(module).rule)


@pytest.mark.parametrize(
    ("module", "file", "counts"),
    [
        ("ext_pack.rules", "ext_pack/deep/helper.py", True),
        ("ext_pack.rules", "ext_pack/__init__.py", True),
        ("ext_pack.rules", "ext_pack/examples/__init__.py", True),
        ("ext_pack.rules", "ext_helper.py", False),
        ("ext_single", "ext_single.py", True),
        ("ext_single", "ext_helper.py", True),
        ("ext_single", "ext_more.py", True),
        ("ext_single", "ext_other/part.py", True),
        ("ext_single", "ext_unrelated.py", False),
        ("ext_space.inner.rules", "ext_space/inner/helper.py", True),
        ("ext_space.inner.rules", "ext_space/other/helper.py", False),
    ],
)
def test_files_that_count(folder: Path, module: str, file: str, counts: bool) -> None:
    before = digest(module)
    assert digest(module) == before
    (folder / file).write_text("# edited\n" + FILES[file])
    assert (digest(module) != before) == counts


def test_a_file_that_is_added_counts(folder: Path) -> None:
    before = digest("ext_pack.rules")
    (folder / "ext_pack" / "deep" / "new.py").write_text("")
    assert digest("ext_pack.rules") != before


def test_modules_that_are_installed_side_by_side_do_not_count(folder: Path) -> None:
    place = folder / Path(sysconfig.get_paths()["purelib"]).name
    assert place.name in extension_sources.INSTALLED
    place.mkdir()
    for name in ("ext_single.py", "ext_helper.py"):
        (folder / name).rename(place / name)
    sys.path.insert(0, str(place))
    try:
        before = digest("ext_single")
        (place / "ext_helper.py").write_text("K = 3.0\n")
        assert digest("ext_single") == before
    finally:
        sys.path.remove(str(place))


def test_what_was_loaded_counts_not_what_was_edited_since(folder: Path) -> None:
    """Else the old code would be kept under the new one's key."""
    before = digest("ext_single")
    rule = sys.modules["ext_single"].rule
    (folder / "ext_helper.py").write_text("K = 3.0\n")
    assert source_digest(rule) == before
    importlib.reload(sys.modules["ext_helper"])
    assert source_digest(rule) != before


# --- code without a file ----------------------------------------------------------------------------------------------


def typed(text: str, **known: Any) -> Callable[..., Any]:
    """``rule``, as if `text` had been typed at a prompt."""
    names: dict[str, Any] = {"__name__": "prompt", **known}
    exec(compile(text, "<stdin>", "exec"), names)
    rule: Callable[..., Any] = names["rule"]
    return rule


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("def rule(f, x): return x * 2", "def rule(f, x): return x * 3"),
        ("rule = lambda f, x: (lambda y: y + 1)(x)", "rule = lambda f, x: (lambda y: y + 2)(x)"),
        ("def rule(f, x, k=2): return x * k", "def rule(f, x, k=3): return x * k"),
        ("def rule(f, x, *, k=2): return x * k", "def rule(f, x, *, k=3): return x * k"),
        ("K = 2\ndef rule(f, x): return x * K", "K = 3\ndef rule(f, x): return x * K"),
        (
            "def h(x): return x\ndef rule(f, x): return h(x)",
            "def h(x): return -x\ndef rule(f, x): return h(x)",
        ),
        (
            "def m(k):\n  def rule(f, x): return x * k\n  return rule\nrule = m(2)",
            "def m(k):\n  def rule(f, x): return x * k\n  return rule\nrule = m(3)",
        ),
        (
            "class A:\n  def g(self): return 1\na = A()\ndef rule(f, x): return a.g()",
            "class A:\n  def g(self): return 2\na = A()\ndef rule(f, x): return a.g()",
        ),
        (
            "class A:\n  @property\n  def g(self): return 1\ndef rule(f, x): return A().g",
            "class A:\n  @property\n  def g(self): return 2\ndef rule(f, x): return A().g",
        ),
    ],
)
def test_code_without_a_file_counts(text: str, other: str) -> None:
    assert source_digest(typed(text)) == source_digest(typed(text)) != source_digest(typed(other))


def test_what_it_is_bound_to_counts() -> None:
    text = "def rule(f, x): return p(x)"
    pair = [source_digest(typed(text, p=partial(max, n))) for n in (1, 2)]
    assert pair[0] != pair[1]
    again = typed("def rule(f, x): return rule(f, x)")
    assert source_digest(again) == source_digest(again), "no endless recursion"


def test_digests_are_the_same_in_every_process() -> None:
    program = (
        "from <<cookiecutter.package_name>>.extensions import source_digest\n"
        "names = {'__name__': 'prompt'}\n"
        "exec('''class A: pass\na = A()\n"
        'def rule(f, x, s={"a", "b", "c"}): return (lambda: a if x in {"d", "e", "f"} else s)()\'\'\', names)\n'
        "print(source_digest(names['rule']))\n"
    )
    made = [run_python(program, PYTHONHASHSEED=str(seed)) for seed in (1, 2, 3)]
    assert all(done.returncode == 0 for done in made), made[0].stderr
    assert len({done.stdout for done in made}) == 1


def test_where_nobody_adds_anything_nothing_is_imported() -> None:
    program = "from <<cookiecutter.package_name>>.backend.fingerprint import fingerprint\nfingerprint()\nimport sys\n"
    done = run_python(program + "print('<<cookiecutter.package_name>>.extension_sources' in sys.modules, 'ast' in sys.modules)")
    assert done.stdout.startswith("False"), done.stderr


def test_a_digest_is_cheap_once_it_is_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "_noted", {})
    forget()
    module: ModuleType = importlib.import_module("ext_pack.rules")
    extensions.note(module.rule)
    extensions.fingerprint()
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        extensions.fingerprint()
        best = min(best, time.perf_counter() - start)
    assert best < 1e-3
