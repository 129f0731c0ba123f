"""The package as a consumer has it."""

from __future__ import annotations

import ast
import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from service import running
from stage import Stage, hang_up, problem
from stage import json as answer
from typing_tools import PACKAGE, mypy, pyright
from wire import ROOT
from workers import external

import svc_client
import svc_client.dispatcher
import svc_client.steps
import svc_client.worker

SOURCE = PACKAGE / "src/svc_client"
MODULES = sorted(
    path.relative_to(SOURCE) for path in SOURCE.rglob("*.py*") if "__pycache__" not in path.parts
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source distribution, as they are released."""
    return build(tmp_path_factory.mktemp("dist"))


def build(folder: Path) -> tuple[Path, Path]:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel], [source] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="session")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the package and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, built[0]], check=True)
    return python


def run(python: Path | str, program: str, env: dict[str, str] | None = None, **options: Any) -> str:
    command = [python, "-I", "-W", "error", "-c", program]
    # An isolated Python does not read PYTHONPATH, so what it may import is what it has.
    done = subprocess.run(command, capture_output=True, text=True, env=env or {}, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


RELEASE = json.loads((ROOT / "package.json").read_bytes())


def test_is_of_the_release_which_package_json_of_the_project_names(built: tuple[Path, Path]) -> None:
    assert svc_client.VERSION == svc_client.__version__ == RELEASE["version"]
    wheel, source = built
    assert wheel.name == f"svc_runtime_client-{RELEASE['version']}-py3-none-any.whl"
    assert source.name == f"svc_runtime_client-{RELEASE['version']}.tar.gz"


def test_needs_nothing_and_says_what_it_is(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Name"] == "svc-runtime-client"
    assert metadata["License-Expression"] == RELEASE["license"]
    assert metadata["Requires-Python"] == ">=3.10"
    needs = metadata.get_all("Requires-Dist") or []
    assert [re.split(r"[<>=]", need)[0] for need in needs] == ["anyio", "httpx2"]
    assert all("extra == 'async'" in need for need in needs)
    assert "Private :: Do Not Upload" in (metadata.get_all("Classifier") or [])
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_holds_these_files_and_no_others(built: tuple[Path, Path]) -> None:
    inside = {f"svc_client/{path.as_posix()}" for path in MODULES} | {"svc_client/py.typed"}
    with zipfile.ZipFile(built[0]) as wheel:
        info = f"svc_runtime_client-{RELEASE['version']}.dist-info"
        extra = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")}
        assert set(wheel.namelist()) == inside | extra
    with tarfile.open(built[1]) as source:
        root = f"svc_runtime_client-{RELEASE['version']}"
        files = {member.name.removeprefix(f"{root}/") for member in source.getmembers() if member.isfile()}
    extra = {"LICENSE", "PKG-INFO", "README.md", "api.md", "pyproject.toml", ".gitignore"}
    assert files == {f"src/{name}" for name in inside} | extra


def test_has_the_name_under_which_its_readme_installs_it(built: tuple[Path, Path]) -> None:
    [pattern] = re.findall(
        r'^pip install "\$\(ls /path/to/dist/packages/(\S+)\)\[async\]"', README, re.MULTILINE
    )
    assert built[0].match(pattern)
    assert "](../../docs/guides/README.md)" in README


def test_is_made_byte_for_byte_again(built: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, copy]
    subprocess.run(command, check=True, capture_output=True)
    [again] = tmp_path.glob("*.whl")
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(built[0].read_bytes()).digest()


README = (PACKAGE / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_in_an_empty_environment_it_talks_to_a_real_service(installed: Path) -> None:
    with running() as address:
        env = {"SVC_BASE_URL": address}
        commit = EXAMPLES[0].replace("http://127.0.0.1:5220", address)
        assert [run(installed, commit, env), run(installed, commit, env)] == ["False 1\n", "True 1\n"]
        program = """
import sys
import svc_client
from svc_client import Client, NotFoundError
assert svc_client.__file__.startswith(sys.prefix)
with Client() as client:
    print(client.health()["status"], [each["id"] for each in client.query_canonical_documents("acme")])
    try:
        client.get_canonical_document("acme", {"documentType": "claim", "id": "7"})
    except NotFoundError as error:
        print(error.code)
"""
        assert run(installed, program, env) == "ok ['1042']\nnot_found\n"


def test_with_the_extra_it_does_so_side_by_side(built: tuple[Path, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path)
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import anyio
import svc_client
assert svc_client.__file__.startswith({str(tmp_path)!r})
async def main():
    async with svc_client.AsyncClient() as client:
        print([each async for each in client.query_canonical_documents("t")])
anyio.run(main)
"""
    with Stage(answer({"items": [1], "continuationToken": None})) as stage:
        assert run(sys.executable, program, {"SVC_BASE_URL": stage.address}) == "[1]\n"


def test_without_the_extra_a_star_import_gives_the_other_names(installed: Path) -> None:
    program = """
from svc_client import *
print(Client.__name__, "AsyncClient" in dir())
"""
    assert run(installed, program) == "Client False\n"


def test_with_the_extra_a_star_import_gives_all_names() -> None:
    program = "from svc_client import *; print(AsyncClient.__name__, AsyncStreamedResponse.__name__)"
    source = f"import sys; sys.path.insert(0, {str(PACKAGE / 'src')!r})\n{program}"
    assert run(sys.executable, source) == "AsyncClient AsyncStreamedResponse\n"


def test_without_the_extra_it_says_what_is_missing(installed: Path) -> None:
    program = """
import sys
import svc_client
assert not {"httpx2", "anyio", "asyncio", "typing_extensions"} & set(sys.modules)
try:
    svc_client.AsyncClient
except ImportError as error:
    print(error)
"""
    assert run(installed, program) == (
        "AsyncClient needs httpx2: install the package with its extra 'async'.\n"
    )


def test_is_typed_where_it_is_installed_also_without_the_extra(installed: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from svc_client import Client, models\n\n\n"
        "def status(client: Client) -> models.ServerHealthStatus:\n"
        "    return client.health(options={'timeout': 5})\n\n\n"
        "def wrong(client: Client) -> int:\n"
        "    return client.health()\n"
    )
    nowhere = tmp_path / "nowhere"
    for check in (mypy, pyright):
        assert [fault.line for fault in check(program, path=nowhere, of=installed)] == [9]


def test_the_examples_of_the_readme_run(installed: Path) -> None:
    with running({"ExecutionRuntime:ExternalHandlers:0:HandlerId": "refund.pay"}) as address:
        for example in EXAMPLES:
            program = example.replace("http://127.0.0.1:5220", address)
            command = [sys.executable, "-c", program]
            env = {"PYTHONPATH": str(PACKAGE / "src")}
            done = subprocess.run(command, capture_output=True, text=True, env=env)
            assert done.returncode == 0, f"{program}\n{done.stderr}"
            assert done.stdout != ""


def test_the_examples_of_the_readme_are_typed(tmp_path: Path) -> None:
    programs = []
    for at, example in enumerate(EXAMPLES):
        programs.append(tmp_path / f"example_{at}.py")
        programs[-1].write_text(example)
    assert len(programs) == 10
    assert mypy(*programs, path=PACKAGE / "src") == []
    assert pyright(*programs, path=PACKAGE / "src") == []


def pythons() -> dict[str, str]:
    """The releases of Python on this machine that are promised, by their paths."""
    found: dict[str, str] = {}
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    for minor in range(10, 16):
        for folder in folders:
            path = folder / f"python3.{minor}"
            # A shim may stand for a release that is not there.
            if path.exists() and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                found.setdefault(f"3.{minor}", str(path))
    return found


PYTHONS = pythons()


@pytest.mark.parametrize("release", sorted({*PYTHONS, "3.10"}))
def test_works_on_the_releases_that_are_promised(
    release: str, built: tuple[Path, Path], tmp_path: Path
) -> None:
    if release not in PYTHONS:
        pytest.skip("there is no Python 3.10 here, the oldest that is promised")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path)
    more = answer({"items": [1], "continuationToken": "a"}), answer({"items": [2], "continuationToken": None})
    with Stage(hang_up, answer({"replayed": False}), *more, problem(404, "not_found"), answer({})) as stage:
        program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from svc_client import *
from svc_client.worker import Worker
with Client() as client:
    print(client.commit_canonical_transaction("t", {{"idempotencyKey": "k"}}))
    print(client.query_canonical_documents("t").collect())
    try:
        client.health()
    except NotFoundError as error:
        print(error.code)
    print(client.with_streaming_response.health().read(), client)
"""
        env = {"SVC_BASE_URL": stage.address, "SVC_API_KEY": "canary"}
        said = run(PYTHONS[release], program, env)
    assert said.startswith("{'replayed': False}\n[1, 2]\nnot_found\nb'{}' Client(base_url=")
    assert "canary" not in said
    assert stage.seen[-1].headers["x-svc-api-key"] == "canary"


ASYNCHRONOUS = """
import asyncio, sys
sys.path.insert(0, {folder!r})
from svc_client import Client
from svc_client.dispatcher import Dispatcher
from svc_client.worker import AsyncWorker

async def main(client):
    ended, finished = asyncio.Event(), asyncio.Event()

    async def pay(context):
        await context.checkpoint("paid", context.payload)
        return context.payload

    async def parked(context):
        ended.set()
        await asyncio.Event().wait()

    async def paid(event, context):
        print(event["payload"])
        finished.set()

    handlers = {{"h-0": pay, "h-1": parked}}
    worker = AsyncWorker(client, worker_id="w", handlers=handlers, concurrency=2, wait_seconds=0)
    dispatcher = Dispatcher(client, tenant_id="t", consumer_id="c", handlers={{"paid": paid}})
    outbox = [{{"topic": "paid", "key": "7", "payload": 7}}]
    client.commit_canonical_transaction("t", {{"idempotencyKey": {release!r}, "outbox": outbox}})
    run_id = client.start_execution_run({{"handlerId": "h-1"}})["id"]
    async with dispatcher:
        running = asyncio.ensure_future(worker.run())
        run = client.start_execution_run({{"handlerId": "h-0", "payload": "kim"}})
        wait = client.wait_for_execution_run
        print((await asyncio.get_running_loop().run_in_executor(None, wait, run["id"]))["result"])
        await asyncio.gather(ended.wait(), finished.wait())
    print(await worker.stop(0))
    await running
    client.cancel_execution_run(run_id)

with Client() as client:
    asyncio.run(main(client))
"""


def test_asynchronous_programs_work_on_the_releases_that_are_promised(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(tmp_path)
    with running(external(2)) as address:
        for release, python in PYTHONS.items():
            program = ASYNCHRONOUS.format(folder=str(tmp_path), release=release)
            said = run(python, program, {"SVC_BASE_URL": address})
            assert sorted(said.split()) == ["7", "True", "kim"], release


def imports_of(path: Path) -> set[str]:
    """The modules outside the package that a module imports when it is loaded, without those for types."""
    found: set[str] = set()
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= len(path.relative_to(SOURCE).parts), (
                f"{path} imports from outside the package"
            )
        todo.extend(ast.iter_child_nodes(node))
    return found


ASYNC = {"_async_transport.py": {"anyio", "httpx2"}, "_async_connections.py": {"httpx2"}}


@pytest.mark.parametrize("module", [path for path in MODULES if path.suffix == ".py"], ids=str)
def test_stands_on_the_standard_library_alone(module: Path) -> None:
    foreign = imports_of(SOURCE / module) - set(sys.stdlib_module_names)
    assert foreign == ASYNC.get(str(module), set())


@pytest.mark.parametrize("module", [path for path in MODULES if path.suffix == ".py"], ids=str)
def test_time_and_chance_are_touched_where_they_are_handed_in(module: Path) -> None:
    touched = imports_of(SOURCE / module) & {"time", "random", "secrets", "uuid", "datetime"}
    if module.name == "_world.py":
        assert touched == {"time", "random"}
    else:
        assert touched - {"datetime"} == set()


WRITTEN = [path for path in MODULES if path.parts[0] != "_generated" and path.name != "models.py"]
"""Without the generated modules: their length is that of the contract."""


@pytest.mark.parametrize("module", WRITTEN, ids=str)
def test_can_be_read_at_once(module: Path) -> None:
    assert len((SOURCE / module).read_text().splitlines()) <= 250


def test_every_public_name_is_there_and_described() -> None:
    for name in svc_client.__all__:
        each = getattr(svc_client, name)
        assert each is not None
        if isinstance(each, type):
            assert each.__doc__, name
    for client in (svc_client.Client, svc_client.AsyncClient):
        for name in dir(client):
            if not name.startswith("_"):
                assert getattr(client, name).__doc__, name
    modules = (svc_client.worker, svc_client.dispatcher, svc_client.steps)
    for name, each in [(name, getattr(module, name)) for module in modules for name in module.__all__]:
        assert each is not None
        for member in [each, *vars(each).values()] if isinstance(each, type) else []:
            if isinstance(member, type) or (callable(member) and not member.__name__.startswith("_")):
                assert member.__doc__ or issubclass(each, svc_client.Cancellation), (name, member)
    with pytest.raises(AttributeError):
        svc_client.Nothing  # noqa: B018
