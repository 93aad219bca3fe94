"""The lock of a sandbox's key: fair, on several event loops at once, never a wait without end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.key_lock import KeyLock
from runcell_nb.core.sync_bridge import run_blocking

PATIENCE = 30


def on_other_loops(work: Callable[[int], Coroutine[Any, Any, object]], count: int) -> None:
    """Run work on event loops of threads of their own, to the end."""
    threads = [threading.Thread(target=lambda n=n: asyncio.run(work(n)), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)


def test_one_holder_at_a_time_on_several_loops() -> None:
    lock = KeyLock()
    inside, most, done = 0, 0, 0

    async def hold() -> None:
        nonlocal inside, most, done
        await lock.acquire("k")
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1
        done += 1
        lock.release()

    async def work(_: int) -> None:
        await asyncio.gather(*(hold() for _ in range(25)))

    on_other_loops(work, 4)
    assert (most, done, inside) == (1, 100, 0)


async def test_the_line_is_kept_across_loops() -> None:
    lock = KeyLock()
    order: list[str] = []
    await lock.acquire("k")

    async def hold(name: str) -> None:
        await lock.acquire("k")
        order.append(name)
        lock.release()

    async def in_line(count: int) -> None:
        while len(lock._line) < count:
            await asyncio.sleep(0.001)

    other = asyncio.create_task(asyncio.to_thread(asyncio.run, hold("other loop")))
    await in_line(1)
    here = asyncio.create_task(hold("this loop"))
    await in_line(2)
    lock.release()
    await asyncio.wait_for(asyncio.gather(other, here), PATIENCE)
    assert order == ["other loop", "this loop"]


async def test_who_gives_up_is_passed_over() -> None:
    lock = KeyLock()
    await lock.acquire("k")
    first, second = (asyncio.create_task(lock.acquire("k")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    lock.release()
    await asyncio.wait_for(second, PATIENCE)


async def test_who_gives_up_as_the_lock_comes_passes_it_on() -> None:
    lock = KeyLock()
    await lock.acquire("k")
    first, second = (asyncio.create_task(lock.acquire("k")) for _ in range(2))
    await asyncio.sleep(0)
    lock.release()  # the first has it now, but has not been woken
    first.cancel()
    await asyncio.wait_for(second, PATIENCE)
    assert first.cancelled()


async def test_a_loop_that_is_gone_does_not_hold_up_the_line() -> None:
    lock = KeyLock()
    await lock.acquire("k")
    gone = asyncio.new_event_loop()
    left = gone.create_task(lock.acquire("k"))
    await asyncio.to_thread(gone.run_until_complete, asyncio.sleep(0))
    gone.close()
    here = asyncio.create_task(lock.acquire("k"))
    await asyncio.sleep(0)
    lock.release()
    await asyncio.wait_for(here, PATIENCE)
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # nobody will run it any more


async def test_a_blocked_loop_is_not_waited_for() -> None:
    lock = KeyLock()
    await lock.acquire("files")
    with pytest.raises(InvalidOptionError, match="files are in use by a run that goes on only when"):
        run_blocking(lambda: lock.acquire("files"))  # this loop stands still meanwhile
    lock.release()
    run_blocking(lambda: lock.acquire("files"))


async def test_a_loop_that_was_blocked_before_is_waited_for() -> None:
    lock = KeyLock()
    later: list[asyncio.Task[None]] = []

    async def start() -> None:
        go = asyncio.Event()
        later.append(asyncio.create_task(wait(go)))
        asyncio.get_running_loop().call_later(0.05, go.set)

    async def wait(go: asyncio.Event) -> None:
        await go.wait()
        await lock.acquire("k")

    await lock.acquire("k")
    run_blocking(start)  # what it leaves behind may wait for this loop again
    while not lock._line:
        assert not later[0].done()
        await asyncio.sleep(0.001)
    lock.release()
    while not later[0].done():
        await asyncio.sleep(0.001)
    assert later[0].exception() is None
    lock.release()
