"""Real services for tests: each is started on a free loopback port and is gone when its block ends."""

from tests.services.postgres import PostgresCluster, postgres_cluster
from tests.services.redis import RedisServer, redis_server

__all__ = ["PostgresCluster", "RedisServer", "postgres_cluster", "redis_server"]
