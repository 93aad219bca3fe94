from __future__ import annotations

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.notebook.cell_options import CellOptions, parse_cell_options


def test_every_option():
    line = "-m ollama/llama3 --in df notes.txt --in 'my file.csv' --out r --tools f,g h --max-seconds 2.5"
    assert parse_cell_options(line) == CellOptions(
        "ollama/llama3", ("df", "notes.txt", "my file.csv"), "r", ("f", "g", "h"), 2.5
    )
    assert parse_cell_options("") == CellOptions()


def test_nothing_in_the_line_is_expanded():
    assert parse_cell_options("-m {1/0} --in $HOME").inputs == ("$HOME",)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--modle x", r"--modle.*did you mean --model"),
        ("--nothing", "--nothing"),
        ("stray", "'stray' is no option; the prompt starts on the next line"),
        ("--schema Invoice", "--schema is not available in this version"),
        ("--quiet", "--quiet is not available"),
        ("--model", "--model"),
        ("--out 1x", "1x"),
        ("--out class", "class"),
        ("--max-seconds soon", "soon"),
        ("--in 'open", "no closing quotation"),
        ("--in open\\", "no escaped character"),
    ],
)
def test_bad_options_are_one_sentence_that_names_the_value(line, said):
    with pytest.raises(InvalidOptionError, match=said) as caught:
        parse_cell_options(line)
    assert "\n" not in str(caught.value)
