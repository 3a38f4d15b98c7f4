"""The `corral` command, also as `python -m corral`."""

import sys

_INTERRUPTED = 130


def main() -> None:
    try:
        from corral.runtime.private_files import keep_files_private  # noqa: PLC0415
        from corral.runtime.process import limit_malloc_arenas, load_structlog_alone  # noqa: PLC0415

        keep_files_private()
        limit_malloc_arenas()
        load_structlog_alone()
        # Here, so that Ctrl-C while half of it is loaded is no traceback either.
        from corral.cli.main import main as command  # noqa: PLC0415

        command()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
