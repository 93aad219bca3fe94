from __future__ import annotations

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.notebook.cell_inputs import NOTE_HEADING, cell_inputs, note_of


def files_of(names, namespace):
    return {entry.file.path: entry.file.bytes for entry in cell_inputs(names, namespace)}


def test_variables_of_the_simple_kinds():
    namespace = {"text": "hällo", "raw": b"\0\1", "rows": [{"a": 1}], "none": None, "n": 3}
    assert files_of(namespace, namespace) == {
        "text.txt": "hällo".encode(),
        "raw.bin": b"\0\1",
        "rows.json": b'[{"a":1}]',
        "none.json": b"null",
        "n.json": b"3",
    }


def test_a_data_frame_becomes_a_csv_with_a_summary():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["Oslo", "Rome"], "n": [1, 2]})
    (entry,) = cell_inputs(["frame"], {"frame": frame})
    assert entry.file.path == "frame.csv"
    assert entry.file.bytes.decode().splitlines() == ["city,n", "Oslo,1", "Rome,2"]
    for told in ("frame.csv", "2 rows", "city", "n (int64)"):
        assert told in note_of([entry])


def test_files_folders_and_globs_on_disk(tmp_path, monkeypatch):
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "a.csv").write_text("1")
    (tmp_path / "data" / "b.csv").write_text("2")
    (tmp_path / "top.txt").write_text("3")
    monkeypatch.chdir(tmp_path)
    assert files_of(["top.txt"], {}) == {"top.txt": b"3"}
    assert files_of(["data"], {}) == {"data/deep/a.csv": b"1", "data/b.csv": b"2"}
    assert files_of(["data/**/*.csv"], {}) == {"data/deep/a.csv": b"1", "data/b.csv": b"2"}
    assert files_of([str(tmp_path / "top.txt")], {}) == {"top.txt": b"3"}


def test_a_variable_wins_over_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("file")
    assert files_of(["x"], {"x": "variable"}) == {"x.txt": b"variable"}


@pytest.mark.parametrize(
    ("name", "namespace", "said"),
    [
        ("custmers", {"customers": []}, r"custmers.*did you mean customers"),
        ("nothing.csv", {}, "nothing.csv"),
        ("odd", {"odd": object()}, "object"),
    ],
)
def test_what_cannot_be_put_in_is_one_sentence(name, namespace, said):
    with pytest.raises(InvalidOptionError, match=said):
        cell_inputs([name], namespace)


def test_without_inputs_there_is_no_note():
    assert note_of([]) == ""
    assert note_of(cell_inputs(["a"], {"a": "x"})).startswith(NOTE_HEADING)
