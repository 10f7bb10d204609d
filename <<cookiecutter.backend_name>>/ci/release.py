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
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md")  # what readers of the repository and of the index see
HOST = r"([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)"
LINK = re.compile(rf"https?://{HOST}")
MAILBOX = re.compile(rf"[\w.%+'-]+@{HOST}")


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


def read_page(root: Path, name: str) -> str:
    """A page's text, without the backslashes that Markdown wants before punctuation; "" where it was deleted."""
    page = root / name
    return re.sub(r"\\([^\w\s])", r"\1", page.read_text(encoding="utf-8")) if page.exists() else ""


def placeholders_in_pages(root: Path) -> list[str]:
    """One sentence for each page with addresses that lead nowhere."""
    found = []
    for name in PAGES:
        text = read_page(root, name)
        nowhere = [
            m[0] for pattern in (LINK, MAILBOX) for m in pattern.finditer(text) if PLACEHOLDER.fullmatch(m[1])
        ]
        if nowhere:
            line = text[: text.index(nowhere[0])].count("\n") + 1
            more = f", and {len(nowhere) - 1} more like it" if len(nowhere) > 1 else ""
            found.append(f"{name} still has the placeholder {nowhere[0]} (line {line}{more})")
    return found


def reports_go_elsewhere(project: dict[str, object], root: Path) -> list[str]:
    """The sentence about an address in SECURITY.md on no host of the authors': one of the two was left behind.

    Another mailbox on the same host is welcome, such as security@.
    """
    authors = project.get("authors", [])
    assert isinstance(authors, list)
    emails = [author["email"] for author in authors if "email" in author]
    known = {email.rpartition("@")[2].lower() for email in emails}
    mailboxes = list(MAILBOX.finditer(read_page(root, "SECURITY.md")))
    if not known or not mailboxes or any(mailbox[1].lower() in known for mailbox in mailboxes):
        return []
    return [
        f"SECURITY.md has reports sent to {mailboxes[0][0]}, but the author's address in pyproject.toml is "
        f"{emails[0]}: one of the two is out of date"
    ]


def what_is_missing(tag: str, root: Path = ROOT) -> list[str]:
    """One sentence for each thing to mend."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    found = [*placeholders(project), *placeholders_in_pages(root), *reports_go_elsewhere(project, root)]
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
