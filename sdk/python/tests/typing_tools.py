"""mypy and pyright, as strict as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from wire import ROOT

PACKAGE = ROOT / "sdk/python"
PYRIGHT = ROOT / "tools/node_modules/.bin/pyright"
CACHE = ROOT / "node_modules/.cache/svc-python/mypy"


@dataclass(frozen=True, order=True)
class Fault:
    file: str
    line: int
    message: str


def mypy(*programs: Path, path: Path, python: str = "3.10", of: Path | None = None) -> list[Fault]:
    """The faults, with `path` to import from, and with the packages installed for the Python `of`."""
    options = [
        "--strict",
        "--warn-unreachable",
        "--output=json",
        "--show-absolute-path",
        f"--python-version={python}",
        f"--python-executable={of or sys.executable}",
    ]
    # The packages of the tests have a cache of their own: they change from run to run under one name.
    cache = CACHE if path == PACKAGE / "src" else Path(tempfile.mkdtemp())
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        f"--cache-dir={cache}",
        *options,
        *map(str, programs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(path)})
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert (done.returncode == 1) == any(each["severity"] == "error" for each in said), (
        done.stdout + done.stderr
    )
    return sorted(
        Fault(each["file"], each["line"], each["message"]) for each in said if each["severity"] == "error"
    )


def pyright(*programs: Path, path: Path, python: str = "3.10", of: Path | None = None) -> list[Fault]:
    """The faults, with `path` to import from, and with the packages installed for the Python `of`."""
    if not PYRIGHT.exists() and "CI" not in os.environ:
        pytest.skip("pyright is one of the tools: npm run tools")
    with tempfile.TemporaryDirectory() as folder:
        project = {
            "include": [os.path.relpath(program, folder) for program in programs],
            "extraPaths": [str(path)],
            "typeCheckingMode": "strict",
            "pythonVersion": python,
            "reportPrivateUsage": "none",
            "reportMissingModuleSource": "none",
            "enableTypeIgnoreComments": False,
        }
        config = Path(folder) / "pyrightconfig.json"
        config.write_text(json.dumps(project))
        command = [
            str(PYRIGHT),
            "--outputjson",
            f"--pythonpath={of or sys.executable}",
            f"--project={config}",
        ]
        environment = {**os.environ, "PATH": f"{ROOT / 'node_modules/.bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] > 0, done.stdout
    return sorted(
        Fault(each["file"], each["range"]["start"]["line"] + 1, each["message"])
        for each in report["generalDiagnostics"]
        if each["severity"] != "information"
    )
