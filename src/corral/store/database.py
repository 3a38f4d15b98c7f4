"""The interface of a database backend: it runs operations, each in one transaction."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from corral.domain.errors import StorageMoved
from corral.store.damage import Damage
from corral.store.tx import Tx

T = TypeVar("T")


class Database(Protocol):
    is_postgres: bool
    damage: Damage

    async def write(self, op: Callable[[Tx], T], *, essential: bool = False) -> T: ...
    def write_from_thread(self, op: Callable[[Tx], T]) -> T: ...
    async def read(self, op: Callable[[Tx], T]) -> T: ...
    async def read_slow(self, op: Callable[[Tx], T]) -> T: ...
    async def close(self) -> None: ...
    def close_now(self) -> None: ...
    def restore_reserve(self) -> None: ...


async def write_unless_moved(database: Database, op: Callable[[Tx], T], lost: T) -> T:
    """Write under a lease; return `lost` if the database was migrated.

    The migration requeues all runs in the new database, so every lease is lost.
    """
    try:
        return await database.write(op, essential=True)
    except StorageMoved:
        return lost
