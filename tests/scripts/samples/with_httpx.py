"""An ordinary scraper with httpx; it knows nothing of Corral."""

import argparse
import json

import httpx

parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
url = parser.parse_args().url
with httpx.Client(timeout=20) as client:
    for number in range(3):
        response = client.get(f"{url}/{number}")
        response.raise_for_status()
        print(json.dumps(response.json()))
