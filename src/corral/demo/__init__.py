"""A small web site that `corral demo` and the tests scrape.

It is served over real HTTP and misbehaves only on the paths of `faults`.
"""

from corral.demo.jobs import DEMO_JOBS, DemoJob, demo_jobs
from corral.demo.server import RunningSite, running_site, serve_site
from corral.demo.site import create_site

__all__ = ["DEMO_JOBS", "DemoJob", "RunningSite", "create_site", "demo_jobs", "running_site", "serve_site"]
