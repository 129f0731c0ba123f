"""The result of each test, a line of JSON each, for the test run of the whole project."""

from __future__ import annotations

import json

import pytest


class Report:
    def __init__(self, path: str) -> None:
        self._path = path

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._write(collected=[item.nodeid for item in items])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        why = "" if report.passed else str(report.longrepr)
        if report.skipped and isinstance(report.longrepr, tuple):
            why = report.longrepr[2]
        self._write(test=report.nodeid, when=report.when, outcome=report.outcome, why=why)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(
                test=report.nodeid or "collection", when="collect", outcome="failed", why=str(report.longrepr)
            )

    def _write(self, **line: object) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
