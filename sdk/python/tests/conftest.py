from __future__ import annotations

import importlib
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flavours import NAMES, Flavour, flavour
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from report import Report
from stage import Stage
from stage import json as answer
from wire import ROOT
from workers import close_clients

from svc_client._world import MACHINE

NODE = ROOT / "node_modules/.bin/node"

# A slow machine must not fail a property; a failed one prints how to find its example again.
settings.register_profile(
    "svc",
    deadline=None,
    database=None,
    print_blob=True,
    # Fixed seeds, as in every lane but the nightly one; a loaded machine is no fault of a strategy.
    derandomize=os.environ.get("TEST_NIGHTLY") != "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("svc")
set_hypothesis_home_dir(str(ROOT / "node_modules/.cache/svc-python/hypothesis"))


@pytest.fixture(params=NAMES)
def sdk(request: pytest.FixtureRequest) -> Iterator[Flavour]:
    """Each of the clients in turn."""
    made = flavour(request.param)
    yield made
    made.close()


@pytest.fixture(scope="session")
def fixture_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clients generated from another contract, with the runtime of this one: the package `svc_fixture`."""
    folder = tmp_path_factory.mktemp("fixture")
    program = ROOT / "sdk/python/tests/fixture-sdk.ts"
    subprocess.run([NODE, program, folder], check=True, cwd=ROOT)
    runtime, made = ROOT / "sdk/python/src/svc_client", folder / "sdk/python/src/svc_client"
    shutil.copytree(
        runtime, folder / "svc_fixture", ignore=shutil.ignore_patterns("_generated", "__pycache__")
    )
    shutil.copytree(made, folder / "svc_fixture", dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def fixture_module(fixture_folder: Path) -> Any:
    sys.path.insert(0, str(fixture_folder))
    return importlib.import_module("svc_fixture")


@pytest.fixture(params=NAMES)
def depots(request: pytest.FixtureRequest, fixture_module: Any) -> Iterator[Flavour]:
    """Each of the clients of the other contract in turn."""
    made = flavour(request.param, fixture_module)
    yield made
    made.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [
            *(
                openssl,
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=stage",
            ),
            *("-addext", names, "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture
def tls_stage(certificate: Path) -> Iterator[Stage]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with Stage(answer({"secure": True}), context=context) as made:
        yield made


@pytest.fixture(autouse=True)
def _clients() -> Iterator[None]:
    yield
    close_clients()
    # No test finds what another has spent.
    MACHINE.retry_tokens.clear()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SVC_BASE_URL", "SVC_SERVER", "SVC_API_KEY", "SVC_API_KEY_HEADER", "SVC_IDENTITY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get("PYTEST_OUTCOMES")
    if path is not None:
        config.pluginmanager.register(Report(path))
