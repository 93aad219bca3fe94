from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runcell_nb.sandboxes import private_folder
from runcell_nb.sandboxes.private_folder import new_private_folder

OWNER = """
import sys, time
from runcell_nb.sandboxes.private_folder import new_private_folder
folder = new_private_folder()
print(folder.path, flush=True)
sys.stdin.read()
"""


def other_process():
    """A process that owns a private folder until its input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, Path(process.stdout.readline().strip())


def aged(folder):
    old = time.time() - 3600
    os.utime(folder, (old, old))


def test_a_folder_is_private_and_goes_when_told():
    folder = new_private_folder()
    (folder.path / "deep" / "er").mkdir(parents=True)
    (folder.path / "deep" / "er" / "a").write_text("1")
    assert folder.path.stat().st_mode & 0o077 == 0
    folder.remove()
    folder.remove()
    assert not folder.path.exists()


def test_a_forgotten_folder_goes_with_its_owner():
    folder = new_private_folder()
    path = folder.path
    del folder
    gc.collect()
    assert not path.exists()


def test_a_folder_that_a_command_has_closed_goes_too():
    folder = new_private_folder()
    inner = folder.path / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "a").write_text("1")
    inner.chmod(0)
    inner.parent.chmod(0)
    folder.remove()
    assert not folder.path.exists()


def test_the_folder_of_a_process_goes_when_it_ends():
    process, path = other_process()
    assert path.exists()
    process.communicate()
    assert not path.parent.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_folder_of_a_killed_process_is_swept_and_that_of_a_live_one_stays():
    killed, lost = other_process()
    alive, kept = other_process()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert lost.exists()
    aged(lost.parent)
    aged(kept.parent)
    new_private_folder().remove()
    assert not lost.parent.exists()
    assert kept.exists()
    alive.communicate()
    assert not kept.parent.exists()


def test_what_only_looks_like_one_is_left_alone():
    base = private_folder._base()
    for name, content in (("runcell-notes", "mine.txt"), ("runcellnotes", "lock")):
        (base / name).mkdir()
        (base / name / content).write_text("1")
        aged(base / name)
    try:
        new_private_folder().remove()
        assert (base / "runcell-notes" / "mine.txt").exists()
        assert (base / "runcellnotes" / "lock").exists()
    finally:
        for name in ("runcell-notes", "runcellnotes"):
            private_folder._remove_tree(base / name, os.getpid())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_leaves_its_parents_folders_alone():
    code = """
import os, sys
from runcell_nb.sandboxes.private_folder import new_private_folder
folder = new_private_folder()
child = os.fork()
if child == 0:
    own = new_private_folder()
    assert own.path.parent != folder.path.parent
    sys.exit(0)
_, status = os.waitpid(child, 0)
print(status, folder.path.exists())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"
