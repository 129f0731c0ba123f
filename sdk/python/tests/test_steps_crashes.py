"""A crash at any call changes nothing: each handler ends as it does without one, and each effect is there once."""

from __future__ import annotations

from typing import Any

import pytest
from steps_faces import FACES
from steps_handlers import CASES, Case, Effects
from steps_stage import Crash, RunStage


def driven(case: Case, face: Any, **more: Any) -> tuple[RunStage, Any, Effects]:
    stage = case.stage(**more)
    effects = Effects(stage)
    ended = stage.drive(face(case.handler(effects)))
    return stage, str(ended) if isinstance(ended, Exception) else ended, effects


def check(case: Case, face: Any, **more: Any) -> RunStage:
    stage, ended, effects = driven(case, face, **more)
    assert ended == case.ends, (more, stage.calls)
    assert sorted(effects.by_key) == sorted(case.keys), more
    assert stage.faults == [], more
    # Without a crash nothing is done again.
    assert effects.works == len(case.keys) or "crash" in more
    assert len({number for number, _, _ in stage.started.values()}) == len(stage.started)
    return stage


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_crash_at_any_call_changes_nothing(case: Case, face: Any) -> None:
    calls = len(check(case, face).calls)
    assert calls > 0
    for call in range(1, calls + 1):
        for when in ("before", "after"):
            check(case, face, crash=Crash(call, when))


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_segments_that_come_with_the_lease_are_not_read(case: Case, face: Any) -> None:
    stage = check(case, face, with_lease=True)
    assert not [call for call in stage.calls if call.startswith("read svc.steps.")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_both_faces_write_one_journal(case: Case) -> None:
    journals = []
    for face in FACES:
        entries = driven(case, face)[0].entries
        # Which of two branches is first to write is not a rule.
        journals.append({key: {**entry, "at": None, "ms": None} for key, entry in entries.items()})
        for entry in journals[-1].values():
            if entry["k"].startswith(("@now", "@uuid")) or entry["k"] == "again":
                entry["v"] = None
    assert journals[0] == journals[1]
