from __future__ import annotations

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.files import FileInput, normalize_files
from tests.conformance import cases, decoded


def as_case(file):
    content = {"text": file.data.decode()} if file.kind == "text" else {"bytes": file.data}
    media = {} if file.media_type is None else {"mediaType": file.media_type}
    return {"kind": file.kind, "path": file.path, **content, **media}


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "files_in"))
def test_files_in_cases(given, expect):
    files = decoded(given["files"])
    if "error" in expect:
        with pytest.raises(InvalidOptionError):
            normalize_files(files)
    else:
        assert [as_case(file) for file in normalize_files(files)] == decoded(expect["ok"])


@pytest.mark.parametrize(
    "files",
    ["a.txt", {"path": "a"}, 5, [5], [{"path": "a", "bytes": [1, 2]}], [{"path": "a", "bytes": "text"}]],
)
def test_what_is_no_list_of_files_is_refused(files):
    with pytest.raises(InvalidOptionError):
        normalize_files(files)


def test_given_both_bytes_decide_and_a_text_has_no_media_type():
    both = normalize_files([FileInput("a", text="no", bytes=b"yes", media_type="image/png")])
    assert (both[0].kind, both[0].data, both[0].media_type) == ("binary", b"yes", "image/png")
    text = normalize_files([{"path": "a", "text": "x", "media_type": "text/csv"}])
    assert text[0].media_type is None


def test_one_path_as_text_and_as_bytes_is_refused_and_case_differs():
    with pytest.raises(InvalidOptionError, match="twice"):
        normalize_files([FileInput("a", text="1"), FileInput("a/", bytes=b"1")])
    assert len(normalize_files([FileInput("a", text="1"), FileInput("A", text="1")])) == 2
