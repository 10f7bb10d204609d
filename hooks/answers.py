"""What the template accepts as answers, and how it writes them into files.

cookiecutter loads this module as a Jinja extension (`_extensions` in cookiecutter.json). Every question
there is followed by a private variable that calls `accept`, so a bad answer is refused while questions are
still being asked: before cookiecutter has created the output folder, whose name is one of the answers. The
hook pre_gen_project.py goes through the same table once more, for answers that come from a replay file and
were never asked for.
"""

from __future__ import annotations

import difflib
import json
import keyword
import os
import re
import shlex
import shutil
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from cookiecutter.exceptions import FailedHookException
from jinja2.ext import Extension

from hooks.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from jinja2 import Environment

TEMPLATE_VERSION = (
    "0.2.0"  # recorded in what is generated (`record`); the commit says more, where one is known
)

LONGEST_BACKEND_NAME = 32
LONGEST_NAME = 64
LONGEST_TEXT = 100
SMALLEST_SCRATCHPAD_KIB = 32  # what a kernel needs beyond lies in device memory (SCRATCHPAD_OVERFLOWS)


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A second distribution or module of one of these names breaks the environment that ours is installed into.
# The last four are other builds of Triton: installing one replaces Triton.
PACKAGES = names(
    "hatchling llvmlite numpy pip pytest scipy setuptools torch tox triton wheel xdsl "
    "pytorch_triton pytorch_triton_rocm pytorch_triton_xpu triton_windows"
)
# Backends that Triton has or has had, and device names that Triton and torch compare with.
DEVICES = names("amd cpu cuda default gpu hip interpreter nvidia rocm xpu")
# Dialects that occur in one module with ours (operations are called <backend_name>.<operation>), those that
# xdsl-opt has (it refuses a second one of a name), and "ll", since <backend_name>ir is a stage beside "llir".
DIALECTS = names(
    "acc accfg affine air amdg amdgpu arith arm arm_func arm_neon asm bigint bufferization builtin cf "
    "cmath comb complex csl csl_stencil csl_wrapper dlti dmp ematch emitc eqsat_pdl_interp equivalence "
    "fir fsm func gluon hlfir hls hw irdl linalg ll llvm ltl math math_xdsl memref memref_stream "
    "ml_program mod_arith mpi nvgpu nvvm nvws omp pdl pdl_interp polynomial printf proton ptr_xdsl py "
    "riscv riscv_cf riscv_debug riscv_func riscv_scf riscv_snitch rocdl rv32 rv64 scf seq shard smt "
    "snitch snitch_stream snrt spirv stencil symref tensor test tosa transform tt ttg ttng ub varith "
    "vector wasm wasmssa x86 x86_func x86_scf"
)
# Names that a Windows file system keeps for devices: such a repository cannot be checked out there.
# Words of a vendor's name that say nothing about its chip.
COMPANY_FORMS = names(
    "ab ag as asa bv co company corp corporation doo gmbh inc incorporated kg kk limited llc llp ltd nv oy "
    "oyj plc pte pty sa sarl sas spa srl sro the"
)
# Questions with a few answers. They are no menus of cookiecutter's, since a wrong answer to one of those on
# the command line ends in a traceback.
CHOICES = {
    "license": ("MIT", "Apache-2.0", "BSD-3-Clause"),
    "gpu_reference": ("none", "nvidia"),
    "ci_provider": ("github", "gitlab"),
}
WINDOWS_DEVICES = names("con prn aux nul") | {f"{port}{i}" for port in ("com", "lpt") for i in range(10)}


class Refused(FailedHookException):  # type: ignore[misc]  # cookiecutter is untyped
    """An answer that is not accepted; `str()` is one sentence.

    It is cookiecutter's own exception for a hook that refuses: cookiecutter prints it and exits with status
    1. `advice`, printed below the sentence, is how to go on.
    """

    def __init__(self, question: str, answer: str, reason: str, advice: str = "") -> None:
        # In ASCII and shortened, so that it can be printed on any terminal.
        shown = json.dumps(answer if len(answer) <= 40 else answer[:37] + "...")
        super().__init__(f"{question} {shown} {reason}.{advice}")
        self.question, self.answer, self.reason = question, answer, reason


def check_text(question: str, answer: str) -> None:
    """Refuse text that is empty, over-long, or not printable on one line."""
    if not answer.strip():
        raise Refused(question, answer, "is empty: please give it a value")
    if len(answer) > LONGEST_TEXT:
        raise Refused(question, answer, f"has {len(answer)} characters: please use at most {LONGEST_TEXT}")
    for character in answer:
        # Cc: control characters, Cs: halves of characters (undecodable input), Zl, Zp: line separators.
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
            reason = (
                f"contains the control character U+{ord(character):04X}: please use plain text on one line"
            )
            raise Refused(question, answer, reason)
    if answer != answer.strip():
        raise Refused(question, answer, "begins or ends with a space: please remove it")


def check_name(question: str, answer: str, *, hyphens: bool = False, longest: int = LONGEST_NAME) -> None:
    """Refuse what is not a free lower-case name: an identifier or, with `hyphens`, a distribution's name."""
    check_text(question, answer)
    if ".." in answer or "/" in answer or "\\" in answer:
        raise Refused(question, answer, "contains a path: please give a plain name, without slashes and '..'")
    if len(answer) > longest:
        raise Refused(question, answer, f"has {len(answer)} characters: please use at most {longest}")
    if answer != answer.lower():
        raise Refused(question, answer, "contains upper-case letters: please write it in lower case")
    if answer[0].isdigit():
        raise Refused(question, answer, "begins with a digit: please begin with a letter")
    if not hyphens and "-" in answer:
        raise Refused(
            question, answer, "contains a hyphen: it has to be an identifier, so please use an underscore"
        )
    separators = "[-._]" if hyphens else "_"
    if not re.fullmatch(rf"[a-z][a-z0-9]*(?:{separators}[a-z0-9]+)*", answer):
        between = "hyphens, dots or underscores" if hyphens else "underscores"
        raise Refused(
            question, answer, f"is not a usable name: please use a-z, 0-9, and single {between} between them"
        )
    module = re.sub(r"[-.]", "_", answer)
    if keyword.iskeyword(module):
        raise Refused(question, answer, "is a keyword of Python: please choose another name")
    if module in PACKAGES:
        raise Refused(question, answer, "would shadow the package of that name: please choose another name")
    if module in sys.stdlib_module_names:
        raise Refused(
            question, answer, "would shadow a module of Python's standard library: please choose another name"
        )
    if module in DEVICES:
        raise Refused(
            question, answer, "is a backend or device that Triton already knows: please choose another name"
        )
    if module in WINDOWS_DEVICES:
        raise Refused(question, answer, "is a device name on Windows: please choose another name")


def check_backend_name(question: str, answer: str) -> None:
    check_name(question, answer, longest=LONGEST_BACKEND_NAME)
    if answer in DIALECTS:
        raise Refused(
            question,
            answer,
            "is the name of a dialect or stage of Triton or xDSL: please choose another name",
        )


def check_distribution_name(question: str, answer: str) -> None:
    check_name(question, answer, hyphens=True)


def check_arch(question: str, answer: str) -> None:
    check_text(question, answer)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,31}", answer):
        reason = "is not usable: please use at most 32 letters, digits, and dots or - _ + after the first"
        raise Refused(question, answer, reason)


def check_email(question: str, answer: str) -> None:
    check_text(question, answer)
    word = r"[A-Za-z0-9_%+'-]+"
    if not re.fullmatch(rf"{word}(\.{word})*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", answer):
        raise Refused(question, answer, "is not an e-mail address of the form name@example.com in ASCII")


def check_repository_url(question: str, answer: str) -> None:
    check_text(question, answer)
    if not re.fullmatch(r"https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/+@-]*)?", answer):
        reason = "is not a web address: please use the form https://example.com/triton-acme"
        raise Refused(question, answer, reason)


def whole_number(question: str, answer: str, smallest: int, largest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", answer) or not smallest <= int(answer) <= largest:
        raise Refused(question, answer, f"is not a whole number from {smallest} to {largest}")
    return int(answer)


def power_of_two(question: str, answer: str, smallest: int, largest: int) -> int:
    number = whole_number(question, answer, smallest, largest)
    if number & (number - 1):
        raise Refused(question, answer, f"is not a power of two: please use one from {smallest} to {largest}")
    return number


def matrix_tile_mnk(question: str, answer: str) -> tuple[int, int, int]:
    """M, N and K of "MxNxK"; a single number stands for all three."""
    sides = answer.lower().split("x")
    if len(sides) not in (1, 3):
        raise Refused(question, answer, "is not of the form MxNxK, such as 16x16x16")
    numbers = []
    for side in sides:
        try:
            numbers.append(power_of_two(question, side, 4, 256))
        except Refused as refusal:  # it names the side only
            where = f"has the side {json.dumps(side)}, which " if len(sides) > 1 else ""
            raise Refused(question, answer, where + refusal.reason) from None
    m, n, k = numbers if len(numbers) == 3 else numbers * 3
    return m, n, k


def check_vector_lanes(question: str, answer: str) -> None:
    power_of_two(question, answer, 4, 256)


def check_matrix_tile(question: str, answer: str) -> None:
    matrix_tile_mnk(question, answer)


def check_scratchpad_kib(question: str, answer: str) -> None:
    whole_number(question, answer, SMALLEST_SCRATCHPAD_KIB, 1024 * 1024)


def check_scratchpad_fits(answers: Mapping[str, Any]) -> None:
    """Refuse a scratchpad that cannot hold both operands and the accumulator of one matrix instruction."""
    tile, scratchpad = answers["matrix_tile"], answers["scratchpad_kib"]
    m, n, k = matrix_tile_mnk("matrix_tile", tile)
    needed_kib = -(-4 * (m * k + k * n + m * n) // 1024)
    if int(scratchpad) < needed_kib:
        reason = f"is too small: the 32-bit operands of a {m}x{n}x{k} matrix tile need {needed_kib} KiB"
        raise Refused("scratchpad_kib", scratchpad, reason)


def check_choice(question: str, answer: str) -> None:
    *others, last = (f'"{choice}"' for choice in CHOICES[question])
    if answer not in CHOICES[question]:
        later = (
            " (another license: write it into LICENSE and pyproject.toml later)"
            if question == "license"
            else ""
        )
        reason = f"is not a choice: please answer {', '.join(others)} or {last}{later}"
        raise Refused(question, answer, reason)


CHECKS: dict[str, Callable[[str, str], None]] = {
    "vendor_name": check_text,
    "backend_name": check_backend_name,
    "distribution_name": check_distribution_name,
    "package_name": check_name,
    "arch": check_arch,
    "author": check_text,
    "email": check_email,
    "repository_url": check_repository_url,
    "license": check_choice,
    "vector_lanes": check_vector_lanes,
    "matrix_tile": check_matrix_tile,
    "scratchpad_kib": check_scratchpad_kib,
    "gpu_reference": check_choice,
    "ci_provider": check_choice,
}


def check_given_names(arguments: list[str]) -> None:
    """Refuse ``NAME=VALUE`` on cookiecutter's command line if no question has that name.

    cookiecutter drops such an answer without a word, and the package gets a name that nobody asked for.
    """
    text = (Path(__file__).resolve().parent.parent / "cookiecutter.json").read_text(encoding="utf-8")
    known = [question for question in json.loads(text) if not question.startswith("_")]
    for argument in arguments:
        name, given, value = argument.partition("=")
        if given and name.isidentifier() and name not in known and not name.startswith("_"):
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f": perhaps {close[0]} is meant" if close else ""
            raise Refused(name, value, f"answers no question of this template{hint}")


def check_folder(answer: str) -> None:
    """Refuse a name whose folder is there already, as cookiecutter would after the last question.

    Only a running command knows where the folder will be: not a hook, which is a process of its own.
    """
    command = click.get_current_context(silent=True)
    if command is None or "output_dir" not in command.params or command.params.get("overwrite_if_exists"):
        return
    folder = Path(command.params["output_dir"]) / answer
    if folder.exists():
        reason = (
            f"is the name of the folder to be made, but {ascii(str(folder))[1:-1]} is there already: "
            "please choose another name, or another place with --output-dir"
        )
        raise Refused("backend_name", answer, reason)


def repaired(answer: str) -> str:
    """Undo what Python does to non-ASCII input under a C locale, where bytes become lone surrogates."""
    try:
        return answer.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return answer


def as_meant(question: str, answer: str) -> str:
    """The answer in the form that is used: a choice in its own capitals, a tile with the letter x.

    And the address of a repository without what only git needs: addresses of pages are made from it.
    """
    if question == "repository_url":
        return re.sub(r"(\.git)?/*$", "", answer)
    if question == "matrix_tile":
        return re.sub(r"\s*[x\u00d7]\s*", "x", answer, flags=re.IGNORECASE)
    for choice in CHOICES.get(question, ()):
        if answer.lower() == choice.lower():
            return choice
    return answer


def for_a_shell(argument: str) -> str:
    """Quoted for bash; as escaped bytes where the terminal cannot show it."""
    try:
        argument.encode(sys.stdout.encoding or "ascii")
    except UnicodeError:
        escaped = "".join(
            chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
            for byte in argument.encode()
        )
        return f"$'{escaped}'"
    return shlex.quote(argument)


def how_to_go_on(answers: Mapping[str, Any], wrong: str) -> str:
    """The command with all answers but the wrong one, for a person who has typed them; empty for a script."""
    if "cookiecutter" not in sys.argv[0] or "--no-input" in sys.argv:
        return ""
    given = [argument for argument in sys.argv[1:] if argument.partition("=")[0] not in CHECKS]
    good = [f"{name}={answers[name]}" for name in CHECKS if name in answers and name != wrong]
    command = " ".join(map(for_a_shell, ["cookiecutter", "--no-input", *given, *good]))
    return f"""

What was answered before is kept in this command. Add {wrong}=..., and what else is not to be the default;
or leave out --no-input to be asked again, with these answers as the defaults:

  {command}"""


def accept(answers: MutableMapping[str, Any], question: str) -> str:
    """Filter `answers | accept("question")`: check one answer, and repair its text in place.

    Returns an empty string, the value of the private variable that it is called from. Raises Refused.
    """
    if question == "vendor_name":  # the first
        check_given_names(sys.argv[1:] if "cookiecutter" in sys.argv[0] else [])
    answer = as_meant(question, repaired(str(answers[question])))
    try:
        if question == "backend_name" and not answer:
            check_backend_of(answers["vendor_name"])
        CHECKS[question](question, answer)
        answers[question] = answer
        if question == "backend_name":
            check_folder(answer)
        if question == "scratchpad_kib":  # asked after matrix_tile
            check_scratchpad_fits(answers)
    except Refused as refusal:
        advice = how_to_go_on(answers, question)
        raise Refused(refusal.question, refusal.answer, refusal.reason, advice) from None
    return ""


def accept_all(answers: MutableMapping[str, Any]) -> None:
    """Check every answer. Raises Refused for the first that is not accepted."""
    for question in CHECKS:
        accept(answers, question)


def first_word(vendor: str) -> str:
    """Of a vendor's name, in a-z and 0-9, without what only says which kind of company it is."""
    plain = unicodedata.normalize("NFKD", vendor).lower().replace(".", "")
    for word in re.split(r"[\s,;/()]+", plain):
        parts = [re.sub("[^a-z0-9]", "", part) for part in word.split("-")]
        name = "".join(part for part in parts if part not in COMPANY_FORMS)
        if name:
            return name
    return ""


def check_backend_of(vendor: str) -> None:
    """Refuse a vendor's name that gives no backend name, where no other one was given."""
    name = first_word(vendor)
    try:
        check_backend_name("backend_name", name)
    except Refused as refusal:
        fault = refusal.reason.partition(":")[0]
        why = f'its first word, "{name}", {fault}' if name else "it has no letters a-z"
        what_to_do = "please answer backend_name, too, such as backend_name=mychip"
        raise Refused("vendor_name", vendor, f"gives no backend_name, since {why}: {what_to_do}") from None


def backend_of(vendor: str) -> str:
    """Filter: what the backend of a vendor may be called: "zephyr" for "Zephyr Compute, Inc.".

    Empty where its first word is no such name: then the person has to choose one (`check_backend_of`).
    """
    try:
        check_backend_of(vendor)
    except Refused:
        return ""
    return first_word(vendor)


def quoted(text: str) -> str:
    """Filter: the text as a double-quoted string that TOML, YAML and Python all read back as the same text.

    Not `tojson`: JSON spells characters beyond U+FFFF as two surrogates, which TOML forbids and which YAML
    and Python read as two broken characters. Files are UTF-8, so printable characters stay as they are.
    """
    pieces: list[str] = []
    for character in text:
        if character in '"\\':
            pieces.append("\\" + character)
        elif character.isprintable():
            pieces.append(character)
        else:
            code = ord(character)
            pieces.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return '"' + "".join(pieces) + '"'


def markdown(text: str) -> str:
    """Filter: the text as Markdown that shows exactly these characters."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~$@:-])", r"\\\1", text)


def tile_mnk(answer: str) -> str:
    """Filter: "16x16x32" as the Python tuple "(16, 16, 32)"."""
    return str(matrix_tile_mnk("matrix_tile", answer))


def leave_out(package: Path, answers: Mapping[str, Any]) -> None:
    """Delete from a generated package what the answers do not ask for.

    Only for a folder that is copied verbatim: cookiecutter cannot skip one. Optional files that are rendered
    have conditional names instead.
    """
    if answers["gpu_reference"] == "none":
        shutil.rmtree(package / "src" / answers["package_name"] / "gpu_reference")


def handover(context: Mapping[str, Any]) -> str:
    """Filter: the whole context as JSON for the hooks, which are processes of their own in another folder.

    Safe inside r'''...''' whatever the answers contain: the text is ASCII, has no apostrophe, and a
    backslash in it is always followed by the character that it escapes. cookiecutter renders hooks with the
    template's folder as the working folder; what it passes as `_repo_dir` may be relative to another one.
    """
    complete = {**context, "_repo_dir": os.getcwd()}
    return json.dumps(complete, default=str).replace("'", "\\u0027")


class Answers(Extension):
    """Gives the filters above to every template, hook and default answer."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        for function in (accept, backend_of, quoted, markdown, tile_mnk, handover, record):
            environment.filters[function.__name__] = function
