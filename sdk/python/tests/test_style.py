"""How the code reads."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typing_tools import PACKAGE


@pytest.mark.parametrize(
    "command", [["check", "--no-cache"], ["format", "--check", "--no-cache"]], ids=["lint", "format"]
)
def test_ruff_has_nothing_to_say(command: list[str]) -> None:
    folders = ["src", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *command, *folders], cwd=PACKAGE, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
