from tests.cli.conftest import corral, site, started

__all__ = ["corral", "site", "started"]
