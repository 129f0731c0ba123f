"""The findings of type checkers in the package and in programs that use it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typing_tools import PACKAGE, Fault, mypy, pyright
from wire import ROOT

Check = Callable[..., list[Fault]]

SOURCE = PACKAGE / "src"
PROGRAMS = PACKAGE / "tests/typing"


@pytest.fixture(scope="module", params=[mypy, pyright], ids=["mypy", "pyright"])
def faults(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Fault]:
    """The findings in the package, its users and a lax program. One process reads the package for all."""
    lax = tmp_path_factory.mktemp("lax") / "lax.py"
    lax.write_text("def untyped(value):\n    return value\n")
    programs = SOURCE / "svc_client", PROGRAMS / "usage.py", PROGRAMS / "misuse.py", lax
    check: Check = request.param
    return check(*programs, path=SOURCE)


def lines_of(faults: list[Fault], name: str) -> list[int]:
    return sorted({fault.line for fault in faults if Path(fault.file).name == name})


def test_the_package_and_its_users_are_clean(faults: list[Fault]) -> None:
    assert [fault for fault in faults if Path(fault.file).name not in ("misuse.py", "lax.py")] == []


@pytest.mark.parametrize("check", [mypy, pyright], ids=["mypy", "pyright"])
def test_the_package_is_clean_on_a_later_python(check: Check) -> None:
    assert check(SOURCE / "svc_client", path=SOURCE, python="3.13") == []


def test_what_is_wrong_is_refused_line_by_line(faults: list[Fault]) -> None:
    lines = (PROGRAMS / "misuse.py").read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# refused: " in line]
    assert len(marked) == 25
    assert lines_of(faults, "misuse.py") == marked


def test_the_checkers_are_strict(faults: list[Fault]) -> None:
    """A checker that is set up wrongly finds nothing anywhere."""
    assert 1 in lines_of(faults, "lax.py")


def test_the_stubs_are_what_they_describe() -> None:
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "svc_client._generated.client",
        "svc_client._generated.async_client",
    ]
    environment = {"PYTHONPATH": str(SOURCE), "MYPYPATH": str(SOURCE)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=PACKAGE)
    assert done.returncode == 0, done.stdout
    assert "Success: no issues found in 2 modules" in done.stdout


def _annotations(text: str) -> dict[str, list[tuple[str, str]]]:
    """Of each method, class by class: what its request is, and what it gives."""
    found: dict[str, list[tuple[str, str]]] = {}
    for group in ast.parse(text).body:
        for method in group.body if isinstance(group, ast.ClassDef) else []:
            if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) or method.returns is None:
                continue
            arguments = {each.arg: ast.unparse(each.annotation or each) for each in method.args.args[1:]}
            found.setdefault(method.name, []).append(
                (arguments.get("request", ""), ast.unparse(method.returns))
            )
    return found


@pytest.mark.parametrize("name", ["client", "async_client"])
def test_the_stubs_say_what_the_catalog_says(name: str) -> None:
    stubs = _annotations((SOURCE / f"svc_client/_generated/{name}.pyi").read_text())
    catalog = json.loads((ROOT / "contracts/public-sdk-surface.json").read_bytes())
    published = [each for each in catalog["operations"] if each["stability"] != "internal"]
    assert len(published) > 15
    for operation in published:
        data, raw, streamed = stubs[operation["sdk"]["python"]]
        wanted = operation["request"] and operation["request"]["schema"]
        for request, _ in (data, raw, streamed):
            assert re.findall(r"models\.(\w+)", request) == ([wanted] if wanted else []), operation["id"]
        # Bytes have no model.
        answers = {
            "bytes" if each["mediaType"] == "application/octet-stream" else each["schema"]
            for each in operation["responses"]
        }
        answers |= {None} if "absent" in operation["sdk"] else set()
        content = re.fullmatch(r"(?:Coroutine\[Any, Any, )?APIResponse\[(.*?)\]+", raw[1])
        assert content is not None, raw[1]
        kinds = {None if each == "None" else each.removeprefix("models.") for each in content[1].split(" | ")}
        assert kinds == answers, operation["id"]
        # A list in pages names its entries too.
        assert set(re.findall(r"models\.(\w+)", data[1])) >= answers - {None, "bytes"}, operation["id"]
        assert ("None" in data[1]) == (None in answers), operation["id"]
        assert re.fullmatch(r"(?:Coroutine\[Any, Any, )?(?:Async)?StreamedResponse\]?", streamed[1])


def test_the_stubs_hold_every_method_of_every_view() -> None:
    generated = SOURCE / "svc_client/_generated"
    for name in ("client", "async_client"):
        methods = re.findall(
            r"^    (?:async )?def ([a-z]\w*)\(", (generated / f"{name}.py").read_text(), re.MULTILINE
        )
        stubs = re.findall(
            r"^    (?:async )?def ([a-z]\w*)\(", (generated / f"{name}.pyi").read_text(), re.MULTILINE
        )
        assert len(methods) > 15
        assert stubs == methods * 3
