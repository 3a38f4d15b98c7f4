"""Real services for tests: each is started on a free loopback port and is gone when its block ends."""

from tests.services.postgres import PostgresCluster, postgres_cluster
from tests.services.redis import RedisServer, redis_server
from tests.services.squid import Squid, squid
from tests.services.tinyproxy import Tinyproxy, tinyproxy

__all__ = [
    "PostgresCluster",
    "RedisServer",
    "Squid",
    "Tinyproxy",
    "postgres_cluster",
    "redis_server",
    "squid",
    "tinyproxy",
]
