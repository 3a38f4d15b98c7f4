from tests.cli.conftest import corral, site, started, started_forks

__all__ = ["corral", "site", "started", "started_forks"]
