"""What arrives in the files: every character that was typed, and nothing when something fails (R36, R40)."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from template import (
    C_LOCALE,
    ODD_ANSWERS,
    REPOSITORY,
    TEMPLATE_FOLDER,
    cookiecutter,
    copy_of_repository,
    files_of,
    generate,
    tree,
)

AWKWARD_VENDORS = [
    ODD_ANSWERS["vendor_name"],
    '"""\\',
    "'''",
    "C:\\new\\table\\x41\\u00e9\\N{DASH}",
    "{{ x }} {% y %} {# z #} ${{ z }} %(s)s {0} %%",
    "a: b, - c # d | e > f & g * h ! i ? j [k] {l} `m`",
    "<b>bold</b> [link](https://example.com) **x** _y_ ~z~ @w",
    "yes",
    "1.0",
    "null",
    "\u00a0\u200b\u202e x",  # no-break space, zero width space, right-to-left override
    "👩\u200d🔬 🚀",
]


def target_of(package: Path) -> dict[str, object]:
    """The constants of the generated target.py, by running it."""
    (path,) = package.glob("src/*/target.py")
    constants: dict[str, object] = {}
    exec(compile(path.read_bytes(), str(path), "exec"), constants)
    return constants


def check_every_file_parses(package: Path) -> None:
    for path in files_of(package):
        content = path.read_bytes()
        text = content.decode("utf-8")
        assert "\r" not in text, path
        assert not re.search(r"cookiecutter|<<\s*'<<", text) or path.name == "CONTRIBUTING.md", (
            f"{path} is not rendered"
        )
        if path.suffix == ".py":
            compile(content, str(path), "exec")
        elif path.suffix == ".toml":
            tomllib.loads(text)
        elif path.suffix in (".yml", ".yaml"):
            assert yaml.safe_load(text) is not None


@pytest.mark.parametrize("vendor", AWKWARD_VENDORS)
def test_text_survives_in_every_format(tmp_path: Path, vendor: str) -> None:
    vendor = vendor.strip()
    package = generate(tmp_path / "output", {"vendor_name": vendor, "author": vendor, "backend_name": "acme"})
    check_every_file_parses(package)
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"][0]["name"] == vendor
    assert vendor in project["description"]
    assert target_of(package)["VENDOR_NAME"] == vendor
    assert vendor in (package / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "environment",
    [C_LOCALE, {"LC_ALL": "POSIX"}, {"PYTHONUTF8": "0", "LC_ALL": "C"}, {"PYTHONIOENCODING": "cp1252"}],
    ids=["bare-C", "POSIX", "C-without-UTF-8-mode", "code-page-1252"],
)
def test_text_survives_where_the_locale_does_not_know_it(tmp_path: Path, environment: dict[str, str]) -> None:
    package = generate(tmp_path / "output", ODD_ANSWERS, environment=environment)
    check_every_file_parses(package)
    assert target_of(package)["VENDOR_NAME"] == ODD_ANSWERS["vendor_name"]
    reference = generate(tmp_path / "reference", ODD_ANSWERS)
    assert {p.relative_to(package): p.read_bytes() for p in files_of(package)} == {
        p.relative_to(reference): p.read_bytes() for p in files_of(reference)
    }


def test_numbers_and_names_arrive(tmp_path: Path) -> None:
    package = generate(tmp_path / "output", ODD_ANSWERS)
    constants = target_of(package)
    assert package.name == constants["BACKEND_NAME"] == "zk_7"
    assert constants["DISTRIBUTION_NAME"] == "zizka-triton.backend"
    assert constants["PACKAGE_NAME"] == "zizka_triton"
    assert (package / "src" / "zizka_triton" / "target.py").is_file()
    assert constants["ARCH"] == "ZK-7.1+b"
    assert constants["VECTOR_LANES"] == 8
    assert constants["MATRIX_TILE"] == (8, 8, 8)
    assert constants["SCRATCHPAD_BYTES"] == 32 * 1024
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["triton.backends"] == {"zk_7": "zizka_triton.backend"}
    assert project["scripts"] == {"zizka-triton.backend": "zizka_triton.cli.main:main"}
    assert project["authors"] == [{"name": ODD_ANSWERS["author"], "email": ODD_ANSWERS["email"]}]
    assert project["urls"]["Source"] == ODD_ANSWERS["repository_url"]


def test_default_names_are_written_nowhere_else(tmp_path: Path) -> None:
    """Every file of a package with other names is free of the names of the default one."""
    package = generate(tmp_path / "output", {**ODD_ANSWERS, "vendor_name": "Zed", "author": "Zed"})
    found = [
        f"{path.relative_to(package)}:{number}: {line.strip()}"
        for path in files_of(package)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<![a-z])acme(?![a-z])", line, re.IGNORECASE)
    ]
    assert found == []


def test_only_target_is_rendered_below_src(tmp_path: Path) -> None:
    """Everything else there is the same file in every generated package."""
    default, odd = generate(tmp_path / "default"), generate(tmp_path / "odd", ODD_ANSWERS)
    engine, odd_engine = default / "src" / "triton_acme", odd / "src" / "zizka_triton"
    assert tree(engine) == tree(odd_engine)
    different = [
        path.relative_to(engine).as_posix()
        for path in files_of(engine)
        if path.read_bytes() != (odd_engine / path.relative_to(engine)).read_bytes()
    ]
    assert different == ["target.py"]


@pytest.mark.parametrize(
    ("license", "words"),
    [
        ("MIT", "Permission is hereby granted, free of charge"),
        ("Apache-2.0", "Version 2.0, January 2004"),
        ("BSD-3-Clause", "Neither the name of the copyright holder"),
    ],
)
def test_license(tmp_path: Path, license: str, words: str) -> None:
    package = generate(tmp_path / "output", {"license": license})
    text = (package / "LICENSE").read_text(encoding="utf-8")
    assert words in text and "Acme Silicon" in text
    assert text.endswith(".\n") and not text.startswith("\n")
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == license


@pytest.mark.parametrize(
    ("provider", "present"),
    [
        (
            "github",
            [
                ".github/PULL_REQUEST_TEMPLATE.md",
                ".github/dependabot.yml",
                ".github/workflows/ci.yml",
                ".github/workflows/release.yml",
                ".github/workflows/weekly.yml",
            ],
        ),
        ("gitlab", [".gitlab-ci.yml", ".gitlab/merge_request_templates/Default.md"]),
    ],
)
def test_files_of_one_forge_only(tmp_path: Path, provider: str, present: list[str]) -> None:
    package = generate(tmp_path / "output", {"ci_provider": provider})
    found = [
        p.relative_to(package).as_posix()
        for p in files_of(package)
        if "git" in p.relative_to(package).parts[0]
    ]
    assert sorted(found) == sorted([*present, ".gitattributes", ".gitignore"])


def test_gpu_reference_is_there_only_if_asked_for(tmp_path: Path) -> None:
    """Folder, tests, page and entry point: all or none, whatever the names are."""
    names = {"backend_name": "zk", "distribution_name": "zk-triton", "package_name": "zk_triton"}
    package = generate(tmp_path / "with", {**names, "gpu_reference": "nvidia"})
    without = generate(tmp_path / "without", names)
    mine = {path.relative_to(package).as_posix() for path in files_of(package)}
    extra = mine - {path.relative_to(without).as_posix() for path in files_of(without)}
    assert {name.split("/")[0] for name in extra} == {"src", "tests", "docs", "conformance"}
    assert {"src/zk_triton/gpu_reference/launch.c", "docs/gpu-reference.md"} <= extra
    assert "tests/test_gpu_reference_compile.py" in extra
    assert not [path for path in without.rglob("*") if "gpu" in path.name and path.suffix != ".pyc"]
    check_every_file_parses(package)
    points = [
        tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
        for root in (package, without)
    ]
    assert points[0]["triton.backends"] == {"zk": "zk_triton.backend", "zk_gpu": "zk_triton.gpu_reference"}
    assert points[1]["triton.backends"] == {"zk": "zk_triton.backend"}
    different = [
        name for name in mine - extra if (package / name).read_bytes() != (without / name).read_bytes()
    ]
    assert sorted(different) == [
        ".triton-backend.json",
        "docs/README.md",
        "docs/architecture.md",
        "docs/kernel-functions.md",
        "pyproject.toml",
    ]


def test_every_action_is_pinned_and_one_job_gates(tmp_path: Path) -> None:
    package = generate(tmp_path / "output")
    workflows = sorted((package / ".github" / "workflows").iterdir())
    for workflow in workflows:
        for line in workflow.read_text().splitlines():
            if "uses:" in line and "uses: ./.github/workflows/ci.yml" not in line:
                assert re.search(r"uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), (
                    f"{workflow.name}: {line}"
                )
    jobs = yaml.safe_load((package / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert set(jobs["pass"]["needs"]) == set(jobs) - {"pass"}
    assert jobs["pass"]["if"] == "always()"


# Each line means something to Jinja with its usual delimiters, to the file's own language, or to both.
BRACES = """\
int table[2][2] = {{1, 2}, {3, 4}};
f"{{literal}} {value!r:>{width}} {{{nested}}}"
run: ${{ matrix.env }} ${{ secrets['X'] || github.ref }}
{% if never %} {# not a comment #} {%- raw -%} {{ undefined_name }}
#map = affine_map<(d0)[s0] -> (d0 + s0)> {attr = {inner = [{}]}} !tt.ptr<tensor<4xf32>>
a >> 2, x->y, 50%>3, "%s" % "#>"
"""


@pytest.mark.parametrize(
    "name", ["x.py", "x.toml", "x.yml", "x.md", "x.c", "x.cpp", "x.mlir", "x.json", "x.sh", "x.ini"]
)
@pytest.mark.parametrize("folder", [".", "docs", "src/<<cookiecutter.package_name>>/codegen"])
def test_braces_pass_through(tmp_path: Path, shared_copy: Path, name: str, folder: str) -> None:
    place = shared_copy / TEMPLATE_FOLDER / folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(BRACES, encoding="utf-8")
    try:
        package = generate(tmp_path / "output", template=shared_copy)
    finally:
        place.unlink()
    rendered = folder.replace("<<cookiecutter.package_name>>", "triton_acme")
    assert (package / rendered / name).read_text(encoding="utf-8") == BRACES


def test_shift_operators_pass_through_in_the_engine(tmp_path: Path, shared_copy: Path) -> None:
    source = "x = (1 << 4) >> 2\ny = 5 <<3  # <# <% >>\n"
    place = shared_copy / TEMPLATE_FOLDER / "src" / "<<cookiecutter.package_name>>" / "shift.py"
    place.write_text(source)
    try:
        package = generate(tmp_path / "output", template=shared_copy)
    finally:
        place.unlink()
    assert (package / "src" / "triton_acme" / "shift.py").read_text() == source


@pytest.fixture(scope="module")
def shared_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_repository(tmp_path_factory.mktemp("template"))


@pytest.mark.parametrize("name", ["0-first.md", "tests/middle.md", "zz-last.md"])
@pytest.mark.parametrize(
    "content",
    [
        b"<% if %>",
        b"<< unknown >>",
        b"<< cookiecutter.unknown >>",
        b"<< 1 / 0 >>",
        "é text in Latin-1 ñ\n".encode("latin-1") * 9,
    ],
    ids=["syntax", "undefined", "undefined-answer", "error", "undecodable"],
)
def test_failure_while_rendering_leaves_nothing_behind(
    tmp_path: Path, shared_copy: Path, name: str, content: bytes
) -> None:
    place = shared_copy / TEMPLATE_FOLDER / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    output = tmp_path / "place" / "output"
    try:
        result = cookiecutter(output, template=shared_copy)
    finally:
        place.unlink()
    assert result.returncode == 1, "nothing failed"
    assert "The package cannot be generated here" in result.stderr
    assert tree(output) == []


def test_failure_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    result = cookiecutter(tmp_path / "output", {"license": "Apache-2.0"}, largest_file=10 * 1024)
    assert result.returncode == 1
    assert "File too large" in result.stderr
    assert tree(tmp_path / "output") == []


def test_failure_keeps_what_was_there_before(tmp_path: Path) -> None:
    """A folder of that name is somebody's work: never overwritten, never cleaned up."""
    (tmp_path / "output" / "acme").mkdir(parents=True)
    (tmp_path / "output" / "acme" / "mine.txt").write_text("mine")
    result = cookiecutter(tmp_path / "output")
    assert result.returncode == 1 and "acme is there already" in result.stdout
    assert tree(tmp_path / "output") == ["acme", "acme/mine.txt"]


def test_output_path_with_spaces_accents_and_quotes(tmp_path: Path) -> None:
    package = generate(tmp_path / 'Žluťoučký kůň\'s "place"')
    check_every_file_parses(package)
    assert (package / ".git").is_dir()


def test_template_checked_out_with_crlf(tmp_path: Path) -> None:
    """git's autocrlf on the template must not put carriage returns into rendered files."""
    repository = copy_of_repository(tmp_path)
    rendered = [p for p in (repository / TEMPLATE_FOLDER).rglob("*") if p.is_file() and "src" not in p.parts]
    for path in [*rendered, *(repository / "hooks").glob("*.py")]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    check_every_file_parses(generate(tmp_path / "output", template=repository))


def test_git_is_initialised_and_not_needed(tmp_path: Path) -> None:
    assert (generate(tmp_path / "with") / ".git").is_dir()
    without = generate(tmp_path / "without", environment={"PATH": str(tmp_path / "empty")})
    assert not (without / ".git").exists()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "git").write_text("#!/bin/sh\nexit 3\n")
    (broken / "git").chmod(0o755)
    assert (generate(tmp_path / "other", environment={"PATH": f"{broken}:/bin"}) / "pyproject.toml").is_file()


def test_git_of_the_caller_is_left_alone(tmp_path: Path) -> None:
    """Run from inside a git hook, GIT_DIR names another repository."""
    package = generate(tmp_path / "output", environment={"GIT_DIR": str(tmp_path / "theirs")})
    assert (package / ".git").is_dir() and not (tmp_path / "theirs").exists()


def test_next_steps_name_existing_files(tmp_path: Path) -> None:
    result = cookiecutter(tmp_path / "a b")
    package = tmp_path / "a b" / "acme"
    assert f"cd '{package}'" in result.stdout
    for name in re.findall(r"\S+/\S+\.(?:py|md)\b", result.stdout):
        assert (package / name).is_file(), name


def test_template_holds_only_text_and_parses_as_python_where_it_is_not_rendered() -> None:
    engine = REPOSITORY / TEMPLATE_FOLDER / "src" / "<<cookiecutter.package_name>>"
    for path in engine.rglob("*.py"):
        if path.name != "target.py":
            ast.parse(path.read_bytes(), str(path))
    junk = [
        p for p in (REPOSITORY / TEMPLATE_FOLDER).rglob("*") if p.name == "__pycache__" or p.suffix == ".pyc"
    ]
    assert junk == []


def test_hooks_need_neither_network_nor_home(tmp_path: Path) -> None:
    """In an empty network namespace where the system allows one; with an unusable home everywhere."""
    probe = subprocess.run(["unshare", "--user", "--net", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("this system does not let us make a network namespace")
    (tmp_path / "output").mkdir()
    command = [
        sys.executable,
        "-m",
        "cookiecutter",
        "--no-input",
        str(REPOSITORY),
        "-o",
        str(tmp_path / "output"),
    ]
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run(
        ["unshare", "--user", "--net", *command], cwd=tmp_path, env=environment, check=True, timeout=60
    )
    assert (tmp_path / "output" / "acme" / "pyproject.toml").is_file()
