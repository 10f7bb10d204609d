"""The command line: finding commands, refusing nonsense, and needing nothing that may be broken."""

import subprocess
import sys
import types

import pytest
from fake_environment import FakeEnvironment

from <<cookiecutter.package_name>>.cli import commands as cli
from <<cookiecutter.package_name>>.errors import BackendError
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME, VENDOR_NAME


@pytest.fixture
def command(monkeypatch):
    """A command `count` that answers with the number it is given; returns the calls it got."""
    calls = []

    def run(arguments):
        calls.append(arguments.number)
        if arguments.number == 13:
            raise BackendError("thirteen is unlucky")
        return arguments.number

    def add_arguments(parser):
        parser.add_argument("number", type=int)

    module = types.SimpleNamespace(add_arguments=add_arguments, run=run)
    entry = cli.Command("count", "count to a number", ".version", needs_toolchain=False)
    monkeypatch.setattr(cli.Command, "load", lambda self: module)
    monkeypatch.setattr(
        cli, "COMMANDS", (entry, cli.Command("gone", "deleted by the vendor", ".no_such_module"))
    )
    return calls


def test_run(command):
    assert cli.main(["count", "0"]) == 0
    assert cli.main(["count", "3"]) == 3
    assert command == [0, 3]


def test_an_error_is_one_sentence(command, capsys):
    assert cli.main(["count", "13"]) == 1
    assert capsys.readouterr().err == f"{DISTRIBUTION_NAME} count: thirteen is unlucky\n"


def test_wrong_arguments(command):
    with pytest.raises(SystemExit) as stop:
        cli.main(["count", "many"])
    assert stop.value.code == 2


def test_overview(command, capsys):
    assert cli.main([]) == 2
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert "count  count to a number" in text and VENDOR_NAME in text
    assert "gone" not in text, "a command without its module is not offered"


def test_unknown_command(command, capsys):
    assert cli.main(["cuont"]) == 2
    assert "did you mean 'count'?" in capsys.readouterr().err
    assert cli.main(["gone"]) == 2
    assert "it must be one of count." in capsys.readouterr().err


def test_every_offered_command_loads():
    for command in cli.COMMANDS:
        if command.is_there:
            module = command.load()
            assert callable(module.run) and callable(module.add_arguments), command.name


def test_doctor_and_version_are_there():
    assert {"doctor", "version"} <= {command.name for command in cli.COMMANDS if command.is_there}


def test_doctor_and_version_import_nothing_heavy(tmp_path):
    script = (
        f"import sys\nfrom {PACKAGE_NAME}.cli.main import main\n"
        "main(['version']); main(['doctor'])\n"
        "heavy = {'triton', 'torch', 'numpy', 'xdsl', 'llvmlite'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_version(tmp_path):
    done = FakeEnvironment(tmp_path).run("-m", f"{PACKAGE_NAME}.cli.main", "--version")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"{DISTRIBUTION_NAME} 0.1.0", "triton 3.8.0"] and "torch not installed" in lines


def test_commands_that_compile_ask_for_the_toolchain_first(tmp_path):
    """With xDSL gone they end in a sentence, whatever module they would have imported."""
    env = FakeEnvironment(tmp_path)
    env.remove("xdsl")
    env.write({f"{PACKAGE_NAME}/cli/opt.py": "import xdsl\n"})
    done = env.run("-m", f"{PACKAGE_NAME}.cli.main", "opt", "file")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"{DISTRIBUTION_NAME} opt: {BACKEND_NAME}: xdsl is not installed")


def test_printing_survives_any_encoding(tmp_path):
    env = FakeEnvironment(tmp_path)
    target = env.site / PACKAGE_NAME / "target.py"
    text = target.read_text(encoding="utf-8") + '\nVENDOR_NAME = "Žižka 芯片"\n'
    target.write_text(text, encoding="utf-8")
    for command in ((), ("doctor",)):
        done = env.run("-m", f"{PACKAGE_NAME}.cli.main", *command, LC_ALL="C", PYTHONIOENCODING="ascii")
        assert "ka " in done.stdout and not done.stderr


def test_output_may_be_cut_short():
    done = subprocess.run(
        f"{sys.executable} -m {PACKAGE_NAME}.cli.main doctor | true",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr
