from __future__ import annotations

import json

import pytest
from flavours import Flavour
from stage import Stage
from stage import json as answer
from wire import ROOT

from svc_client import SvcError

TABLE = json.loads((ROOT / "sdk/base-url-table.json").read_bytes())
CASES = [(each["given"], each["baseUrl"]) for each in TABLE["cases"]]


@pytest.fixture(autouse=True)
def _without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SVC_BASE_URL", "SVC_SERVER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("given", "expected"), CASES, ids=[repr(given) for given, _ in CASES])
def test_the_table_that_all_sdks_share(sdk: Flavour, given: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(SvcError):
            sdk.client(given)
    else:
        made = sdk.client(given).base_url
        assert made == expected
        assert sdk.client(made).base_url == expected


def test_a_request_goes_behind_the_path_as_it_was_given(sdk: Flavour) -> None:
    with Stage(answer({})) as stage:
        client = sdk.client(f"{stage.address.replace('http', 'HTTP')}/a%2Fb/C//")
        sdk.call(client, "health")
    assert stage.seen[0].target == "/a%2Fb/C/health"
