"""A store of shared credentials in memory."""

from __future__ import annotations

import asyncio
from typing import Any


class MemoryStore:
    """Blobs by name; whoever holds the lock gives way to others before it writes."""

    def __init__(self, **blobs: Any) -> None:
        self.blobs = blobs
        self.writes = 0
        self._lock = asyncio.Lock()

    async def with_lock(self, key: str, fn: Any) -> Any:
        async with self._lock:
            result, after = fn(self.blobs.get(key))
            await asyncio.sleep(0)
            if after is not None:
                self.blobs[key] = after
                self.writes += 1
            return result
