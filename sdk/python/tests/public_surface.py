"""The public names of the package, one member a line. Reads the sources and imports none of them, so that any
Python writes the same: `python public_surface.py [folder of svc_client]`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "svc_client"

# Callers are handed these and make none: what they are made of is the inside of the package.
_HANDED_OUT = {
    *("AsyncPages", "AsyncStreamedResponse", "Pages", "StreamedResponse"),
    *("AsyncDeliveryApp", "AsyncRunContext", "DeliveryContext"),
    *("DeliveryApp", "RunCancellation", "RunContext", "RunSuspended"),
    *(
        "AsyncStartedRun",
        "AsyncStepHandler",
        "AsyncSteps",
        "StartedRun",
        "StepDefinition",
        "StepHandler",
        "Steps",
    ),
}


class Module:
    """A module of the package, as it is written; its stub where it has one."""

    def __init__(self, path: Path) -> None:
        stub = path.with_suffix(".pyi")
        self.path = path
        self._names: dict[str, ast.stmt] = {}
        self._take(ast.parse((stub if stub.exists() else path).read_text()).body)

    def _take(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                self._take(node.body)
            elif isinstance(node, ast.ImportFrom):
                self._names.update({alias.asname or alias.name: node for alias in node.names})
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                self._names[node.name] = node
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._names[node.target.id] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._names[node.targets[0].id] = node

    def imported(self) -> list[str]:
        return [name for name, node in self._names.items() if isinstance(node, ast.ImportFrom)]

    def find(self, name: str) -> tuple[Module, ast.stmt] | None:
        """Where the package defines what this module calls so; None for what is of others."""
        node = self._names.get(name)
        if not isinstance(node, ast.ImportFrom):
            return None if node is None else (self, node)
        if node.level == 0 or node.module is None:
            return None
        folder = self.path.parents[node.level - 1]
        found = _module(folder.joinpath(*node.module.split(".")).with_suffix(".py"))
        return found.find(name)


@cache
def _module(path: Path) -> Module:
    """Parses each file once, not for each name that it exports."""
    return Module(path)


# Of the modules that callers import themselves.
_MODULES = ("dispatcher", "steps", "worker")


def surface(source: Path = SOURCE) -> str:
    top = Module(source / "__init__.py")
    names = _listed(top)
    lines: set[str] = set()
    for name in names:
        if name == "models":
            models = Module(source / "models.py")
            for model in models.imported():
                lines.update(f"models.{line}" for line in _lines(models, model, names))
        else:
            lines.update(_lines(top, name, names))
    for module in _MODULES:
        inner = Module(source / module / "__init__.py")
        public = _listed(inner)
        for name in public:
            lines.update(f"{module}.{line}" for line in _lines(inner, name, [*names, *public]))
    return "\n".join(sorted(lines)) + "\n"


def _listed(module: Module) -> list[str]:
    found = module.find("__all__")
    assert found is not None
    assert isinstance(found[1], ast.Assign)
    names: list[str] = ast.literal_eval(found[1].value)
    return names


def _lines(module: Module, name: str, public: list[str]) -> Iterator[str]:
    found = module.find(name)
    if found is None:
        raise LookupError(f"{name} is exported and nowhere defined")
    where, node = found
    if isinstance(node, ast.ClassDef):
        yield from _class(where, node, public)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        yield from _value(name, node.value)


def _value(name: str, value: ast.expr) -> Iterator[str]:
    members = _functional(value)
    if members is not None:
        yield f"{name}  class(TypedDict)"
        yield from (f"{name}.{key}  {key}: {kind}" for key, kind in members)
    elif isinstance(value, (ast.Constant, ast.Name)) and name.strip("_").upper() == "VERSION":
        yield f"{name}  str"
    else:
        yield from (f"{name}  = {each}" for each in _alternatives(value))


def _functional(value: ast.expr) -> list[tuple[str, str]] | None:
    """The members of `TypedDict("Name", {...})`."""
    if not isinstance(value, ast.Call) or not isinstance(value.args[-1], ast.Dict):
        return None
    said = value.args[-1]
    pairs = zip(said.keys, said.values, strict=True)
    return [(str(ast.literal_eval(key)), _type(kind)) for key, kind in pairs if key is not None]


def _type(node: ast.expr | None) -> str:
    if node is None:
        return "..."
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _alternatives(value: ast.expr) -> list[str]:
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        return [*_alternatives(value.left), *_alternatives(value.right)]
    if isinstance(value, ast.Subscript) and ast.unparse(value.value) in ("Literal", "Union"):
        chosen = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        return [ast.unparse(each) for each in chosen]
    return [_type(value)]


def _class(module: Module, node: ast.ClassDef, public: list[str]) -> Iterator[str]:
    bases = [base for base in node.bases if not _is_inner(module, base, public)]
    made = [f"@{ast.unparse(each)} " for each in node.decorator_list]
    yield f"{node.name}  {''.join(made)}class({', '.join(map(ast.unparse, bases))})"
    for name, text in _members(module, node, public).items():
        yield f"{node.name}.{name}  {text}"
    for each in node.body:
        # The type of a client's property has a name of its own, which is exported nowhere.
        if isinstance(each, ast.FunctionDef) and isinstance(each.returns, ast.Name):
            found = module.find(each.returns.id)
            if found and isinstance(found[1], ast.ClassDef) and each.returns.id not in public:
                yield from _class(*found, public)


def _is_inner(module: Module, base: ast.expr, public: list[str]) -> bool:
    return isinstance(base, ast.Name) and base.id not in public and module.find(base.id) is not None


def _members(module: Module, node: ast.ClassDef, public: list[str]) -> dict[str, str]:
    """By their names; those of bases that have no name outside belong to the class."""
    members: dict[str, str] = {}
    for base in node.bases:
        found = module.find(base.id) if isinstance(base, ast.Name) else None
        if found and isinstance(found[1], ast.ClassDef) and _is_inner(module, base, public):
            members.update(_members(*found, public))
    left_out = any(word.arg == "total" and ast.unparse(word.value) == "False" for word in node.keywords)
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            name, kind = ast.unparse(each.target), _type(each.annotation)
            kind = f"NotRequired[{kind}]" if left_out else kind
            members[name] = f"{name}: {kind}{'' if each.value is None else ' = ...'}"
        elif isinstance(each, ast.Assign):
            name = ast.unparse(each.targets[0])
            members[name] = f"{name} = ..."
        elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            members[each.name] = _signature(each)
            if each.name == "__init__":
                members.update({n: t for n, t in _attributes(each).items() if n not in members})
    made = node.name not in _HANDED_OUT and node.name in public
    return {name: text for name, text in members.items() if _is_public(name) and (made or name != "__init__")}


def _is_public(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__") and name != "__repr__"
    return is_special or not name.startswith("_")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    decorators = "".join(f"@{ast.unparse(each)} " for each in node.decorator_list)
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = "" if node.returns is None else f" -> {_type(node.returns)}"
    return f"{decorators}{kind} {node.name}({ast.unparse(node.args)}){returns}"


def _attributes(init: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """The attributes that a constructor sets and that no annotation of the class names."""
    kinds = {each.arg: _type(each.annotation) for each in (*init.args.args, *init.args.kwonlyargs)}
    found: dict[str, str] = {}
    for node in init.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Attribute):
            value = ast.unparse(node.value)
            found[target.attr] = f"{target.attr}: {kinds.get(value, value)}"
    return found


if __name__ == "__main__":
    sys.stdout.write(surface(*map(Path, sys.argv[1:])))
