from __future__ import annotations

import asyncio
import base64
from types import SimpleNamespace

import pytest

from runcell_nb.core.builtin_tools import BUILTIN_TOOLS, RESERVED_NAMES, ToolWorkspace
from runcell_nb.core.changes import WorkspaceWatch
from runcell_nb.core.messages import ImageBlock, TextBlock
from runcell_nb.core.outcome import Change, ToolFailure
from runcell_nb.core.output_text import MAX_OUTPUT_CHARS
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.core.search_patterns import regular_expression
from tests.conformance import cases

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
async def box():
    """A sandbox with a way to call tools in it."""
    async with create_sandbox() as sandbox:
        workspace = ToolWorkspace(sandbox, WorkspaceWatch(sandbox))

        async def call(name, /, **arguments):
            return await BUILTIN_TOOLS[name].execute(arguments, workspace)

        async def text(name, /, **arguments):
            return (await call(name, **arguments)).output

        async def put(**files):
            for path, content in files.items():
                await sandbox.write_file(path, content)

        yield SimpleNamespace(sandbox=sandbox, call=call, text=text, put=put, workspace=workspace)


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "builtin_tool"))
async def test_builtin_tool_cases(box, given, expect):
    await box.put(**given["files"])
    wanted = expect.get("ok", expect)
    try:
        outcome = await box.call(given["tool"], **given["args"])
    except ToolFailure as failure:
        assert expect.get("tool_error") and str(failure)
        assert wanted["changes"] == []
    else:
        assert not expect.get("tool_error")
        text = outcome.content[0].text
        assert text == wanted.get("text", text)
        assert text.splitlines() == wanted.get("lines", text.splitlines())
        assert all(fragment in text for fragment in wanted.get("text_has", []))
        assert not any(fragment in text for fragment in wanted.get("text_not_has", []))
        assert text
        told = [{"event": change.kind, "path": change.path} for change in outcome.changes]
        assert told == wanted["changes"]
    for path, content in wanted.get("files", {}).items():
        assert await box.sandbox.read_text_file(path) == content


def test_the_tools_and_their_names():
    assert list(BUILTIN_TOOLS) == ["read", "write", "edit", "bash", "grep", "glob", "ls"]
    assert {*BUILTIN_TOOLS, "submitResult", "fileChange"} == RESERVED_NAMES
    assert [name for name, tool in BUILTIN_TOOLS.items() if tool.serial] == ["write", "edit", "bash"]
    for name, tool in BUILTIN_TOOLS.items():
        assert tool.spec.name == name
        assert tool.spec.parameters["type"] == "object"
        assert tool.spec.parameters["additionalProperties"] is False
        assert all(described["description"] for described in tool.spec.parameters["properties"].values())


PATH_ARGUMENTS = [
    ("read", {}, "file_path"),
    ("write", {"content": "x"}, "file_path"),
    ("edit", {"old_string": "a", "new_string": "b"}, "file_path"),
    ("grep", {"pattern": "x"}, "path"),
    ("glob", {"pattern": "*"}, "path"),
    ("ls", {}, "path"),
]


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../b", "C:/x", "a\\b", "/workspace/../x", "//x"]
)
@pytest.mark.parametrize(("tool", "arguments", "name"), PATH_ARGUMENTS)
async def test_a_path_that_escapes_is_a_tool_error(box, tool, arguments, name, path):
    with pytest.raises(ToolFailure, match="Unsafe workspace path"):
        await box.call(tool, **arguments, **{name: path})


@pytest.mark.parametrize(("tool", "arguments", "name"), PATH_ARGUMENTS)
async def test_a_link_that_leads_outside_is_a_tool_error(box, tool, arguments, name, tmp_path):
    (tmp_path / "secret").write_text("a canary x")
    box.sandbox._session.resolve("").joinpath("out").symlink_to(tmp_path)
    with pytest.raises(ToolFailure):
        await box.call(tool, **arguments, **{name: "out/secret" if name == "file_path" else "out"})
    assert (tmp_path / "secret").read_text() == "a canary x"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("read", {}, "file_path: Field required"),
        ("read", {"file_path": 5}, "file_path: Input should be a valid string"),
        ("write", {"file_path": None, "content": 1}, "file_path: .*; content: "),
        ("bash", {"command": "true", "timeout": True}, "timeout: "),
        ("bash", {"command": "true", "timeout": "5"}, "timeout: "),
        ("bash", {"command": "true", "timeout": 0}, "timeout: "),
        ("bash", {"command": "true", "timeout": float("nan")}, "timeout: "),
        ("bash", {"command": "", "timeout": 1}, "command: "),
        ("grep", {"pattern": "x", "limit": 1.5}, "limit: "),
        ("grep", {"pattern": "x", "case_insensitive": True}, "case_insensitive: "),
        (
            "edit",
            {"file_path": "a", "old_string": "a", "new_string": "b", "replace_all": "yes"},
            "replace_all: ",
        ),
    ],
)
async def test_wrong_arguments_are_listed_and_nothing_is_done(box, tool, arguments, message):
    with pytest.raises(ToolFailure, match=message):
        await box.call(tool, **arguments)
    assert await box.sandbox.list_files() == []


async def test_null_stands_for_what_was_left_out(box):
    await box.put(a="1\n2\n")
    assert await box.text("read", file_path="a", offset=None, limit=None) == "1\n2\n"


async def test_the_absolute_place_of_the_workspace_is_understood(box):
    await box.call("write", file_path="/workspace/d/a.txt", content="1")
    assert await box.text("read", file_path="/workspace/d/a.txt") == "1"
    assert await box.text("ls", path="/workspace") == "d/"
    assert await box.text("ls", path="/workspace/d/") == "a.txt"
    with pytest.raises(ToolFailure):
        await box.text("ls", path="/workspace2")


# read


async def test_read_says_what_is_not_a_text_file(box):
    await box.put(**{"d/a": "1", "b": b"\x7fELF\0\0"})
    for path, said in [
        ("d", "folder"),
        ("b", "binary"),
        ("no", "no file"),
        (".", "folder"),
        ("d/no", "no file"),
    ]:
        with pytest.raises(ToolFailure, match=said):
            await box.call("read", file_path=path)


async def test_read_gives_lines_as_they_are_and_says_how_to_read_on(box):
    await box.put(a="one\r\ntwo\n\nfour")
    assert await box.text("read", file_path="a") == "one\r\ntwo\n\nfour"
    assert await box.text("read", file_path="a", offset=3) == "\nfour"
    part = await box.text("read", file_path="a", offset=2, limit=2)
    assert part == "two\n\n[lines 2-3 of 4; read on with offset=4]"
    with pytest.raises(ToolFailure, match="4 lines"):
        await box.call("read", file_path="a", offset=5)


async def test_reading_on_as_told_gives_the_whole_file(box):
    whole = "".join(f"{number} {'x' * (number % 90)}\n" for number in range(6000))
    await box.put(a=whole)
    read, offset = "", 1
    while offset:
        part, _, rest = (await box.text("read", file_path="a", offset=offset)).partition("[lines ")
        read, offset = read + part, int(rest.split("offset=")[1].rstrip("]")) if rest else 0
        assert len(part) <= 50_000
    assert read == whole


async def test_a_line_too_long_is_cut_and_said_so(box):
    await box.put(a="x" * 60_000 + "\nend\n")
    text = await box.text("read", file_path="a")
    assert "line 1 of 2 is cut at 50000 of 60001 characters" in text
    assert await box.text("read", file_path="a", offset=2) == "end\n"


async def test_text_that_is_not_utf8_and_an_empty_file_can_be_read(box):
    await box.put(a=b"caf\xe9", b="")
    assert await box.text("read", file_path="a") == "caf\ufffd"
    assert await box.text("read", file_path="b") == "(empty file)"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 jpeg", "image/jpeg"),
        (b"GIF89a gif", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_an_image_is_shown_as_an_image(box, data, media_type):
    await box.put(picture=data)
    outcome = await box.call("read", file_path="picture")
    said, image = outcome.content
    assert isinstance(said, TextBlock) and isinstance(image, ImageBlock)
    assert (image.media_type, base64.b64decode(image.data)) == (media_type, data)
    assert outcome.output[1] == {"type": "image", "data": image.data, "mediaType": media_type}


async def test_an_image_past_the_limit_is_a_tool_error(box):
    limit = 5 * 1024 * 1024
    await box.put(fits=PNG.ljust(limit, b"\0"), big=PNG.ljust(limit + 1, b"\0"))
    assert len((await box.call("read", file_path="fits")).content) == 2
    with pytest.raises(ToolFailure, match=str(limit + 1)):
        await box.call("read", file_path="big")


# write and edit


async def test_write_tells_create_or_modify_with_what_was_there(box):
    assert (await box.call("write", file_path="a", content="é")).changes == (Change("a", "create"),)
    assert (await box.call("write", file_path="a", content="é")).changes == (
        Change("a", "modify", b"\xc3\xa9"),
    )
    await box.put(empty="")
    assert (await box.call("write", file_path="empty", content="")).changes == (
        Change("empty", "modify", b""),
    )


async def test_what_write_and_edit_told_is_not_told_again(box):
    await box.call("write", file_path="a", content="one")
    await box.call("edit", file_path="a", old_string="one", new_string="two")
    assert await box.workspace.watch.changes() == []
    assert (await box.call("bash", command="true")).changes == ()


@pytest.mark.parametrize("path", [".runcell/a", ".runcell", ".", "d", "a/below"])
async def test_write_refuses_what_cannot_or_must_not_be_written(box, path):
    await box.put(**{"d/x": "1", "a": "1"})
    with pytest.raises(ToolFailure):
        await box.call("write", file_path=path, content="x")
    assert [info.path for info in await box.sandbox.list_files()] == ["a", "d/x"]


async def test_edit_takes_its_texts_literally(box):
    await box.put(a="x.y $& \\1 (z)\n")
    outcome = await box.call("edit", file_path="a", old_string=".y $& \\1 (z)", new_string="$& \\g<0> $1")
    assert await box.sandbox.read_text_file("a") == "x$& \\g<0> $1\n"
    assert outcome.changes == (Change("a", "modify", b"x.y $& \\1 (z)\n"),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("no", "x", "0 times"), ("ab", "x", "3 times"), ("", "x", "empty"), ("ab", "ab", "the same")],
)
async def test_edit_says_how_many_and_leaves_the_file(box, old, new, said):
    await box.put(a="ab ab ab")
    with pytest.raises(ToolFailure, match=said):
        await box.call("edit", file_path="a", old_string=old, new_string=new)
    assert await box.sandbox.read_text_file("a") == "ab ab ab"


async def test_edit_replaces_all_when_told(box):
    await box.put(a="ab ab ab")
    await box.call("edit", file_path="a", old_string="ab", new_string="", replace_all=True)
    assert await box.sandbox.read_text_file("a") == "  "


async def test_edit_keeps_line_ends_and_refuses_what_is_no_text(box):
    await box.put(a="one\r\ntwo\r\nthree\r\n", b=b"\xff\xfeone")
    await box.call("edit", file_path="a", old_string="one\ntwo", new_string="1\n2")
    assert await box.sandbox.read_file("a") == b"1\r\n2\r\nthree\r\n"
    with pytest.raises(ToolFailure, match="UTF-8"):
        await box.call("edit", file_path="b", old_string="one", new_string="two")


# bash


async def test_bash_gives_both_streams_the_exit_code_and_what_changed(box):
    await box.put(old="1", gone="2", touched="3")
    command = "printf out; printf err >&2; echo 4 > new; echo 5 >> old; rm gone; touch touched; exit 3"
    outcome = await box.call("bash", command=command)
    assert outcome.output == "out\nerr\n(exit 3)"
    assert (outcome.exit_code, outcome.is_error) == (3, False)
    assert outcome.changes == (
        Change("gone", "delete", b"2"),
        Change("new", "create"),
        Change("old", "modify", b"1"),
    )
    assert await box.text("bash", command="true") == "(no output)"


async def test_bash_past_its_timeout_keeps_output_and_changes(box):
    outcome = await box.call("bash", command="echo kept; echo 1 > a; sleep 30", timeout=0.3)
    assert outcome.output.startswith("kept\n") and "0.3 s" in outcome.output
    assert outcome.output.endswith("(exit 124)")
    assert outcome.changes == (Change("a", "create"),)


async def test_long_output_is_cut_in_the_middle_and_kept_whole(box):
    command = "seq 20000; echo the end"
    text = await box.text("bash", command=command)
    whole = "".join(f"{n}\n" for n in range(1, 20001)) + "the end\n"
    assert text.startswith("1\n2\n") and text.endswith("20000\nthe end\n")
    assert f"{len(whole) - MAX_OUTPUT_CHARS} of {len(whole)} characters" in text
    assert await box.sandbox.read_text_file(".runcell/outputs/1.txt") == whole
    assert "[lines 1-2000 of 20001" in await box.text("read", file_path=".runcell/outputs/1.txt")
    assert (await box.text("grep", path=".runcell/outputs/1.txt", pattern="^the")).endswith(":20001:the end")
    assert await box.sandbox.list_files() == []


# ls and glob


async def test_ls_shows_dot_files_and_hides_our_state(box):
    await box.put(**{".env": "1", "b": "1", "A": "1", "a/x": "1", ".runcell/x": "1"})
    assert await box.text("ls") == ".env\nA\na/\nb"
    await box.sandbox.exec("mkdir empty")
    assert await box.text("ls", path="empty") == "(empty folder)"
    with pytest.raises(ToolFailure, match="'b'"):
        await box.call("ls", path="b")


async def test_ls_and_glob_stop_at_their_limits_and_say_so(box):
    await box.sandbox.exec("for i in $(seq 1001); do : > f$i; done", timeout=60)
    assert (await box.text("ls")).splitlines()[500:] == ["[500 of 1001 names shown]"]
    assert (await box.text("glob", pattern="*")).splitlines()[1000:] == ["[1000 of 1001 files shown]"]


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", ".", ["b.py"]),
        ("**/*.py", ".", ["b.py", "src/A.py", "src/deep/c.py"]),
        ("*.py", "src", ["src/A.py"]),
        ("**/*.{py,md}", "src", ["src/A.py", "src/deep/c.py", "src/r.md"]),
        ("src/?.[a-z]*", ".", ["src/A.py", "src/r.md"]),
        ("**/.*", ".", [".env"]),
        ("src", ".", None),
        ("**/deep/**", ".", ["src/deep/c.py"]),
    ],
)
async def test_glob_matches_files_on_their_path(box, pattern, path, found):
    names = ["b.py", "src/A.py", "src/deep/c.py", "src/r.md", ".env", ".runcell/hidden.py"]
    await box.put(**dict.fromkeys(names, "1"))
    text = await box.text("glob", pattern=pattern, path=path)
    assert text.splitlines() == found if found else text.startswith("No files match")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*", "{1..100000}", "{a,b}" * 50])
async def test_glob_refuses_patterns_that_lead_outside_or_explode(box, pattern):
    with pytest.raises(ToolFailure, match="pattern"):
        await box.call("glob", pattern=pattern)


@pytest.mark.parametrize("tool", ["glob", "grep"])
async def test_searching_a_missing_folder_is_a_tool_error(box, tool):
    with pytest.raises(ToolFailure, match="'missing'"):
        await box.call(tool, pattern="x", path="missing")


# grep


async def test_grep_options(box):
    await box.put(**{"a.txt": "one\nTwo\nthree\nfour\n", "src/b.py": "two.\r\ntwo!\n", "bin": b"two\0"})
    assert await box.text("grep", pattern="two") == "src/b.py:1:two.\nsrc/b.py:2:two!"
    assert await box.text("grep", pattern="two", ignore_case=True, glob="*.txt") == "a.txt:2:Two"
    assert await box.text("grep", pattern="two.", literal=True) == "src/b.py:1:two."
    assert await box.text("grep", pattern="TWO.", literal=True, ignore_case=True) == "src/b.py:1:two."
    assert await box.text("grep", pattern="^t", path="a.txt") == "a.txt:3:three"
    assert await box.text("grep", pattern="o", glob="src/*") == "src/b.py:1:two.\nsrc/b.py:2:two!"
    assert await box.text("grep", pattern="Two", context=1) == "a.txt-1-one\na.txt:2:Two\na.txt-3-three"
    assert "Set literal" in str(
        (await asyncio.gather(box.call("grep", pattern="("), return_exceptions=True))[0]
    )


async def test_grep_groups_with_context_are_set_apart(box):
    await box.put(a="hit\n2\n3\n4\nhit\n6\nhit\n", b="hit\n")
    text = await box.text("grep", pattern="hit", context=1)
    assert text.splitlines() == [
        "a:1:hit",
        "a-2-2",
        "--",
        "a-4-4",
        "a:5:hit",
        "a-6-6",
        "a:7:hit",
        "--",
        "b:1:hit",
    ]


async def test_grep_stops_at_its_limit_and_cuts_long_lines(box):
    await box.put(a="hit\n" * 101, b="x" * 5000 + "needle" + "y" * 5000)
    text = await box.text("grep", pattern="hit")
    assert text.splitlines()[99:] == [
        "a:100:hit",
        "[stopped after 100 hits; narrow the search or raise limit]",
    ]
    assert len((await box.text("grep", pattern="hit", limit=101)).splitlines()) == 101
    cut = await box.text("grep", pattern="needle")
    assert "needle" in cut and len(cut) < 700 and "10006 characters" in cut


async def turns_of_the_loop_during(task):
    """How often the event loop came round before the task was done."""
    turns = 0
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    return turns


@pytest.mark.parametrize("pattern", ["(a?){90}a{90}b", "(?=((a+)+b))"])
async def test_a_pattern_that_matches_for_ever_is_stopped_and_the_loop_runs_on(box, pattern):
    await box.put(a="a" * 1_000_000 + "\n")
    task = asyncio.create_task(box.call("grep", pattern=pattern))
    assert await turns_of_the_loop_during(task) > 50
    with pytest.raises(ToolFailure, match="takes too long"):
        await task


async def test_a_file_pattern_that_matches_for_ever_is_stopped_and_the_loop_runs_on(box):
    await box.put(**{"b/" * 120 + "y": "1"})
    task = asyncio.create_task(box.call("glob", pattern="**/*b/" * 60 + "z"))
    assert await turns_of_the_loop_during(task) > 50
    with pytest.raises(ToolFailure, match="takes too long"):
        await task


@pytest.mark.parametrize("pattern", ["a{1000000000}", "(?:(?:a{1000}){1000}){1000}", "(a{0,200}){200}"])
async def test_a_pattern_that_would_grow_for_ever_is_not_compiled(box, pattern):
    with pytest.raises(ToolFailure, match="repeats too much"):
        await box.call("grep", pattern=pattern)


@pytest.mark.parametrize("pattern", ["(?R)?a", "(?P<x>(?&x)?a)", "((?1)?a)", "(?P<x>(?P>x)?a)"])
async def test_a_pattern_that_calls_itself_is_refused(box, pattern):
    with pytest.raises(ToolFailure, match="calls itself"):
        await box.call("grep", pattern=pattern)


@pytest.mark.parametrize("pattern", ["(" * 900, "(" * 400 + ")" * 400, "[" * 900, "a" * 1001])
async def test_a_pattern_too_deep_or_long_is_a_tool_error(box, pattern):
    await box.put(a="x")
    try:
        await box.call("grep", pattern=pattern)
    except ToolFailure as failure:
        assert "pattern" in str(failure)


async def test_cancelling_a_search_ends_it(box, monkeypatch):
    looked_at = []
    monkeypatch.setattr(
        "runcell_nb.core.search_tools.literal_pattern", lambda *_: lambda line: looked_at.append(line)
    )
    await box.put(a="x\n" * 2_000_000)
    task = asyncio.create_task(box.call("grep", pattern="x", literal=True))
    while not looked_at:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    seen = len(looked_at)
    await asyncio.sleep(0.05)
    assert len(looked_at) == seen < 2_000_000


@pytest.mark.parametrize(
    "pattern",
    [
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        r"\d{4}-\d{2}-\d{2}T(\d{2}:){2}\d{2}",
        ".{0,100}foo.{0,100}bar.{,100}baz.{100,}",
        r"[{}]{3}\{2000000\}[]{99999999}]",
    ],
)
def test_ordinary_counted_repeats_are_taken(pattern):
    assert regular_expression(pattern, ignore_case=False)("nothing") is None


async def test_files_too_large_to_search_are_counted(box):
    await box.put(a="hit\n", big="hit\n" * (5 * 1024 * 1024))
    text = await box.text("grep", pattern="hit")
    assert text.splitlines()[0] == "a:1:hit"
    assert "[1 files larger than" in text
