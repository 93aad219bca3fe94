"""What a kernel kept for a runner without a browser, put where a front end would have put it.

A runner stores the state of widgets in `metadata.widgets`; the notebook layer's keeper is one of them. Its
state belongs into `metadata.runcell`, and the widgets of a kernel that is gone belong nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

STATE_MIME = "application/vnd.jupyter.widget-state+json"
VIEW_MIME = "application/vnd.jupyter.widget-view+json"

_OURS = "runcell_nb."
"""How the id of an anywidget of this package begins."""


def promote(notebook: MutableMapping[str, Any]) -> bool:
    """Move what the kernel kept into `metadata.runcell`, and drop this package's dead widgets.

    What the notebook had stays where the kernel kept nothing of its kind: recordings above all.

    Args:
        notebook: As nbformat or JSON has it; it is changed. Widgets of others stay.

    Returns:
        Whether a kernel had kept something.
    """
    metadata = notebook["metadata"]
    models = _models(metadata)
    ours = {key: model for key, model in models.items() if _is_ours(model)}
    kept = max((state for model in ours.values() for state in _states(model)), key=_revision, default=None)
    if kept is not None:
        before = metadata.get("runcell")
        had = before if isinstance(before, dict) else {}
        metadata["runcell"] = {**{key: had[key] for key in ("recordings",) if key in had}, **kept}
    for key in ours:
        del models[key]
    if not models and "widgets" in metadata:
        metadata["widgets"].pop(STATE_MIME, None)
        if not metadata["widgets"]:
            del metadata["widgets"]
    _drop_views(notebook, set(ours))
    return kept is not None


def _models(metadata: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    found: Any = metadata
    for name in ("widgets", STATE_MIME, "state"):
        found = found.get(name) if isinstance(found, MutableMapping) else None
    return found if isinstance(found, MutableMapping) else {}


def _is_ours(model: Any) -> bool:
    """Tell a model of this package, or one that only lays out or styles such (every widget has those)."""
    state = model.get("state") if isinstance(model, MutableMapping) else None
    if not isinstance(state, MutableMapping):
        return False
    return str(state.get("_anywidget_id", "")).startswith(_OURS) or (
        model.get("model_name") == "LayoutModel" and not _is_styled(state)
    )


def _is_styled(layout: MutableMapping[str, Any]) -> bool:
    """Tell a layout in which somebody has set something."""
    return any(value is not None for name, value in layout.items() if not name.startswith("_"))


def _states(model: MutableMapping[str, Any]) -> Iterator[dict[str, Any]]:
    state = model["state"].get("state")
    if isinstance(state, MutableMapping) and isinstance(state.get("version"), int) and "threads" in state:
        yield dict(state)


def _revision(state: MutableMapping[str, Any]) -> int:
    revision = state.get("revision", 0)
    return revision if isinstance(revision, int) else 0


def _drop_views(notebook: MutableMapping[str, Any], gone: set[str]) -> None:
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            view = data.get(VIEW_MIME)
            if isinstance(view, MutableMapping) and view.get("model_id") in gone and len(data) > 1:
                del data[VIEW_MIME]
