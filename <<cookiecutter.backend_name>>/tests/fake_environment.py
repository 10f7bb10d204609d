"""A virtual environment with invented packages in it, to look at with the doctor.

The environment is real (its own interpreter, its own site-packages, nothing else on ``sys.path``); of the
packages only the one under test is. The others consist of the files that the doctor reads, and fail when they
are imported.
"""

import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME

NEVER_IMPORT = 'raise SystemExit("the doctor imported " + __name__)\n'

REQUIRES = (
    "triton>=3.7,<3.10",
    "xdsl==0.75.*",
    "llvmlite>=0.45",
    "numpy>=1.26",
    'torch>=2.4; extra == "torch"',
)

COMPILER = """
from triton.backends.compiler import BaseBackend

class {name}Backend(BaseBackend):
    @staticmethod
    def supports_target(target):
        return target.backend == {target!r}
"""

DRIVER = """
from triton.backends.driver import DriverBase

class {name}Driver(DriverBase):
    @staticmethod
    def is_active():
        {body}
"""


def backend_files(package, target, body="return probe()"):
    """The two modules of a backend package, as {path: text}; ``body`` is that of ``is_active``."""
    folder = package.replace(".", "/")
    name = target.capitalize()
    return {
        f"{folder}/__init__.py": NEVER_IMPORT,
        f"{folder}/compiler.py": NEVER_IMPORT + COMPILER.format(name=name, target=target),
        f"{folder}/driver.py": NEVER_IMPORT + DRIVER.format(name=name, body=body),
    }


class FakeEnvironment:
    """Starts healthy; tests then break it. ``site`` is its site-packages folder, ``home`` a home folder
    for runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        venv.create(root / "env", symlinks=True)
        self.python = root / "env" / "bin" / "python"
        (self.site,) = (root / "env" / "lib").glob("python*/site-packages")
        self.home = root / "home"
        self.home.mkdir()
        self.add("pip", "25.0", files={"pip/__init__.py": ""})
        self.add("xdsl", "0.75.0", files={"xdsl/__init__.py": NEVER_IMPORT})
        self.add("llvmlite", "0.50.0")
        self.write({"llvmlite/__init__.py": NEVER_IMPORT, "llvmlite/binding/libllvmlite.so": ""})
        self.add("numpy", "2.4.6", files={"numpy/__init__.py": NEVER_IMPORT})
        self.add_triton("3.8.0")
        self.add_ourselves()

    def write(self, files: dict[str, str]) -> None:
        for path, text in files.items():
            (self.site / path).parent.mkdir(parents=True, exist_ok=True)
            (self.site / path).write_text(text, encoding="utf-8")

    def add(self, name, version, *, entry_points=None, requires=(), files=None, editable=None, python=""):
        """A distribution: its metadata folder, which is returned, and its files. ``entry_points``: {name:
        package}.
        """
        files = files or {}
        self.write(files)
        folder = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Python: {python}"] if python else []
        lines += [f"Requires-Dist: {line}" for line in requires]
        (folder / "METADATA").write_text("\n".join([*lines, "", "Version: not a header"]), encoding="utf-8")
        (folder / "RECORD").write_text("".join(f"{path},,\n" for path in files), encoding="utf-8")
        if entry_points:
            text = "[triton.backends]\n" + "".join(
                f"{key} = {value}\n" for key, value in entry_points.items()
            )
            (folder / "entry_points.txt").write_text(text, encoding="utf-8")
        if editable is not None:
            origin = {"url": Path(editable).as_uri(), "dir_info": {"editable": True}}
            (folder / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
        return folder

    def add_triton(self, version):
        files = {
            "triton/__init__.py": f"__version__ = '{version}'\n" + NEVER_IMPORT,
            "triton/_C/libtriton.so": "",
            "triton/backends/__init__.py": NEVER_IMPORT,
            **backend_files("triton.backends.amd", "hip"),
            **backend_files("triton.backends.nvidia", "cuda"),
        }
        points = {"amd": "triton.backends.amd", "nvidia": "triton.backends.nvidia"}
        return self.add("triton", version, entry_points=points, files=files)

    def add_ourselves(self):
        source = Path(<<cookiecutter.package_name>>.__file__).parent
        shutil.copytree(
            source, self.site / PACKAGE_NAME, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
        backend = backend_files(f"{PACKAGE_NAME}.backend", BACKEND_NAME, "return os.environ.get('X') == 'y'")
        points = {BACKEND_NAME: f"{PACKAGE_NAME}.backend"}
        return self.add(
            DISTRIBUTION_NAME, "0.1.0", entry_points=points, requires=REQUIRES, files=backend, python=">=3.11"
        )

    def remove(self, name, *, files_too=True):
        """Take a distribution away, or only what says that it is installed."""
        (folder,) = self.site.glob(f"{name.replace('-', '_')}-*.dist-info")
        shutil.rmtree(folder)
        if files_too:
            shutil.rmtree(self.site / name.replace("-", "_"))

    def replace_version(self, name, version):
        """Change the recorded version, and the one in the files where there is one."""
        (folder,) = self.site.glob(f"{name}-*.dist-info")
        metadata = folder / "METADATA"
        lines = metadata.read_text(encoding="utf-8").splitlines()
        lines[2] = f"Version: {version}"
        metadata.write_text("\n".join(lines), encoding="utf-8")
        source = self.site / name / "__init__.py"
        if "__version__" in source.read_text(encoding="utf-8"):
            source.write_text(f"__version__ = '{version}'\n" + NEVER_IMPORT, encoding="utf-8")

    def run(self, *arguments, python=None, **environ):
        """Run the environment's Python; only ``environ``, PATH and HOME are set."""
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **environ}
        return subprocess.run(
            [str(python or self.python), *arguments],
            env={key: value for key, value in variables.items() if value is not None},
            cwd=self.home,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )

    def doctor(self, *arguments, **environ):
        """The doctor's findings by status, {status: {check: finding}}; asserts what holds for every
        report. Without arguments it looks at files only, as nothing here can be imported.
        """
        words = arguments or ("--files",)
        done = self.run("-m", f"{PACKAGE_NAME}.cli.doctor", "--json", *words, **environ)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        report = json.loads(done.stdout)
        findings = report["findings"]
        assert (done.returncode == 0) == report["healthy"] == all(f["status"] != "FAIL" for f in findings)
        for finding in findings:
            assert finding["what"]
            assert finding["status"] == "OK" or (finding["do"] and finding["command"]), finding
        return Diagnosis(findings)


class Diagnosis:
    """Findings to assert on."""

    def __init__(self, findings):
        self.findings = findings

    def having(self, status):
        return sorted({finding["check"] for finding in self.findings if finding["status"] == status})

    @property
    def failures(self):
        return self.having("FAIL")

    @property
    def warnings(self):
        return self.having("WARN")

    def __getitem__(self, check):
        """The only finding of that name."""
        (finding,) = [finding for finding in self.findings if finding["check"] == check]
        return finding


def other_python(version: str) -> Path | None:
    """An interpreter of another version on this machine, if there is one that starts."""
    candidates = [
        shutil.which(f"python{version}"),
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
    ]
    for candidate in filter(None, candidates):
        probe = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run(
            [str(candidate), "-c", probe], capture_output=True, text=True, env=dict(os.environ)
        )
        if done.stdout.strip() == version:
            return Path(candidate)
    return None
