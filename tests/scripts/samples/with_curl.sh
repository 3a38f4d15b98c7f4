#!/bin/sh
# An ordinary scraper with curl; it knows nothing of Corral.
set -e
[ "$1" = "--url" ] || exit 2
for number in 0 1 2; do
    curl --silent --show-error --fail --max-time 20 "$2/$number"
    echo
done
