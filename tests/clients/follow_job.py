"""follow_job.py WORKER_URL RUNS: save the share string on stdin, run it each second, and print its
log and its mempool.

A client of the job worker as one writes it from the description of the interface: requests, and
nothing of scenarioctl.
"""

import json
import sys
import time
from typing import Any

import requests

worker, runs = sys.argv[1], int(sys.argv[2])
session = requests.Session()


def post(path: str, body: Any) -> Any:
    response = session.post(worker + path, json=body, timeout=60)
    response.raise_for_status()
    return response.json()


saved = post("/saveUrl", {"url": sys.stdin.read()})
scenario = saved["shortUrl"]
started = post("/job/start", {"id": scenario, "every": "1s"})
log: list[str] = []
deadline = time.monotonic() + 60
while log.count("workload executed") < runs and time.monotonic() < deadline:
    time.sleep(0.1)
    answer = post("/scenario/worker/logs", {"id": scenario})
    log = answer["result"]
stopped = post("/job/stop", {"id": scenario})
mempool = post("/scenario/tx", {"id": scenario})["mempool"]
print(
    json.dumps(
        {
            "saved": saved,
            "started": started,
            "stopped": stopped,
            "logged": answer["success"],
            "log": log,
            "mempool": mempool,
        }
    )
)
