"""What the generated workflows promise: nothing untested is published, no placeholder, no foreign package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from template import files_of, generate

REAL = {"repository_url": "https://git.kestrel.dev/triton-kestrel", "email": "compiler@kestrel.dev"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("release")
    return {
        "github": generate(folder / "github", REAL),
        "gitlab": generate(folder / "gitlab", {"ci_provider": "gitlab"}),
    }


def workflow(package: Path, name: str) -> dict[str, dict[str, dict[str, object]]]:
    return dict(yaml.safe_load((package / ".github" / "workflows" / name).read_text(encoding="utf-8")))


def test_nothing_is_published_that_has_not_passed_the_tests(packages: dict[str, Path]) -> None:
    jobs = workflow(packages["github"], "release.yml")["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in workflow(packages["github"], "ci.yml")[True]  # type: ignore[index]  # YAML's "on"
    assert set(jobs["publish"]["needs"]) == {"test", "build"}  # type: ignore[call-overload]
    gitlab = yaml.safe_load((packages["gitlab"] / ".gitlab-ci.yml").read_text())
    assert gitlab["release"]["needs"] == ["pass"] and gitlab["pass"]["needs"] == ["tox"]


def test_both_release_workflows_check_what_is_published(packages: dict[str, Path]) -> None:
    release = (packages["github"] / ".github" / "workflows" / "release.yml").read_text()
    assert 'python ci/release.py "$GITHUB_REF_NAME"' in release
    assert 'python ci/release.py "$CI_COMMIT_TAG"' in (packages["gitlab"] / ".gitlab-ci.yml").read_text()


def checked(package: Path, tag: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, package / "ci" / "release.py", tag], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_placeholders_are_not_released(packages: dict[str, Path]) -> None:
    status, text = checked(packages["gitlab"], "v0.2.0")
    assert status == 1 and "Traceback" not in text
    sentences = text.splitlines()
    assert sentences[0] == "This version cannot be released yet:"
    assert all(re.fullmatch(r"- .*\.", sentence) for sentence in sentences[1:])
    for part in (
        "Source, Documentation, Changelog, Issues of [project.urls] in pyproject.toml should be your",
        "not https://example.com/triton-acme; README.md has links to it, too",
        "the author's address in pyproject.toml should be one that is read, not compiler@example.com",
        "README.md still has the placeholder https://example.com (line ",
        "SECURITY.md still has the placeholder https://example.com (line ",
        "CONTRIBUTING.md still has the placeholder https://example.com (line ",
        "the tag is v0.2.0, but the version in pyproject.toml is 0.1.0",
        'CHANGELOG.md says "0.1.0 (not released)": it should have the date',
    ):
        assert any(part in sentence for sentence in sentences), part


def test_a_package_with_real_addresses_and_a_date_is_released(packages: dict[str, Path]) -> None:
    status, text = checked(packages["github"], "v0.1.0")
    assert status == 1 and text.count("\n- ") == 1 and "(not released)" in text
    changes = packages["github"] / "CHANGELOG.md"
    text = changes.read_text()
    changes.write_text(text.replace("(not released)", "(2031-05-06)"))
    try:
        assert checked(packages["github"], "v0.1.0") == (0, "")
        changes.write_text(text.replace("0.1.0", "0.1.01"))
        assert "CHANGELOG.md has no section for 0.1.0" in checked(packages["github"], "v0.1.0")[1]
    finally:
        changes.write_text(text)


def test_addresses_in_pages_are_released_only_where_they_lead_somewhere(tmp_path: Path) -> None:
    """Those in pyproject.toml are mended first, since the index asks for them; the pages are forgotten."""
    package = generate(tmp_path, {**REAL, "email": "compiler.team-1@kestrel.dev"})
    changes, security = package / "CHANGELOG.md", package / "SECURITY.md"
    changes.write_text(changes.read_text().replace("(not released)", "(2031-05-06)"))
    assert checked(package, "v0.1.0") == (0, "")
    ours = security.read_text()
    address = r"compiler.team\-1\@kestrel.dev"
    assert address in ours
    for other, sentence in (
        ("security@kestrel.dev", ""),
        (r"compiler\@example.com", "SECURITY.md still has the placeholder compiler@example.com (line 3)"),
        ("team@gone.dev", "SECURITY.md has reports sent to team@gone.dev, but the author's address in"),
    ):
        security.write_text(ours.replace(address, other))
        status, text = checked(package, "v0.1.0")
        assert (status, sentence in text) == (int(bool(sentence)), True), text
    security.unlink()
    assert checked(package, "v0.1.0") == (0, "")
    contributing = package / "CONTRIBUTING.md"
    contributing.write_text(
        contributing.read_text() + "Ask at <https://forge.example.com/x>, or ask@example.org.\n"
    )
    status, text = checked(package, "v0.1.0")
    assert status == 1 and "CONTRIBUTING.md still has the placeholder https://forge.example.com" in text
    assert "and 1 more like it" in text


def test_no_second_index_answers_for_our_requirements(packages: dict[str, Path]) -> None:
    """Somebody else could register a name there that we take from the first."""
    for package in packages.values():
        for path in files_of(package):
            text = path.read_text(encoding="utf-8")
            assert not re.search("EXTRA_INDEX_URL|--extra-index-url", text), path


def test_tox_has_every_environment_that_is_named(packages: dict[str, Path]) -> None:
    for package in packages.values():
        text = (package / "tox.ini").read_text()
        sections = set(re.findall(r"^\[testenv:([\w]+)\]", text, re.MULTILINE)) | {
            "triton37",
            "triton38",
            "triton39",
        }
        files = [package / ".gitlab-ci.yml", *(package / ".github" / "workflows").glob("*.yml")]
        named: set[str] = set()
        for file in files:
            if file.exists():
                content = file.read_text()
                named |= set(re.findall(r"tox run -e (\w+)", content))
                for listed in re.findall(r"(?i:env|environment): \[(.*?)\]", content):
                    named |= set(listed.split(", "))
        assert {"lint", "types", "newest", "conformance", "triton39"} <= named <= sections
