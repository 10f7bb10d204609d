"""The doctor, run as a user runs it, in environments that are broken in one way each (cases R22, R23,
R27).
"""

import ast
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_environment import NEVER_IMPORT, FakeEnvironment, backend_files, other_python

from <<cookiecutter.package_name>>.cli import check_cache, check_host, examination
from <<cookiecutter.package_name>>.cli.backend_source import borrowed_classes, claimed_targets, is_always_active
from <<cookiecutter.package_name>>.cli.report import Finding, as_table
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, ENV_PREFIX, PACKAGE_NAME

AS_ROOT = os.geteuid() == 0
OWN_PACKAGE = f"{PACKAGE_NAME}.backend"


@pytest.fixture
def env(tmp_path):
    return FakeEnvironment(tmp_path)


# A sound environment


def test_sound_environment(env):
    diagnosis = env.doctor()
    assert diagnosis.failures == []
    assert diagnosis.warnings == []
    assert "0.1.0" in diagnosis["package"]["what"] and "wheel" in diagnosis["package"]["what"]
    assert f"{BACKEND_NAME} says so only when asked for" in diagnosis["selection"]["what"]
    assert diagnosis["selection"]["command"] == f"export TRITON_DEFAULT_BACKEND={BACKEND_NAME}"
    assert str(env.home / ".triton/cache") in diagnosis["cache"]["what"]
    assert not (env.home / ".triton").exists(), "looking must not create anything"


def test_table_of_a_sound_environment(env):
    done = env.run("-m", f"{PACKAGE_NAME}.cli.main", "doctor", "--files")
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith(f"{DISTRIBUTION_NAME} 0.1.0")
    last = done.stdout.rstrip().rpartition("\n")[2]
    assert last.startswith("no failures, no warnings in what files show") and "can be used here" not in last


def test_table_shows_commands_unbroken(env):
    shutil.rmtree(env.site / "xdsl")
    done = env.run("-m", f"{PACKAGE_NAME}.cli.doctor", COLUMNS="60")
    assert done.returncode == 1
    assert f"$ {env.python} -m pip install --force-reinstall --no-deps xdsl==0.75.0\n" in done.stdout
    assert "1 failure, no warnings" in done.stdout


def test_a_bad_finding_cannot_be_made():
    with pytest.raises(ValueError, match="has to say what to do"):
        Finding("FAIL", "x", "something is wrong")


def test_table_layout():
    table = as_table(
        [Finding("OK", "a", "fine"), Finding("WARN", "long-name", "bad " * 30, "Mend it.", "mend")], 60
    )
    lines = table.splitlines()
    assert lines[0] == "OK    a          fine"
    assert all(line.startswith(" " * 17) for line in lines[2:4]) and max(map(len, lines[:-1])) <= 60
    assert lines[-3].endswith("   $ mend")


def test_own_environment_is_sound(tmp_path):
    """The interpreter that runs these tests, with the real Triton, xDSL and llvmlite."""
    try:
        importlib.metadata.distribution(DISTRIBUTION_NAME)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{DISTRIBUTION_NAME} is not installed in {sys.prefix}: run `pip install -e .`")
    environ = {
        k: v for k, v in os.environ.items() if not k.startswith(("TRITON_", f"{ENV_PREFIX}_", "PYTHONPATH"))
    }
    environ |= {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_BACKEND": BACKEND_NAME}
    environ["PYTHONPATH"] = str(Path(sys.modules[PACKAGE_NAME].__file__).parent.parent)
    command = [sys.executable, "-m", f"{PACKAGE_NAME}.cli.doctor", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["selection"]["what"].startswith(f"{BACKEND_NAME}, because")
    assert "can be imported" in found["import"]["what"]
    for name in ("triton", "xdsl", "llvmlite", "numpy"):
        assert importlib.metadata.version(name) in found[f"package.{name}"]["what"]


# Python, platform, packages


def test_python_3_10_is_told_so(env):
    python = other_python("3.10")
    if python is None:
        pytest.skip("no Python 3.10 on this machine")
    done = env.run("-m", f"{PACKAGE_NAME}.cli.doctor", "--json", python=python, PYTHONPATH=str(env.site))
    assert done.returncode == 1 and not done.stderr
    findings = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["python"]["status"] == "FAIL"
    assert "3.10" in findings["python"]["what"] and ">=3.11" in findings["python"]["what"]
    assert "python3.12 -m venv" in findings["python"]["command"]


@pytest.mark.parametrize("name", ["triton", "xdsl", "llvmlite", "numpy"])
def test_missing_dependency(env, name):
    env.remove(name)
    finding = env.doctor()[f"package.{name}"]
    assert finding["status"] == "FAIL" and "is not installed" in finding["what"]
    assert finding["command"].startswith(f"{env.python} -m pip install ") and name in finding["command"]


@pytest.mark.parametrize(
    ("name", "version", "supported"),
    [
        ("triton", "3.6.0", "triton>=3.7,<3.10"),
        ("triton", "3.10.0", "triton>=3.7,<3.10"),
        ("xdsl", "0.76.1", "xdsl==0.75.*"),
        ("llvmlite", "0.44.0", "llvmlite>=0.45"),
        ("numpy", "1.25.2", "numpy>=1.26"),
    ],
)
def test_version_out_of_range(env, name, version, supported):
    env.replace_version(name, version)
    diagnosis = env.doctor()
    finding = diagnosis[f"package.{name}"]
    assert diagnosis.failures == [f"package.{name}"]
    assert version in finding["what"] and supported in finding["what"]
    assert f"'{supported}'" in finding["command"] or supported in finding["command"]
    assert f"a newer {DISTRIBUTION_NAME}" in finding["do"] and f"{ENV_PREFIX}_SKIP_VERSION_CHECK=1" in finding["do"]


def test_version_out_of_range_that_is_tried_nevertheless(env):
    """Launches work then, or say what does not: no failure, and no advice to do what was done."""
    env.replace_version("triton", "3.10.0")
    diagnosis = env.doctor(**{f"{ENV_PREFIX}_SKIP_VERSION_CHECK": "1"})
    finding = diagnosis["package.triton"]
    assert diagnosis.failures == [] and "package.triton" in diagnosis.warnings
    assert "triton 3.10.0" in finding["what"] and "is tried nevertheless" in finding["what"]
    assert "SKIP_VERSION_CHECK" not in finding["do"]


def test_half_installed_native_library(env):
    (env.site / "triton/_C/libtriton.so").unlink()
    finding = env.doctor()["package.triton"]
    assert finding["status"] == "FAIL" and "libtriton" in finding["what"]
    assert "--force-reinstall" in finding["command"]


def test_recorded_version_is_not_that_of_the_files(env):
    env.write({"triton/__init__.py": "__version__ = '3.5.1'\n"})
    finding = env.doctor()["package.triton"]
    assert finding["status"] == "FAIL" and "3.5.1" in finding["what"] and "3.8.0" in finding["what"]


def test_fork_written_over_triton(env):
    env.add(
        "pytorch-triton-xpu", "3.8.0", files={"triton/__init__.py": "__version__ = '3.8.0'\n" + NEVER_IMPORT}
    )
    diagnosis = env.doctor()
    assert diagnosis.failures == ["package.triton.overwritten"]
    assert "pip uninstall -y pytorch-triton-xpu" in diagnosis["package.triton.overwritten"]["command"]


def test_triton_under_another_name(env):
    env.remove("triton", files_too=False)
    assert "3.8.0" in env.doctor()["package.triton"]["what"]
    env.write({"triton/__init__.py": NEVER_IMPORT})
    assert env.doctor()["package.triton"]["status"] == "WARN"


def test_torch_is_optional_and_compared_with_triton(env):
    assert "not installed" in env.doctor()["package.torch"]["what"]
    env.add("torch", "2.13.0+cpu", files={"torch/__init__.py": NEVER_IMPORT})
    assert env.doctor()["package.torch"]["status"] == "OK"
    env.remove("torch")
    pin = 'triton==3.7.1; platform_system == "Linux"'
    env.add("torch", "2.12.0", requires=[pin], files={"torch/__init__.py": NEVER_IMPORT})
    diagnosis = env.doctor()
    assert diagnosis.warnings == ["package.torch.triton"]
    assert "triton==3.7.1" in diagnosis["package.torch.triton"]["what"]


def test_not_installed_but_on_the_path(env):
    env.remove(DISTRIBUTION_NAME, files_too=False)
    diagnosis = env.doctor()
    assert diagnosis.failures == ["entry-point.missing", "package"]
    assert diagnosis["package"]["command"].endswith(DISTRIBUTION_NAME)


def test_editable_install_is_recognised(env, tmp_path):
    source = tmp_path / "my source"
    (source / "src").mkdir(parents=True)
    (source / "pyproject.toml").write_text(f'name = "{DISTRIBUTION_NAME}"\n')
    shutil.move(env.site / PACKAGE_NAME, source / "src" / PACKAGE_NAME)
    env.remove(DISTRIBUTION_NAME, files_too=False)
    points = {BACKEND_NAME: OWN_PACKAGE}
    env.add(DISTRIBUTION_NAME, "0.1.0", entry_points=points, editable=source)
    (env.site / "ours.pth").write_text(f"{source / 'src'}\n")
    diagnosis = env.doctor()
    assert diagnosis.failures == [] and diagnosis.warnings == []
    assert f"editable from {source}" in diagnosis["package"]["what"]


def test_installed_somewhere_else(env, tmp_path):
    shutil.copytree(env.site / PACKAGE_NAME, tmp_path / "copy" / PACKAGE_NAME)
    diagnosis = env.doctor(PYTHONPATH=str(tmp_path / "copy"))
    assert diagnosis.warnings == ["package.elsewhere"]


def test_two_copies_of_ourselves(env):
    older = env.add(DISTRIBUTION_NAME, "0.0.9", entry_points={BACKEND_NAME: OWN_PACKAGE})
    diagnosis = env.doctor()
    assert diagnosis.warnings == ["package.twice"]
    command = diagnosis["package.twice"]["command"]
    assert command.startswith("rm -r ") and command.endswith((older.name, "0.1.0.dist-info"))


# Entry points


def test_stale_entry_point(env):
    """R23: its package is gone; `import triton` fails, the doctor names the distribution to remove."""
    env.add("triton-ghost", "1.2", entry_points={"ghost": "triton_ghost.backend"})
    diagnosis = env.doctor()
    finding = diagnosis["entry-point.stale"]
    assert diagnosis.failures == ["entry-point.stale"]
    assert "ghost = triton_ghost.backend (of triton-ghost 1.2)" in finding["what"]
    assert finding["command"] == f"{env.python} -m pip uninstall -y triton-ghost"


def test_stale_entry_point_of_a_deleted_source_folder(env, tmp_path):
    env.add(
        "triton-ghost", "1", entry_points={"ghost": "triton_ghost.backend"}, editable=tmp_path / "deleted"
    )
    assert f"{tmp_path / 'deleted'} is gone" in env.doctor()["entry-point.stale"]["what"]


def test_stale_entry_point_that_pip_cannot_remove(env):
    """Without its file list pip refuses, outside the environment too: the folder is to be deleted then."""
    folder = env.add("triton-ghost", "1", entry_points={"ghost": "triton_ghost.backend"})
    (folder / "RECORD").unlink()
    assert env.doctor()["entry-point.stale"]["command"] == f"rm -r {folder}"
    elsewhere = env.root / "other place"
    elsewhere.mkdir()
    (folder / "RECORD").touch()
    shutil.move(folder, elsewhere)
    command = env.doctor(PYTHONPATH=str(elsewhere))["entry-point.stale"]["command"]
    assert command == f"rm -r '{elsewhere / folder.name}'"


def test_our_own_entry_point_is_stale_after_a_rename(env):
    """R23: the distribution was renamed and installed again without uninstalling the old one."""
    env.add("triton-oldname", "0.1.0", entry_points={"oldname": "triton_oldname.backend"})
    diagnosis = env.doctor()
    assert diagnosis.failures == ["entry-point.stale"]
    env.write(backend_files("triton_oldname.backend", "oldname"))
    assert env.doctor().failures == []


@pytest.mark.parametrize("part", ["compiler", "driver"])
def test_backend_module_is_missing(env, part):
    files = backend_files("triton_half", "half")
    env.add("triton-half", "3", entry_points={"half": "triton_half"}, files=files)
    (env.site / f"triton_half/{part}.py").unlink()
    diagnosis = env.doctor()
    assert diagnosis.failures == ["entry-point.incomplete"]
    finding = diagnosis["entry-point.incomplete"]
    assert f"triton_half.{part}" in finding["what"]
    assert "triton-half==3" in finding["command"] and "pip uninstall -y triton-half" in finding["do"]


def test_only_bytecode_is_left(env):
    """Switching branches leaves folders with __pycache__ only: a namespace package, to Python."""
    env.add("triton-ghost", "1", entry_points={"ghost": "triton_ghost.backend"})
    (env.site / "triton_ghost/backend/__pycache__").mkdir(parents=True)
    assert env.doctor().failures == ["entry-point.incomplete"]


def test_backend_in_a_folder_without_init(env):
    files = backend_files("triton_bare.backend", "bare")
    del files["triton_bare/backend/__init__.py"]
    env.add("triton-bare", "1", entry_points={"bare": "triton_bare.backend"}, files=files)
    assert env.doctor().failures == []


def test_backend_with_a_syntax_error(env):
    files = {**backend_files("broken", "broken"), "broken/driver.py": "def f(:\n"}
    env.add("triton-broken", "1", entry_points={"broken": "broken"}, files=files)
    diagnosis = env.doctor()
    assert diagnosis.failures == ["entry-point.syntax"]
    assert "driver.py" in diagnosis["entry-point.syntax"]["what"]


def test_entry_point_with_an_attribute(env):
    env.add("triton-odd", "1", entry_points={"odd": "odd.backend:Backend"})
    assert env.doctor().failures == ["entry-point.malformed"]


def test_backend_that_imports_the_class_of_another(env):
    files = backend_files("odd", "odd")
    files["odd/compiler.py"] = "from triton.backends.nvidia.compiler import CUDABackend\n"
    env.add("triton-odd", "1", entry_points={"odd": "odd"}, files=files)
    diagnosis = env.doctor()
    assert diagnosis.warnings == ["entry-point.ambiguous"]
    assert "CUDABackend" in diagnosis["entry-point.ambiguous"]["what"]


def test_own_entry_point_is_missing(env):
    (entry_points,) = env.site.glob(f"{DISTRIBUTION_NAME.replace('-', '_')}-*/entry_points.txt")
    entry_points.unlink()
    assert env.doctor().failures == ["entry-point.missing"]


def test_the_backend_was_renamed_in_one_of_two_places(env):
    """`target.py` has the new name. Installing again is no help while pyproject.toml has the old one."""
    (entry_points,) = env.site.glob(f"{DISTRIBUTION_NAME.replace('-', '_')}-*/entry_points.txt")
    text = entry_points.read_text()
    entry_points.write_text(text.replace(f"{BACKEND_NAME} = {OWN_PACKAGE}", f"oldname = {OWN_PACKAGE}"))
    finding = env.doctor()["entry-point.renamed"]
    assert f"is {BACKEND_NAME!r}, but the installed entry point" in finding["what"]
    assert f'pyproject.toml, [project.entry-points."triton.backends"] must say {BACKEND_NAME} = ' in finding["do"]


def test_metadata_is_damaged(env):
    for folder in env.site.glob("numpy-*.dist-info"):
        (folder / "METADATA").unlink()
    folder = env.add("triton-odd", "1", entry_points={"odd": "odd"})
    (folder / "entry_points.txt").write_text("[triton.backends]\nno equals sign\n")
    diagnosis = env.doctor()
    assert diagnosis.failures == ["entry-point.damaged", "package.numpy"]
    assert diagnosis["package.numpy"]["command"].startswith("rm -r ")


# Clashes


def test_two_distributions_claim_our_name(env):
    env.add("triton-thief", "9", entry_points={BACKEND_NAME: "thief"}, files=backend_files("thief", "thief"))
    diagnosis = env.doctor()
    assert diagnosis.failures == ["backend.name-clash"]
    finding = diagnosis["backend.name-clash"]
    assert "triton-thief 9" in finding["what"] and DISTRIBUTION_NAME in finding["what"]
    assert finding["command"].endswith("pip uninstall -y triton-thief")


def test_two_distributions_claim_another_name(env):
    env.add("triton-fork", "9", entry_points={"nvidia": "fork"}, files=backend_files("fork", "forked"))
    diagnosis = env.doctor()
    assert diagnosis.failures == [] and diagnosis.warnings == ["backend.name-clash"]
    assert diagnosis["backend.name-clash"]["command"].endswith("uninstall -y triton-fork")


def test_renamed_distribution_of_the_same_package(env):
    env.add("triton-oldname", "0.1.0", entry_points={BACKEND_NAME: OWN_PACKAGE})
    diagnosis = env.doctor()
    assert diagnosis.failures == [] and diagnosis.warnings == ["backend.registered-twice"]
    assert "uninstall -y triton-oldname && " in diagnosis["backend.registered-twice"]["command"]


@pytest.mark.parametrize(("target", "level"), [(BACKEND_NAME, "failures"), ("cuda", "warnings")])
def test_two_backends_answer_for_one_target(env, target, level):
    env.add("triton-thief", "9", entry_points={"thief": "thief"}, files=backend_files("thief", target))
    diagnosis = env.doctor()
    assert getattr(diagnosis, level) == ["backend.target-clash"]
    assert diagnosis["backend.target-clash"]["command"].endswith("uninstall -y triton-thief")


def test_one_package_under_two_names(env):
    """R23 again: after a rename, an old distribution still registers the package under the old name."""
    env.add("triton-oldname", "0.1.0", entry_points={"oldname": OWN_PACKAGE})
    diagnosis = env.doctor()
    assert diagnosis.failures == ["backend.target-clash"]
    assert diagnosis["backend.target-clash"]["command"].endswith("uninstall -y triton-oldname")


def test_always_active_driver(env):
    files = backend_files("triton_cpu", "cpu", "return True")
    env.add("triton-cpu", "3.7", entry_points={"cpu": "triton_cpu"}, files=files)
    diagnosis = env.doctor()
    assert diagnosis.failures == [] and diagnosis.warnings == ["selection.always-active"]
    assert "triton_cpu/driver.py" in diagnosis["selection.always-active"]["what"]
    assert "cpu" in diagnosis["selection"]["what"]
    assert "not asked" in env.doctor(TRITON_DEFAULT_BACKEND=BACKEND_NAME)["selection.always-active"]["what"]


def test_two_always_active_drivers(env):
    for name in ("one", "two"):
        files = backend_files(f"triton_{name}", name, "return True")
        env.add(f"triton-{name}", "1", entry_points={name: f"triton_{name}"}, files=files)
    assert env.doctor().failures == ["selection.conflict"]
    assert env.doctor(TRITON_DEFAULT_BACKEND=BACKEND_NAME).failures == []


def test_our_own_driver_is_always_active(env):
    env.write(backend_files(OWN_PACKAGE, BACKEND_NAME, "return True"))
    diagnosis = env.doctor()
    assert diagnosis.warnings == ["selection.always-active"]
    assert diagnosis["selection"]["what"].startswith(f"{BACKEND_NAME}, because its driver always")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def is_active():\n  return True", True),
        ("def is_active():\n  'text'\n  import os\n  return True", True),
        ("@staticmethod\n def is_active():\n  if f():\n   return True\n  return True", True),
        ("is_active = staticmethod(lambda: True)", True),
        ("def is_active():\n  if f():\n   return True\n  return False", False),
        ("def is_active():\n  return f()", False),
        ("def is_active():\n  pass", False),
        ("def is_alive():\n  return True", False),
    ],
)
def test_is_always_active(body, expected):
    assert is_always_active(ast.parse(f"class D:\n {body}\n")) is expected


def test_what_a_compiler_module_gives_away():
    source = "class B:\n @staticmethod\n def supports_target(t):\n  return t.backend in ('a', 'b')\n"
    assert claimed_targets(ast.parse(source)) == {"a", "b"}
    borrowed = "from triton.backends.amd.driver import HIPDriver as H\n"
    borrowed += "from triton.backends.driver import DriverBase\n"
    assert borrowed_classes(ast.parse(borrowed)) == ["H"]
    assert borrowed_classes(ast.parse(borrowed + "del H\n")) == []


# Selection


def test_selected_by_name(env):
    diagnosis = env.doctor(TRITON_DEFAULT_BACKEND=BACKEND_NAME)
    assert diagnosis["selection"]["what"] == f"{BACKEND_NAME}, because TRITON_DEFAULT_BACKEND={BACKEND_NAME}"


def test_another_backend_selected(env):
    diagnosis = env.doctor(TRITON_DEFAULT_BACKEND="nvidia")
    assert diagnosis.failures == [] and diagnosis["selection"]["what"].startswith("nvidia, because")


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("nvida", "nvidia"), (BACKEND_NAME.upper(), BACKEND_NAME), (BACKEND_NAME + "x", BACKEND_NAME)],
)
def test_selection_with_a_typo(env, typo, meant):
    diagnosis = env.doctor(TRITON_DEFAULT_BACKEND=typo)
    assert diagnosis.failures == ["selection.unknown"]
    assert diagnosis["selection.unknown"]["command"] == f"export TRITON_DEFAULT_BACKEND={meant}"


def test_hidden_by_triton(env):
    diagnosis = env.doctor(TRITON_BACKENDS_IN_TREE="1")
    assert diagnosis.failures == ["selection.hidden"]
    assert "selection" not in diagnosis.having("OK")
    assert diagnosis["selection.hidden"]["command"] == "unset TRITON_BACKENDS_IN_TREE"
    assert env.doctor(TRITON_BACKENDS_IN_TREE="0").failures == []


def test_interpreter(env):
    assert env.doctor(TRITON_INTERPRET="1").warnings == ["selection.interpreter"]
    assert env.doctor(TRITON_INTERPRET="0").warnings == []


# Cache


def test_cache_variables(env, tmp_path):
    assert f"{tmp_path}/h/.triton/cache" in env.doctor(TRITON_HOME=f"{tmp_path}/h")["cache"]["what"]
    cache = tmp_path / "a cache"
    cache.mkdir()
    assert f"{cache} (from TRITON_CACHE_DIR)" in env.doctor(TRITON_CACHE_DIR=str(cache))["cache"]["what"]
    assert list(cache.iterdir()) == []


def test_cache_folder_is_a_file(env, tmp_path):
    (tmp_path / "file").touch()
    diagnosis = env.doctor(TRITON_CACHE_DIR=f"{tmp_path}/file/cache")
    assert diagnosis.failures == ["cache.not-writable"]
    assert "is not a folder" in diagnosis["cache.not-writable"]["what"]
    assert diagnosis["cache.not-writable"]["command"].startswith("export TRITON_CACHE_DIR=")


def test_cache_variable_is_empty_or_relative(env):
    assert env.doctor(TRITON_CACHE_DIR="").failures == ["cache.empty-name"]
    assert env.doctor(TRITON_CACHE_DIR="here").warnings == ["cache.relative"]
    assert env.doctor(TRITON_CACHE_DIR="~/cache").failures == ["cache.no-home"]


@pytest.mark.skipif(not AS_ROOT, reason="only root can become a user that has no home folder")
def test_no_home_at_all(env):
    assert _as_user(54321, env, HOME=None) == "cache.no-home"


def test_cache_cannot_be_written(env, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o555)
    if AS_ROOT:
        assert _as_user(54321, env, TRITON_CACHE_DIR=str(cache)) == "cache.not-writable"
    else:
        assert env.doctor(TRITON_CACHE_DIR=str(cache)).failures == ["cache.not-writable"]


@pytest.mark.skipif(not AS_ROOT, reason="only root can give folders away")
def test_cache_of_somebody_else(env, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    os.chown(cache, 54321, 54321)
    diagnosis = env.doctor(TRITON_CACHE_DIR=str(cache))
    assert diagnosis.warnings == ["cache.owner"] and "user 54321" in diagnosis["cache.owner"]["what"]


def _as_user(uid, env, **environ):
    """The first failing check of the cache folder, for another user."""
    script = (
        "import os\n"
        f"from {PACKAGE_NAME}.cli import check_cache\n"
        f"from {PACKAGE_NAME}.cli.environment import Environment\n"
        f"os.setgroups([]); os.setgid({uid}); os.setuid({uid})\n"
        "print(*[f.check for f in check_cache.folder(Environment((), dict(os.environ))) if f.status == "
        "'FAIL'])\n"
    )
    done = env.run("-c", script, **environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_little_space(tmp_path, monkeypatch):
    for free, status in ((10**6, "FAIL"), (10**8, "WARN"), (10**12, "OK")):
        usage = shutil.disk_usage(tmp_path)._replace(free=free)
        monkeypatch.setattr(check_cache.shutil, "disk_usage", lambda path, usage=usage: usage)
        environment = check_cache.Environment((), {"TRITON_CACHE_DIR": str(tmp_path)})
        assert next(iter(check_cache.folder(environment))).status == status


def _compilation(cache: Path, key: str, **files: bytes) -> Path:
    folder = cache / key
    folder.mkdir(parents=True)
    for ending, data in files.items():
        (folder / f"kernel.{ending}").write_bytes(data)
    return folder


def test_leftovers_in_the_cache(env, tmp_path):
    cache = tmp_path / "cache"
    whole = bytearray(b"\x7fELF\x02".ljust(64, b"\0") + bytes(128))
    whole[40:48] = (64).to_bytes(8, "little")
    whole[58:62] = (64).to_bytes(2, "little") + (2).to_bytes(2, "little")
    _compilation(cache, "GOOD", obj=bytes(whole), json=b"{}", llir=b"; text")
    assert env.doctor(TRITON_CACHE_DIR=str(cache)).warnings == []
    _compilation(cache, "FOREIGN", cubin=b"", json=b"")
    assert env.doctor(TRITON_CACHE_DIR=str(cache)).warnings == []
    cut = _compilation(cache, "CUT", obj=bytes(whole[:-1]), json=b'{"a": ')
    empty = _compilation(cache, "EMPTY", **{f"{BACKEND_NAME}ir": b"", "json": b"{}"})
    diagnosis = env.doctor(TRITON_CACHE_DIR=str(cache))
    assert diagnosis.failures == [] and diagnosis.warnings == ["cache.leftovers"]
    command = diagnosis["cache.leftovers"]["command"]
    subprocess.run(command, shell=True, check=True)
    assert (
        not cut.exists() and not empty.exists() and (cache / "GOOD").exists() and (cache / "FOREIGN").exists()
    )


def test_our_object_files_are_not_called_cut_off(tmp_path):
    binding = pytest.importorskip("llvmlite.binding", reason="llvmlite makes the object file")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly("define i32 @f() {\n ret i32 1\n}\n")
    machine = binding.Target.from_default_triple().create_target_machine()
    elf = machine.emit_object(module)
    assert not check_cache.is_cut_off(elf)
    assert all(
        check_cache.is_cut_off(elf[:length]) for length in (1, 4, 5, 63, 64, len(elf) // 2, len(elf) - 1)
    )


# Environment variables, processor


def test_a_device_that_there_is_not(env):
    variable = f"{ENV_PREFIX}_DEVICE"
    assert env.doctor(**{variable: "emulator"}).failures == []
    diagnosis = env.doctor(**{variable: "emulater"})
    assert diagnosis.failures == ["environment.device"]
    assert "there are reference, emulator" in diagnosis["environment.device"]["what"]
    assert diagnosis["environment.device"]["command"] == f"export {variable}=emulator"


def test_our_environment_variables(env):
    assert env.doctor()["environment"]["what"] == f"no variable {ENV_PREFIX}_* is set"
    known = f"{ENV_PREFIX}_SKIP_VERSION_CHECK"
    assert env.doctor(**{known: "0"})["environment"]["what"] == f"{known}=0"
    diagnosis = env.doctor(**{f"{ENV_PREFIX}_SKIP_VERSIONS_CHECK": "0", f"{ENV_PREFIX}_QQ": "1"})
    assert diagnosis.warnings == ["environment.unknown"]
    commands = {f["command"] for f in diagnosis.findings if f["check"] == "environment.unknown"}
    assert commands == {
        f"unset {ENV_PREFIX}_SKIP_VERSIONS_CHECK; export {known}=0",
        f"unset {ENV_PREFIX}_QQ",
    }


@pytest.mark.parametrize(
    ("text", "name", "feature"),
    [
        (
            "processor\t: 0\nmodel name\t: Fast 9000\nflags\t\t: fpu avx2 fma\n\nmodel name : other\n",
            "Fast 9000",
            "avx2",
        ),
        (
            "Features\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n",
            "implementer 0x41 part 0xd40",
            "sve",
        ),
    ],
)
def test_read_processor(tmp_path, text, name, feature):
    (tmp_path / "cpuinfo").write_text(text)
    found, features = check_host.read_processor(tmp_path / "cpuinfo")
    assert found == name and feature in features


def test_a_broken_check_is_reported():
    def breaks(environment):
        raise OSError("disk on fire")
        yield

    findings = examination.examine(check_cache.Environment((), {}), (breaks, check_host.processor))
    assert [finding.status for finding in findings] == ["FAIL", "OK"]
    assert "disk on fire" in findings[0].what


# What the doctor says about Triton, held against Triton itself

BREAKS_TRITON = {
    "entry-point.stale": {},
    "entry-point.incomplete": {"odd_backend/compiler.py": "", "odd_backend/__init__.py": ""},
    "entry-point.syntax": {
        "odd_backend/__init__.py": "",
        "odd_backend/compiler.py": "def f(:\n",
        "odd_backend/driver.py": "",
    },
}


@pytest.mark.parametrize("check", BREAKS_TRITON)
def test_triton_fails_where_the_doctor_says_so(tmp_path, check):
    """Put a broken backend on the path of the real Triton: importing it fails, the doctor still runs and
    finds it.
    """
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    folder = tmp_path / "triton_odd-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.4\nName: triton-odd\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[triton.backends]\nodd = odd_backend\n")
    for path, text in BREAKS_TRITON[check].items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    home = str(Path(sys.modules[PACKAGE_NAME].__file__).parent.parent)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": f"{tmp_path}:{home}"}
    done = subprocess.run(
        [sys.executable, "-c", "import triton"], env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1 and "Traceback" in done.stderr
    command = [sys.executable, "-m", f"{PACKAGE_NAME}.cli.doctor", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    findings = {f["check"]: f for f in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1 and findings[check]["status"] == "FAIL"
    assert findings["package.triton"]["status"] == "OK"


def test_drivers_are_asked_on_request(env):
    """`--drivers` runs Triton in a child: what only happens then is reported like everything else."""
    env.write({f"{path}/__init__.py": "" for path in ("triton", "triton/_C", "odd")})
    backends = "class Driver:\n is_active = staticmethod(lambda: {})\nclass Backend:\n driver = Driver\n"
    backends += "backends = {{'nvidia': Backend, 'amd': Backend}}\n"
    env.write({"triton/backends/__init__.py": backends.format(False)})
    diagnosis = env.doctor("--files", "--drivers")
    assert diagnosis.failures == [] and diagnosis["import"]["what"].endswith("active: none")
    assert env.doctor("--files", "--drivers", TRITON_DEFAULT_BACKEND="amd").failures == ["import.not-active"]
    env.write({"triton/backends/__init__.py": backends.format(True)})
    assert env.doctor("--files", "--drivers").failures == ["import.conflict"]
    assert env.doctor("--files", "--drivers", TRITON_DEFAULT_BACKEND="amd").failures == []
    env.write({"odd/compiler.py": "", "odd/driver.py": "raise OSError('no such device')\n"})
    env.add("triton-odd", "1", entry_points={"odd": "odd"})
    env.write({"triton/backends/__init__.py": "import odd.driver\n"})
    assert env.doctor().failures == []
    diagnosis = env.doctor("--files", "--drivers")
    assert diagnosis.failures == ["import.fails"]
    assert "OSError: no such device" in diagnosis["import.fails"]["what"]
    assert diagnosis["import.fails"]["command"].endswith("pip uninstall -y triton-odd")
