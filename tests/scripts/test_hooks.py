"""Libraries that ignore the proxy of the environment use it inside a script, unless the script says otherwise."""

import json
import os
import subprocess
import sys
from pathlib import Path

from corral.domain.runs.payload.script import ScriptPayload
from corral.scripts import hooks
from corral.scripts.environment import build_environment

HOOKS = str(Path(hooks.__file__).parent)
SCRIPT = """
import json, sys
from aiohttp.client import ClientSession
from playwright.sync_api._generated import BrowserType
own = {"server": "http://own:1"}
print(json.dumps([ClientSession().trust_env, BrowserType().launch(), BrowserType().launch(proxy=own)]))
print(json.dumps([sys.path.count(sys.argv[1]), "other" in sys.modules]))
"""


def test_defaults_are_changed_and_choices_are_kept(tmp_path: Path) -> None:
    files = {
        **dict.fromkeys(("aiohttp/__init__.py", "playwright/__init__.py", "playwright/sync_api/__init__.py"), ""),
        "aiohttp/client.py": "class ClientSession:\n    def __init__(self, *, trust_env=False):\n"
        "        self.trust_env = trust_env",
        "playwright/sync_api/_generated.py": "class BrowserType:\n    def launch(self, *, proxy=None): return proxy\n"
        "    def launch_persistent_context(self, *, proxy=None): return proxy",
        "sitecustomize.py": "import sys, types\nsys.modules['other'] = types.ModuleType('other')",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {"PYTHONPATH": f"{HOOKS}{os.pathsep}{tmp_path}", "HTTP_PROXY": "http://us%40er:pw@127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", SCRIPT, HOOKS], env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    changed, loaded = map(json.loads, done.stdout.splitlines())
    proxy = {"server": "http://127.0.0.1:9", "username": "us@er", "password": "pw"}
    assert changed == [True, proxy, {"server": "http://own:1"}]
    assert loaded == [0, True], "the path of the script is its own, and the machine's sitecustomize is loaded"


def test_hooks_are_given_with_a_proxy_only() -> None:
    payload = ScriptPayload(env_names=("PYTHONPATH",))
    source = {"PYTHONPATH": "/own"}
    proxied = build_environment(payload, "r", 1, {"HTTP_PROXY": "http://127.0.0.1:9"}, source)
    assert proxied["PYTHONPATH"] == f"{HOOKS}{os.pathsep}/own"
    assert proxied["NODE_OPTIONS"] == f'--require "{HOOKS}/proxy.cjs"'
    assert build_environment(payload, "r", 1, {}, source)["PYTHONPATH"] == "/own"
