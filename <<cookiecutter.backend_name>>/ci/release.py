"""What has to be true before a version is published: `python ci/release.py vX.Y.Z`

The release workflow runs it on the tag. An index keeps what it was given once, so placeholders are refused here.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
# Names that are set aside for examples: nobody can be reached there.
PLACEHOLDER = re.compile(r"(.*\.)?example\.(com|net|org)|(.*\.)?(example|invalid|test)|localhost")


def placeholders(project: dict[str, object]) -> list[str]:
    """One sentence for each address in the metadata that leads nowhere."""
    found = []
    urls, authors = project.get("urls", {}), project.get("authors", [])
    assert isinstance(urls, dict) and isinstance(authors, list)
    nowhere = [name for name, url in urls.items() if PLACEHOLDER.fullmatch(urlsplit(url).hostname or "")]
    if nowhere:
        what = f"{', '.join(nowhere)} of [project.urls] in pyproject.toml"
        found.append(
            f"{what} should be your repository's, not {urls[nowhere[0]]}; README.md has links to it, too"
        )
    for author in authors:
        address = author.get("email", "")
        if PLACEHOLDER.fullmatch(address.rpartition("@")[2]):
            found.append(f"the author's address in pyproject.toml should be one that is read, not {address}")
    return found


def what_is_missing(tag: str, root: Path = ROOT) -> list[str]:
    """One sentence for each thing to mend."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    found = placeholders(project)
    if tag != f"v{version}":
        found.append(
            f"the tag is {tag}, but the version in pyproject.toml is {version}: the tag should be v{version}"
        )
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## {re.escape(version)}(?![\w.]).*$", changes, re.MULTILINE)
    if heading is None:
        found.append(f"CHANGELOG.md has no section for {version}")
    elif "not released" in heading[0]:
        found.append(f'CHANGELOG.md says "{heading[0].strip("# ")}": it should have the date')
    return found


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = what_is_missing(sys.argv[1])
    if found:
        sys.exit("This version cannot be released yet:\n" + "\n".join(f"- {sentence}." for sentence in found))


if __name__ == "__main__":
    main()
