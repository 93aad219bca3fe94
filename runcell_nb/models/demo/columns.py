"""Columns of a CSV file, reckoned by awk in the sandbox: its small `python3` has no csv module."""

from __future__ import annotations

import re
from shlex import quote

from .slots import Name
from .work import Asked, Said, Stop, Work, counted, looked, shell, word

# Cells in quotes may hold commas and doubled quotes, but no line break. `want` may also be a column's number.
_AWK = r"""
function cells(line,   i, c, n, quoted, cell) {
  if (index(line, "\"") == 0) return split(line, row, sep)
  n = 0; cell = ""; quoted = 0
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { cell = cell c; i++ }
    else if (c == "\"") quoted = !quoted
    else if (c == sep && !quoted) { row[++n] = cell; cell = "" }
    else cell = cell c
  }
  row[++n] = cell
  return n
}
function bare(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return tolower(text) }
BEGIN { want = bare(ENVIRON["COLUMN"]); low = "" }
{ sub(/\r$/, "") }
NR == 1 {
  sep = ","
  if (index($0, ",") == 0) { if (index($0, ";") > 0) sep = ";"; else if (index($0, "\t") > 0) sep = "\t" }
  n = cells($0); names = ""
  for (i = 1; i <= n; i++) {
    name = bare(row[i]); names = names (i > 1 ? ", " : "") row[i]
    if (name == want) { col = i; shown = row[i] }
    else if (!col && (name "s" == want || name == want "s")) { near = i; nearname = row[i] }
  }
  if (!col && near) { col = near; shown = nearname }
  if (!col && want ~ /^[0-9]+$/ && want >= 1 && want <= n) { col = want + 0; shown = row[col] }
  next
}
/^[ \t]*$/ { next }
col {
  n = cells($0); value = (col <= n ? row[col] : ""); gsub(/^[ \t]+|[ \t]+$/, "", value)
  if (value == "") { empty++; next }
  if (value !~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/) { if (!bad) first = value; bad++; next }
  value += 0; sum += value; count++
  if (count == 1 || value < low) low = value
  if (count == 1 || value > high) high = value
}
END {
  if (!col) { print "columns"; print names; exit }
  print "column"; print shown; print count + 0; print bad + 0; print empty + 0; print first
  if (count) printf "%.15g\n%.15g\n%.15g\n%.15g\n", sum, sum / count, high, low
}
"""

MEASURES = {"sum": 0, "average": 1, "maximum": 2, "minimum": 3}
"""What `column` reckons, and where its awk program prints it."""


def _reckoned(path: str, column: str) -> Asked:
    return shell(f"COLUMN={quote(column)} awk {quote(_AWK.strip())} < {word(path)}")


def column(name: Name, wanted: str, measure: str) -> Work:
    """Reckon the sum, average, maximum or minimum of a column, named by its header in any case."""
    path, reply = yield from looked(name, lambda path: _reckoned(path, wanted))
    kind, *lines = reply.text.splitlines() or [""]
    if kind != "column":
        there = ", ".join(lines).strip()
        raise Stop(
            f"{path} has no column {wanted!r}. " + (f"Its columns: {there}." if there else "It is empty.")
        )
    shown, count, bad, empty, first, *values = lines
    if not values:
        why = f"it holds, for example, {first!r}" if int(bad) else "it is empty"
        raise Stop(f"The column {shown} of {path} has no numbers: {why}.")
    value = values[MEASURES[measure]]
    left_out = _left_out(int(bad), int(empty), first)
    return Said(
        f"The {measure} of {shown} in {path} is {value} ({counted(int(count), 'number')}{left_out}).", value
    )


def _left_out(bad: int, empty: int, first: str) -> str:
    """Say which cells are not in the figure."""
    cells = [f"{counted(bad, 'cell')} without a number, such as {first!r}"] if bad else []
    cells += [counted(empty, "empty cell")] if empty else []
    return f"; left out: {' and '.join(cells)}" if cells else ""


def columns(name: Name) -> Work:
    """Tell the columns of a CSV file."""
    path, reply = yield from looked(name, lambda path: _reckoned(path, "\x1f"))
    lines = reply.text.splitlines()
    if len(lines) < 2:
        raise Stop(f"{path} is empty.")
    return Said(f"The columns of {path}: {lines[1]}.", lines[1])


def column_of_the_table(wanted: str, measure: str) -> Work:
    """Reckon a column of the only CSV file that is here.

    Raises:
        Stop: There is none, or there are several.
    """
    reply = yield from shell("find . -type f -name '*.csv' -not -path './.runcell/*' | sort | head -n 20")
    paths = [line.removeprefix("./") for line in reply.text.splitlines() if line.startswith("./")]
    if not paths:
        raise Stop("Which file? There is no CSV file here.")
    if len(paths) > 1:
        raise Stop(f"Which file? Here are: {', '.join(paths)}.")
    return (yield from column(Name(paths[0]), wanted, measure))


def is_table(path: str) -> bool:
    """Tell whether a file has a header by its name."""
    return bool(re.search(r"\.(?:csv|tsv)$", path, re.I))
