from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.notebook.cell_transform import rewrite_runcell_cell

LITERAL = [
    "{braces} $HOME !ls %magic ?help",
    ">>> looks like a prompt\nIn [1]: so does this",
    '$$\\int x$$ and \\n and \'quotes\' and """more"""',
    '{"json": [1, 2]}',
    "  indented\n\n\ttabbed  ",
    "%%runcell\nnested",
    "",
    "ünïcödé 🦀 \u202e",
]


def arguments_of(cell: str):
    """What the rewritten cell passes on, read by Python's own parser."""
    (line,) = rewrite_runcell_cell(cell.splitlines(keepends=True))
    call = ast.parse(line, mode="exec", type_comments=False).body[0].value.value
    return [ast.literal_eval(argument) for argument in call.args]


@pytest.mark.parametrize("prompt", LITERAL)
def test_the_prompt_arrives_as_typed(prompt):
    assert arguments_of(f"%%runcell --out r\n{prompt}\n") == ["--out r", prompt]


@given(
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
    )
)
def test_any_prompt_arrives_as_typed(prompt):
    assert arguments_of(f"%%runcell\n{prompt}\n") == ["", prompt]


def test_leading_blank_lines_and_trailing_blanks_do_not_matter():
    assert arguments_of("\n  \n%%runcell  -m x  \nhi\n") == ["-m x", "hi"]
    assert arguments_of("%%runcell") == ["", ""]


@pytest.mark.parametrize(
    "cell",
    ["", "\n", "x = 1\n", "%%runcells\nhi\n", "%runcell model\n", "  %%runcell\nhi\n", "# %%runcell\n"],
)
def test_other_cells_are_left_alone(cell):
    lines = cell.splitlines(keepends=True)
    assert rewrite_runcell_cell(lines) == lines
