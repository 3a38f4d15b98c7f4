"""`python -m corral.demo [--host H] [--port N]`: the demo site alone."""

import argparse
import asyncio
import sys

from corral.demo.server import serve_site


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m corral.demo", description="Serve the demo site.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    args = parser.parse_args()
    try:
        asyncio.run(serve_site(args.host, args.port))
    except (OSError, OverflowError) as error:
        print(f"cannot listen on {args.host}:{args.port}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
