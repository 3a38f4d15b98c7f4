"""An ordinary scraper with requests; it knows nothing of Corral."""

import argparse
import json

import requests

parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
url = parser.parse_args().url
session = requests.Session()
for number in range(3):
    response = session.get(f"{url}/{number}", timeout=20)
    response.raise_for_status()
    print(json.dumps(response.json()))
