"""What the template refuses (R39): before anything is written, in one sentence, with exit status 1."""

from __future__ import annotations

import io
import json
import shlex
import string
import subprocess
from pathlib import Path

import pytest

from hooks.answers import CHECKS, Refused, accept_all, backend_of, for_a_shell
from template import REPOSITORY, cookiecutter, generate, tree

CONTROL = "control character"
EMPTY = "is empty"
PATH = "contains a path"
TOO_LONG = "characters: please use at most"
SHADOWS = "would shadow"
KNOWN = "that Triton already knows"
UNUSABLE = "is not a usable name"

# (question, answer, part of the sentence)
REFUSALS = [
    ("backend_name", "", EMPTY),
    ("backend_name", "   ", EMPTY),
    ("backend_name", "a" * 33, TOO_LONG),
    ("backend_name", "a" * 200, TOO_LONG),
    ("backend_name", "class", "keyword of Python"),
    ("backend_name", "lambda", "keyword of Python"),
    ("backend_name", "triton", SHADOWS),
    ("backend_name", "torch", SHADOWS),
    ("backend_name", "numpy", SHADOWS),
    ("backend_name", "xdsl", SHADOWS),
    ("backend_name", "json", SHADOWS),
    ("backend_name", "nvidia", KNOWN),
    ("backend_name", "amd", KNOWN),
    ("backend_name", "cuda", KNOWN),
    ("backend_name", "hip", KNOWN),
    ("backend_name", "cpu", KNOWN),
    ("backend_name", "arith", "dialect or stage"),
    ("backend_name", "tt", "dialect or stage"),
    ("backend_name", "riscv", "dialect or stage"),
    ("backend_name", "ll", "dialect or stage"),
    ("backend_name", "Acme", "upper-case"),
    ("backend_name", "aCME", "upper-case"),
    ("backend_name", "3dfx", "begins with a digit"),
    ("backend_name", "tl-x", "contains a hyphen"),
    ("backend_name", "-x", "contains a hyphen"),
    ("backend_name", "a b", UNUSABLE),
    ("backend_name", "_x", UNUSABLE),
    ("backend_name", "x_", UNUSABLE),
    ("backend_name", "x__y", UNUSABLE),
    ("backend_name", "žižka", UNUSABLE),
    ("backend_name", "a.b", UNUSABLE),
    ("backend_name", "~", UNUSABLE),
    ("backend_name", "$(id)", UNUSABLE),
    ("backend_name", "con", "device name on Windows"),
    ("backend_name", "com1", "device name on Windows"),
    ("backend_name", ".", UNUSABLE),
    ("backend_name", "..", PATH),
    ("backend_name", "../up", PATH),
    ("backend_name", "../escaped", PATH),
    ("backend_name", "a/b/c", PATH),
    ("backend_name", "/tmp/absolute", PATH),
    ("backend_name", "a\\b", PATH),
    ("backend_name", "acme\n", CONTROL),
    ("backend_name", "ac\x00me", CONTROL),
    ("backend_name", "ac\x1bme", CONTROL),
    ("backend_name", " acme", "begins or ends with a space"),
    ("distribution_name", "", EMPTY),
    ("distribution_name", "triton", SHADOWS),
    ("distribution_name", "pytorch-triton", SHADOWS),
    ("distribution_name", "torch", SHADOWS),
    ("distribution_name", "Triton-Acme", "upper-case"),
    ("distribution_name", "triton-", UNUSABLE),
    ("distribution_name", "triton--x", UNUSABLE),
    ("distribution_name", "../x", PATH),
    ("distribution_name", "x" * 65, TOO_LONG),
    ("package_name", "triton", SHADOWS),
    ("package_name", "numpy", SHADOWS),
    ("package_name", "xdsl", SHADOWS),
    ("package_name", "llvmlite", SHADOWS),
    ("package_name", "email", SHADOWS),
    ("package_name", "class", "keyword of Python"),
    ("package_name", "triton-acme", "contains a hyphen"),
    ("package_name", "Triton_acme", "upper-case"),
    ("package_name", "3dfx", "begins with a digit"),
    ("package_name", "a/b", PATH),
    ("package_name", "cuda", KNOWN),
    ("vendor_name", "", EMPTY),
    ("vendor_name", "x" * 101, TOO_LONG),
    ("vendor_name", "Acme\nSilicon", CONTROL),
    ("vendor_name", "Acme\x07", CONTROL),
    ("vendor_name", "Acme\u2028Silicon", CONTROL),
    ("vendor_name", "Acme\ud800", CONTROL),
    ("author", "", EMPTY),
    ("author", "A\r\nB", CONTROL),
    ("arch", "", EMPTY),
    ("arch", "a 1", "is not usable"),
    ("arch", "a/1", "is not usable"),
    ("email", "nobody", "is not an e-mail address"),
    ("email", "a b@example.com", "is not an e-mail address"),
    ("email", "a@b@c", "is not an e-mail address"),
    ("email", "<a@example.com>", "is not an e-mail address"),
    ("repository_url", "example.com", "is not a web address"),
    ("repository_url", "javascript:alert(1)", "is not a web address"),
    ("repository_url", 'https://example.com/"x', "is not a web address"),
    ("vector_lanes", "12", "is not a power of two"),
    ("vector_lanes", "0", "is not a whole number from 4 to 256"),
    ("vector_lanes", "-16", "is not a whole number"),
    ("vector_lanes", "16.0", "is not a whole number"),
    ("vector_lanes", "1e9", "is not a whole number"),
    ("vector_lanes", "٤", "is not a whole number"),
    ("vector_lanes", "1024", "is not a whole number from 4 to 256"),
    ("vector_lanes", "", "is not a whole number"),
    ("matrix_tile", "0", "is not a whole number"),
    ("matrix_tile", "16x16", "is not of the form MxNxK"),
    ("matrix_tile", "16x16x12", "is not a power of two"),
    ("matrix_tile", "axbxc", "is not a whole number"),
    ("matrix_tile", "16x16x16x16", "is not of the form MxNxK"),
    ("matrix_tile", "16x16x33", 'matrix_tile "16x16x33" has the side "33", which is not a power of two'),
    ("matrix_tile", "33", 'matrix_tile "33" is not a power of two'),
    ("scratchpad_kib", "0", "is not a whole number from 32 to 1048576"),
    ("scratchpad_kib", "31", "is not a whole number from 32"),
    ("scratchpad_kib", "-1", "is not a whole number"),
    ("scratchpad_kib", "99999999999999", "is not a whole number"),
    ("scratchpad_kib", "many", "is not a whole number"),
    ("gpu_reference", "amd", 'is not a choice: please answer "none" or "nvidia"'),
    (
        "license",
        "Proprietary",
        'is not a choice: please answer "MIT", "Apache-2.0" or "BSD-3-Clause" (another',
    ),
    ("ci_provider", "jenkins", 'is not a choice: please answer "github" or "gitlab"'),
]


def default_answers() -> dict[str, str]:
    return {
        "vendor_name": "Acme Silicon",
        "backend_name": "acme",
        "distribution_name": "triton-acme",
        "package_name": "triton_acme",
        "arch": "a1",
        "author": "Acme Silicon compiler team",
        "email": "compiler@example.com",
        "repository_url": "https://example.com/triton-acme",
        "license": "MIT",
        "vector_lanes": "16",
        "matrix_tile": "16x16x16",
        "scratchpad_kib": "1024",
        "gpu_reference": "none",
        "ci_provider": "github",
    }


@pytest.mark.parametrize(("question", "answer", "reason"), REFUSALS)
def test_refused_with_one_sentence(question: str, answer: str, reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        accept_all({**default_answers(), question: answer})
    sentence = str(refusal.value)
    assert sentence.startswith(question)
    assert reason in sentence
    assert sentence.isascii() and sentence.isprintable(), "a terminal that knows only ASCII can show it"
    assert sentence.endswith(".") and ". " not in sentence, "one sentence"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("backend_name", "../escaped"),
        ("backend_name", "a/b/c"),
        ("backend_name", "a" * 200),
        ("backend_name", "acme\n"),
        ("backend_name", "class"),
        ("package_name", "numpy"),
        ("vector_lanes", "12"),
        ("scratchpad_kib", "0"),
        ("license", "Proprietary"),
        ("gpu_reference", "amd"),
        ("vendor_name", "3M"),
    ],
)
def test_refusal_leaves_nothing_behind(tmp_path: Path, question: str, answer: str) -> None:
    output = tmp_path / "place" / "output"
    result = cookiecutter(output, {question: answer})
    assert result.returncode == 1
    assert result.stdout.startswith(question) and result.stdout.count("\n") == 1, result.stdout
    assert result.stderr == ""
    assert tree(tmp_path / "place") == [".home-of-output", "output"]


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("backend=zephyr", ": perhaps backend_name is meant."),
        ("zzz=1", " answers no question of this template."),
    ],
)
def test_answer_to_no_question(tmp_path: Path, argument: str, hint: str) -> None:
    """cookiecutter itself would drop it, and generate a package of another name."""
    result = cookiecutter(tmp_path / "output", arguments=("--no-input", argument))
    assert result.returncode == 1
    assert hint in result.stdout and result.stdout.count("\n") == 1, result.stdout
    assert tree(tmp_path / "output") == []


@pytest.mark.parametrize(
    ("vendor", "backend"),
    [
        ("Acme Silicon", "acme"),
        ("Zephyr Compute, Inc.", "zephyr"),
        ("X-Chips", "xchips"),
        ("Žižka", "zizka"),
        ("Kestrel-Silicon, Inc.", "kestrelsilicon"),
        ("Kestrel,Inc.", "kestrel"),
        ("Kestrel-GmbH", "kestrel"),
        ("Kestrel(UK) Ltd.", "kestrel"),
        ("The Chip Company", "chip"),
        ("N.V. Chips", "chips"),
        ("3dfx", ""),
        ("NVIDIA", ""),
        ("日本", ""),
        ("  ", ""),
    ],
)
def test_default_name_comes_from_the_vendor(vendor: str, backend: str) -> None:
    assert backend_of(vendor) == backend


@pytest.mark.parametrize(
    ("vendor", "why"),
    [
        ("3M", 'since its first word, "3m", begins with a digit'),
        ("2nd Silicon", 'since its first word, "2nd", begins with a digit'),
        ("日本", "has no letters a-z"),
        ("NVIDIA", 'its first word, "nvidia", is a backend or device that Triton already knows'),
        ("Tensor Co.", 'its first word, "tensor", is the name of a dialect'),
        ("Inc.", "has no letters a-z"),
    ],
)
def test_a_vendor_whose_name_gives_none_has_to_choose_one(vendor: str, why: str) -> None:
    """And does not get another vendor's, unasked."""
    answers = {**default_answers(), "vendor_name": vendor}
    with pytest.raises(Refused) as refusal:
        accept_all({**answers, "backend_name": backend_of(vendor)})
    sentence = str(refusal.value)
    assert sentence.isascii() and sentence.count("\n") == 0
    assert why in sentence and "please answer backend_name, too, such as backend_name=mychip" in sentence
    accept_all({**answers, "backend_name": "mychip"})


@pytest.mark.parametrize(
    ("question", "answer", "meant"),
    [
        ("matrix_tile", "16×16×32", "16x16x32"),
        ("matrix_tile", "16 X 8 x 32", "16x8x32"),
        ("license", "mit", "MIT"),
        ("license", "apache-2.0", "Apache-2.0"),
        ("ci_provider", "GitLab", "gitlab"),
        (
            "repository_url",
            "https://github.com/kestrel/triton-k2.git/",
            "https://github.com/kestrel/triton-k2",
        ),
    ],
)
def test_other_spellings(question: str, answer: str, meant: str) -> None:
    answers = {**default_answers(), question: answer}
    accept_all(answers)
    assert answers[question] == meant


def test_every_question_is_checked() -> None:
    settings = json.loads((REPOSITORY / "cookiecutter.json").read_text(encoding="utf-8"))
    assert [name for name in settings if not name.startswith("_")] == list(CHECKS) == list(default_answers())
    assert all(f"__{name}_ok" in settings for name in CHECKS)


def test_what_was_answered_survives_a_wrong_answer(tmp_path: Path) -> None:
    """As a command that a shell takes; with one more word it generates what was asked for."""
    typed = 'Jan\'s "Chips"\nchips\n\n\n\nŽižka\nno address\n'
    failed = cookiecutter(tmp_path / "output", arguments=(), stdin=typed)
    assert failed.returncode == 1 and failed.stderr == ""
    command = failed.stdout.rstrip().splitlines()[-1].strip()
    assert command.startswith("cookiecutter --no-input ") and "author=Žižka" in command
    assert "email=" not in command and 'email "no address" is not an e-mail address' in failed.stdout
    words = shlex.split(command)[2:]
    answers = dict(word.split("=", 1) for word in words if "=" in word)
    assert answers["vendor_name"] == 'Jan\'s "Chips"' and answers["backend_name"] == "chips"
    assert words[0] == str(REPOSITORY)
    assert (generate(tmp_path / "again", answers) / "pyproject.toml").is_file()


def test_that_command_where_the_terminal_cannot_show_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    quoted = for_a_shell("author=Jan's Žižka\\")
    assert quoted.isascii()
    shown = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert shown.stdout.decode() == "author=Jan's Žižka\\"


def test_absolute_backend_name_is_not_followed(tmp_path: Path) -> None:
    output, elsewhere = tmp_path / "output", tmp_path / "elsewhere"
    assert cookiecutter(output, {"backend_name": str(elsewhere)}).returncode == 1
    assert not elsewhere.exists() and tree(output) == []


def test_refused_as_soon_as_it_is_typed(tmp_path: Path) -> None:
    """A person is not asked eleven more questions after a bad name."""
    result = cookiecutter(tmp_path / "output", arguments=(), stdin="My Chips\nBad-Name\n")
    assert result.returncode == 1
    assert 'backend_name "Bad-Name" contains upper-case letters' in result.stdout
    assert "[3/14]" not in result.stdout
    assert tree(tmp_path / "output") == []


def test_a_folder_that_is_there_is_noticed_as_soon_as_its_name_is_typed(tmp_path: Path) -> None:
    """Cookiecutter itself looks after the last question, and then all answers are lost."""
    output = tmp_path / "output"
    (output / "chips").mkdir(parents=True)
    failed = cookiecutter(output, arguments=(), stdin="Chips Ltd\nchips\n")
    assert failed.returncode == 1 and "[3/14]" not in failed.stdout
    assert 'backend_name "chips" is the name of the folder to be made, but ' in failed.stdout
    assert failed.stdout.rstrip().splitlines()[-1].strip().startswith("cookiecutter --no-input ")
    assert "'vendor_name=Chips Ltd'" in failed.stdout and tree(output) == ["chips"]
    scripted = cookiecutter(output, {"backend_name": "chips"})
    assert scripted.returncode == 1 and "is there already" in scripted.stdout + scripted.stderr
    again = cookiecutter(output, {"backend_name": "chips"}, arguments=("--no-input", "--overwrite-if-exists"))
    assert again.returncode == 0, again.stdout + again.stderr


def test_every_question_has_a_text_and_pressing_return_accepts_the_default(tmp_path: Path) -> None:
    settings = json.loads((REPOSITORY / "cookiecutter.json").read_text(encoding="utf-8"))
    questions = [name for name in settings if not name.startswith("_")]
    assert sorted(settings["__prompts__"]) == sorted(questions)
    assert all(set(text) <= set(string.printable) for text in settings["__prompts__"].values())
    result = cookiecutter(tmp_path / "output", arguments=(), stdin="\n" * len(questions))
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "output" / "acme" / "pyproject.toml").is_file()


def test_bad_answers_in_a_replay_file_are_refused_too(tmp_path: Path) -> None:
    """They are not asked for, so only the hook sees them."""
    good = tmp_path / "good"
    generate(good)
    (replay,) = (tmp_path / ".home-of-good" / ".cookiecutter_replay").iterdir()
    context = json.loads(replay.read_text())
    context["cookiecutter"]["vector_lanes"] = "12"
    (tmp_path / "replay.json").write_text(json.dumps(context))
    output = tmp_path / "output"
    result = cookiecutter(output, arguments=("--replay-file", str(tmp_path / "replay.json")))
    assert result.returncode == 1
    assert result.stderr == 'vector_lanes "12" is not a power of two: please use one from 4 to 256.\n'
    assert tree(output) == []


@pytest.mark.parametrize(
    "answers",
    [
        {"backend_name": "a"},
        {"backend_name": "x" * 32},
        {"backend_name": "match"},  # a soft keyword is an ordinary name
        {"backend_name": "cpu2"},
        {"backend_name": "tritonx"},
        {"backend_name": "n9_v2"},
        {"distribution_name": "acme.triton_backend-x"},
        {"package_name": "acme"},
        {"vendor_name": "x" * 100},
        {"vendor_name": "C:\\Chips\\"},
        {"vendor_name": '"""'},
        {"vendor_name": "'''"},
        {"vendor_name": "{{ x }} {% y %} ${{ z }} %(s)s {0}"},
        {"vendor_name": "<b>&amp; >> --> #>"},
        {"vendor_name": "- [x]: !yes"},
        {"vendor_name": "مصنع"},
        {"author": "O’Hara"},
        {"email": "a@b"},
        {"repository_url": "http://localhost:3000/x"},
        {"vector_lanes": "4", "matrix_tile": "4", "scratchpad_kib": "32"},
        {"vector_lanes": "256", "matrix_tile": "64X32x16", "scratchpad_kib": "1048576"},
        {"vector_lanes": "0016"},
    ],
    ids=lambda answers: "-".join(answers),
)
def test_odd_but_legal_answers_pass(answers: dict[str, str]) -> None:
    accept_all({**default_answers(), **answers})


def test_scratchpad_must_hold_one_matrix_instruction() -> None:
    with pytest.raises(Refused, match="32-bit operands of a 256x256x256 matrix tile need 768 KiB"):
        accept_all({**default_answers(), "matrix_tile": "256", "scratchpad_kib": "767"})
    accept_all({**default_answers(), "matrix_tile": "256", "scratchpad_kib": "768"})
