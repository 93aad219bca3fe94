"""A recording as a thing of its own: cells, renewal, JSON, files."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from runcell_nb import (
    InvalidOptionError,
    RecordingGateway,
    ReplayGateway,
    ScriptedModel,
    create_agent,
    create_thread,
)
from runcell_nb.models.recorded_cell import (
    ALL_FILES,
    changed_files,
    file_digests,
    prompt_digest,
    recorded_cell,
)
from runcell_nb.models.recording import Recording
from runcell_nb.models.recording_file import beside
from runcell_nb.models.recording_reading import RecordingError
from tests.models.recordings import READ_THEN_ANSWER, call, file, recorded, replayed, through_json


async def cell_of(main: Recording, cell: str, script: list, prompt: str, thread=None, tools=()) -> None:
    """Record a cell as a notebook does: for itself first, then into the notebook's recording."""
    recorder = RecordingGateway(ScriptedModel(script), Recording())
    await create_agent(recorder, tools=list(tools)).run(prompt, thread=thread)
    main.renew(recorder.recording)
    described = recorded_cell(
        cell, prompt, recorder.name, steps=recorder.steps, results=recorder.results, files={"a": "1"}
    )
    main.record_cell(described)


async def notebook(prompts: dict[str, str]) -> Recording:
    main, thread = Recording(), create_thread()
    for cell, prompt in prompts.items():
        await cell_of(main, cell, [["Look. ", call("ls")], f"Answer to {prompt}"], prompt, thread)
    return main


async def replay_notebook(recording: Recording, prompts: dict[str, str]) -> list[str]:
    thread, texts = create_thread(), []
    for cell, prompt in zip(recording.cells, prompts.values(), strict=True):
        gateway = ReplayGateway(recording, expected=cell)
        texts.append((await create_agent(gateway).run(prompt, thread=thread)).text)
        gateway.check_all_used()
    return texts


PROMPTS = {"c1": "one", "c2": "two", "c3": "three"}


async def test_cells_of_one_thread_store_each_message_once() -> None:
    main = await notebook(PROMPTS)
    stored = main.to_dict()
    assert [request["after"] is None for request in stored["requests"]] == [True] + 5 * [False]
    assert sum(len(request["messages"]) for request in stored["requests"]) == 11
    assert [cell["cell"] for cell in stored["cells"]] == ["c1", "c2", "c3"]
    assert await replay_notebook(through_json(main), PROMPTS) == [
        f"Look. Answer to {prompt}" for prompt in PROMPTS.values()
    ]


async def test_a_cell_that_is_recorded_again_takes_the_place_of_what_it_was() -> None:
    main = await notebook(PROMPTS)
    size = len(main)
    thread = create_thread()
    await cell_of(main, "c1", ["Short."], "one", thread)
    assert [cell.cell for cell in main.cells] == ["c1", "c2", "c3"]
    assert len(main) == size - 1
    first = ReplayGateway(main, expected=main.cells[0])
    assert (await create_agent(first).run("one")).text == "Short."
    for _ in range(5):
        await cell_of(main, "c1", ["Short."], "one")
    assert len(main) == size - 1


async def test_what_others_stand_on_stays_readable_when_a_cell_goes() -> None:
    main = await notebook(PROMPTS)
    main.forget_cell("c1")
    again = through_json(main)
    assert len(again) == 4
    assert again.to_dict() == main.to_dict()
    texts, thread = [], create_thread()
    await create_agent(ScriptedModel([["Look. ", call("ls")], "Answer to one"])).run("one", thread=thread)
    for cell, prompt in zip(again.cells, ("two", "three"), strict=True):
        gateway = ReplayGateway(again, expected=cell)
        texts.append((await create_agent(gateway).run(prompt, thread=thread)).text)
    assert texts == ["Look. Answer to two", "Look. Answer to three"]
    for cell in ("c2", "c3", "unknown"):
        main.forget_cell(cell)
    assert main.to_dict() == Recording().to_dict()


async def test_renewing_takes_over_cells_and_leaves_the_other_as_it_is() -> None:
    main, other = await notebook(PROMPTS), await notebook({"c2": "two changed", "c4": "four"})
    before = other.to_dict()
    main.renew(other)
    assert other.to_dict() == before
    assert [cell.cell for cell in main.cells] == ["c1", "c2", "c3", "c4"]
    assert len(main) == 8
    assert through_json(main).to_dict() == main.to_dict()


async def test_renewing_without_cells_replaces_what_was_asked_again_and_keeps_the_rest() -> None:
    async def of(texts: dict[str, str]) -> Recording:
        recorder = RecordingGateway(ScriptedModel(list(texts.values())))
        for prompt in texts:
            await create_agent(recorder).run(prompt)
        return recorder.recording

    main = await of({"a": "old", "b": "stays"})
    main.renew(await of({"a": "new"}))
    gateway = ReplayGateway(main)
    assert [(await create_agent(gateway).run(prompt)).text for prompt in ("a", "b")] == ["new", "stays"]
    gateway.check_all_used()


async def test_results_of_tools_belong_to_cells() -> None:
    runs = []

    def definition():
        from runcell_nb import tool

        @tool(record=True)
        def count() -> int:
            """Count."""
            runs.append(1)
            return len(runs)

        return count

    main = Recording()
    for cell in ("c1", "c2"):
        await cell_of(main, cell, [[call("count")], f"End of {cell}."], f"Go {cell}.", tools=[definition()])
    main = through_json(main)
    for cell, value in zip(main.cells, ("1", "2"), strict=True):
        gateway = ReplayGateway(main, expected=cell)
        await create_agent(gateway, tools=[definition()]).run(f"Go {cell.cell}.")
        assert gateway.results[0].result.content[0].text == value
    main.forget_cell("c1")
    assert [kept.result.content[0].text for kept in main.results] == ["2"]
    assert len(runs) == 2


async def test_a_cell_of_another_recording_is_refused() -> None:
    other = await notebook({"c1": "one"})
    main = await notebook({"c2": "two"})
    with pytest.raises(ValueError, match="Cell 'c1' has steps or results that are not in this recording"):
        main.record_cell(other.cells[0])
    assert [cell.cell for cell in main.cells] == ["c2"]


async def test_json_is_stable_and_needs_no_order_of_keys() -> None:
    recording = await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])
    value = recording.to_dict()
    turned = json.loads(json.dumps(value, sort_keys=True))
    assert turned == value
    assert Recording.from_dict(turned).to_dict() == value
    before = copy.deepcopy(value)
    Recording.from_dict(value)
    assert value == before


async def test_a_text_that_a_person_mended_counts_as_recorded() -> None:
    value = (await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])).to_dict()
    value["requests"][0]["responses"][0]["parts"][0]["text"] = "Let me see. "
    value["requests"][1]["responses"][0]["parts"][0]["text"] = ["Two", "lines."]
    result = await replayed(Recording.from_dict(value), files=[file("one\ntwo\n")])
    assert result.text == "Let me see. Two\nlines."


def test_of_many_files_there_is_one_digest() -> None:
    few = file_digests({"b": b"1", "a": b"2"})
    assert list(few) == ["a", "b"] and all(len(digest) == 12 for digest in few.values())
    assert changed_files(few, file_digests({"b": b"1", "c": b"2"})) == ["a", "c"]
    many = {f"f{number}": b"" for number in range(201)}
    assert list(file_digests(many)) == [ALL_FILES]
    assert changed_files(file_digests(many), file_digests(many | {"f1": b"x"})) == [ALL_FILES]
    assert changed_files(few, file_digests(many)) == [ALL_FILES]
    assert changed_files(few, few) == []


def test_a_cell_has_the_beginning_of_its_prompt() -> None:
    cell = recorded_cell("c", "p" * 1000, "a/b")
    assert (cell.prompt, cell.prompt_digest) == ("p" * 200, prompt_digest("p" * 1000))
    assert prompt_digest("a\r\nb") == prompt_digest("a\nb") != prompt_digest("a b")


def names_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


async def test_a_file_is_written_whole_and_read_again(tmp_path: Path) -> None:
    recording = await recorded(["Zwölf Boxkämpfer."])
    path = tmp_path / "deep" / "a.runcell.json"
    recording.write(path)
    assert Recording.read(path).to_dict() == recording.to_dict()
    text = path.read_text("utf-8")
    assert "Zwölf" in text and text.endswith("}\n") and '\n "cells": []' in text
    recording.write(str(path))
    assert path.read_text("utf-8") == text
    assert names_in(path.parent) == [path.name]


async def test_a_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.runcell.json"
    (await recorded(["Old."])).write(path)
    before = path.read_bytes()

    def full(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("runcell_nb.models.recording_file.os.replace", full)
    with pytest.raises(OSError, match="disk full"):
        (await recorded(["New."])).write(path)
    assert path.read_bytes() == before
    assert names_in(tmp_path) == [path.name]


async def test_the_recording_of_a_notebook_is_in_it_or_beside_it(tmp_path: Path) -> None:
    notebook, recording = tmp_path / "a.ipynb", await recorded(["Hi."])
    notebook.write_text(json.dumps({"cells": [], "metadata": {"runcell": {}}}), "utf-8")
    with pytest.raises(
        RecordingError, match=r"Nothing is recorded in .*a\.ipynb' or beside it; record it with"
    ):
        Recording.read(notebook)
    recording.write(beside(notebook))
    assert beside(notebook).name == "a.runcell.json"
    assert len(Recording.read(notebook)) == 1
    metadata = {"runcell": {"recordings": (await recorded(["Hi.", "x"])).to_dict()}}
    notebook.write_text(json.dumps({"cells": [], "metadata": metadata}), "utf-8")
    assert Recording.read(notebook).to_dict() == metadata["runcell"]["recordings"]
    with pytest.raises(InvalidOptionError, match=r"write 'a\.runcell\.json'"):
        recording.write(notebook)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"There is no recording to read at .*a\.json' \(No such file or directory\); record it first"),
        (b"", r"a\.json is damaged: it is no JSON"),
        (b'{"version": 1, "heads', r"a\.json is damaged: it is no JSON .* bring back an earlier version"),
        (b"\xff\xfe\x00", r"a\.json is damaged: it is no JSON"),
        (b"[" * 100_000, r"a\.json is damaged: it is no JSON"),
        (b"[]", r"a\.json: The recording is damaged: The recording must be an object, got \[\]"),
        (
            b'{"version": 2}',
            r"a\.json: The recording has version 2 and this runcell_nb reads up to 1; update",
        ),
    ],
)
def test_files_that_are_no_recordings(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=said) as caught:
        Recording.read(path)
    assert caught.value.newer is (content == b'{"version": 2}')


def test_a_file_that_is_too_big_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runcell_nb.models.recording_file.MAX_BYTES", 10)
    path = tmp_path / "a.json"
    path.write_text('{"version": 1}')
    with pytest.raises(RecordingError, match="has more than 10 bytes; that is no recording"):
        Recording.read(path)
