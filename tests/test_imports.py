"""The rooms import downwards only, and importing the package is light."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import runcell_nb

PACKAGE = Path(runcell_nb.__file__).parent
MAY_IMPORT = {
    "core": set(),
    "models": {"core"},
    "sandboxes": {"core"},
    "runners": {"core"},
    "integrations": {"core"},
    "testing": {"core", "models", "sandboxes"},
    "notebook": {"core", "models", "sandboxes", "runners", "integrations"},
}
HEAVY = ["litellm", "IPython", "ipywidgets", "nbformat", "bashkit", "pandas", "openai", "regex", "wcmatch"]


def module_level_imports(path: Path) -> set[str]:
    """Absolute names of the package's own modules that a file imports when it is imported."""
    package = ".".join(["runcell_nb", *path.relative_to(PACKAGE).parent.parts])
    found: set[str] = set()
    pending: list[ast.stmt] = list(ast.parse(path.read_text("utf-8")).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            name = ".".join(part for part in (base, node.module) if part)
            found.add(name)
            found.update(f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending.extend(
                child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)
            )
    return {name for name in found if name.startswith("runcell_nb")}


SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_room_imports_only_the_rooms_it_may(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0]
    rooms = {name.split(".")[1] for name in module_level_imports(path) if name.count(".")}
    others = rooms - {room, "_version"}
    assert others <= MAY_IMPORT[room], f"{path.name} imports {others - MAY_IMPORT[room]}"


def test_modules_do_not_import_in_a_circle() -> None:
    dotted = {path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in SOURCES}
    names = {f"runcell_nb.{name}": path for path, name in dotted.items()}
    graph = {name: module_level_imports(path) & names.keys() for name, path in names.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail, name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def in_fresh_process(code: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_the_package_is_light() -> None:
    code = "import json, sys; import runcell_nb; print(json.dumps({'modules': list(sys.modules)}))"
    seen = in_fresh_process(code)
    loaded = {name.split(".")[0] for name in seen["modules"]}
    assert not loaded & {*HEAVY, "pydantic", "jsonschema", "asyncio"}


def test_making_an_agent_on_the_demo_loads_nothing_heavy() -> None:
    code = (
        "import json, sys; import runcell_nb; runcell_nb.create_agent('local/demo');"
        "print(json.dumps({'modules': list(sys.modules)}))"
    )
    loaded = {name.split(".")[0] for name in in_fresh_process(code)["modules"]}
    assert not loaded & set(HEAVY)


def test_the_public_names_are_sorted_importable_and_typed() -> None:
    assert runcell_nb.__all__ == sorted(runcell_nb.__all__)
    for name in runcell_nb.__all__:
        assert getattr(runcell_nb, name) is not None
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    typed = {
        (f"{'.' * node.level}{node.module}", alias.asname)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {(module, name) for module, names in runcell_nb._MODULES.items() for name in names}
    assert typed == lazy | {("._version", "__version__")}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = runcell_nb.nothing_here
