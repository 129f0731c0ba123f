from __future__ import annotations

import json
from typing import Any

import pytest
from flavours import Flavour
from stage import Answer, Clock, Reply, Seen, Stage
from wire import ROOT

import svc_client
from svc_client import SvcError

TABLE = json.loads((ROOT / "sdk/answer-table.json").read_bytes())


def wired(wire: str) -> Answer:
    def answer(reply: Reply, _: Seen) -> None:
        reply.write(wire.encode("latin-1"))
        reply.hang_up()

    return answer


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
def test_the_table_that_all_sdks_share(sdk: Flavour, case: dict[str, Any]) -> None:
    clock = Clock()
    with Stage(wired(case["wire"])) as stage:
        client = sdk.client(stage, clock)
        if case["error"] is None:
            assert sdk.call(client, "health") == {}
        else:
            with pytest.raises(SvcError) as caught:
                sdk.call(client, "health")
            error: Any = caught.value
            assert type(error) is getattr(svc_client, case["error"])
            if case["status"] is not None:
                assert (error.status, error.code) == (case["status"], case["code"])
                assert (error.problem is None) == (case["code"] is None)
    assert clock.slept == case["delaySeconds"]
    assert len(stage.seen) == len(case["delaySeconds"]) + 1


def test_the_table_names_every_case_once() -> None:
    names = [case["name"] for case in TABLE["cases"]]
    assert len(set(names)) == len(names)
