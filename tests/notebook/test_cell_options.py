from __future__ import annotations

import dataclasses

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.notebook.cell_options import CellOptions, parse_cell_options
from runcell_nb.notebook.option_line import OPTIONS


def test_every_option():
    line = (
        "-m ollama/llama3 -t plan --sandbox data --schema Invoice --in df notes.txt --in 'my file.csv' "
        "--out r --tools f,g h --thinking high --max-repairs 0 --max-cost 0.5 --max-tokens 10_000 "
        "--max-requests 7 --max-seconds 2.5 --fresh --background --quiet"
    )
    assert parse_cell_options(line) == CellOptions(
        model="ollama/llama3",
        thread="plan",
        sandbox="data",
        schema="Invoice",
        inputs=("df", "notes.txt", "my file.csv"),
        out="r",
        tools=("f", "g", "h"),
        thinking="high",
        max_repairs=0,
        max_cost=0.5,
        max_tokens=10_000,
        max_requests=7,
        max_seconds=2.5,
        fresh=True,
        background=True,
        quiet=True,
    )
    assert parse_cell_options("") == CellOptions()


def test_the_table_of_options_is_the_fields():
    assert [option.name for option in OPTIONS] == [field.name for field in dataclasses.fields(CellOptions)]


def test_values_may_be_glued_to_long_options():
    assert parse_cell_options("--model=x/y --in=top=df[1:] --max-cost=.5") == CellOptions(
        model="x/y", inputs=("top=df[1:]",), max_cost=0.5
    )


def test_nothing_in_the_line_is_expanded():
    options = parse_cell_options("-m {1/0} --in $HOME `ls`,!ls")
    assert options.model == "{1/0}"
    assert options.inputs == ("$HOME", "`ls`", "!ls")


@pytest.mark.parametrize(
    ("typed", "inputs"),
    [
        ("a,b", ("a", "b")),
        ("'top=df.head(1, 2)' b", ("top=df.head(1, 2)", "b")),
        ("x.parquet=f(a,b)", ("x.parquet=f(a,b)",)),
        ("a, b,", ("a", "b")),
        ("'my file.csv' --quiet --in c", ("my file.csv", "c")),
    ],
)
def test_inputs_may_be_joined_by_commas_which_an_expression_keeps(typed, inputs):
    assert parse_cell_options(f"--in {typed}").inputs == inputs


FREE = "the name of a variable that Python and IPython do not use themselves"
LEVELS = "off, minimal, low, medium, high, xhigh"
OUT = "--out takes the name of a variable that Python and IPython do not use themselves"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--modle x", "unknown option '--modle' (did you mean --model?); see %%runcell?."),
        ("--max-second=3", "unknown option '--max-second' (did you mean --max-seconds?); see %%runcell?."),
        ("--zzz", "unknown option '--zzz'; see %%runcell?."),
        ("--fresh -x", "unknown option '-x'; see %%runcell?."),
        ("stray", "'stray' is no option; the prompt starts on the next line."),
        ("--fresh stray", "'stray' is no option; the prompt starts on the next line."),
        ("-m a b", "'b' is no option; the prompt starts on the next line."),
        ("--approve ask", "the option --approve is not available in this version; see %%runcell?."),
        ("--approve=ask", "the option --approve is not available in this version; see %%runcell?."),
        ("--model", "--model needs a value: --model MODEL."),
        ("-m --quiet", "--model needs a value: --model MODEL."),
        ("-t ''", "--thread needs a value: --thread THREAD."),
        ("-t ' '", "--thread needs a value: --thread THREAD."),
        ("--in a --in", "--in needs a value: --in NAME."),
        ("--in , --quiet", "--in needs a value: --in NAME."),
        ("--tools", "--tools needs a value: --tools NAME."),
        ("-m a --model b", "--model is given twice; keep one."),
        ("--quiet --quiet", "--quiet is given twice; keep one."),
        ("--fresh=yes", "--fresh takes no value, got 'yes'."),
        ("--out 1x", f"--out takes {FREE}, got '1x'."),
        ("--out class", f"--out takes {FREE}, got 'class'."),
        ("--schema a.b", "--schema takes the name of a type of the notebook, got 'a.b'."),
        ("--thinking hihg", f"--thinking takes one of {LEVELS}, got 'hihg' (did you mean high?)."),
        ("--thinking lots", f"--thinking takes one of {LEVELS}, got 'lots'."),
        ("--max-repairs -1", "--max-repairs takes a whole number from 0, got '-1'."),
        ("--max-requests 0", "--max-requests takes a whole number from 1, got '0'."),
        ("--max-tokens 1.5", "--max-tokens takes a whole number from 1, got '1.5'."),
        ("--max-cost $5", "--max-cost takes a positive number of US dollars, got '$5'."),
        ("--max-cost -.5", "--max-cost takes a positive number of US dollars, got '-.5'."),
        ("--max-cost nan", "--max-cost takes a positive number of US dollars, got 'nan'."),
        ("--max-seconds soon", "--max-seconds takes a positive number of seconds, got 'soon'."),
        ("--max-seconds inf", "--max-seconds takes a positive number of seconds, got 'inf'."),
    ],
)
def test_bad_options_are_one_sentence_that_names_the_value(line, said):
    with pytest.raises(InvalidOptionError) as caught:
        parse_cell_options(line)
    assert str(caught.value) == f"%%runcell: {said}"


@pytest.mark.parametrize(
    ("line", "said"), [("--in 'open", "no closing quotation"), ("--in open\\", "no escaped character")]
)
def test_an_open_quote_is_one_sentence(line, said):
    with pytest.raises(InvalidOptionError, match=said):
        parse_cell_options(line)
