"""What an operator watches: the metrics of daemons on PostgreSQL, and the alerts and the dashboard
made of them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scenarioctl.server import metrics as server_metrics
from scenarioctl.stores import create_store
from scenarioctl.stores.postgres.connections import ServerSettings
from scenarioctl.stores.postgres.store import PostgresStore
from tests import postgres
from tests.conftest import ROOT
from tests.daemons import Daemon, daemon, wait_until
from tests.postgres import RUNTIME, shared_server, start_server
from tests.runner import finish as run
from tests.serving import Serving

pytestmark = pytest.mark.processes

ALERTS = ROOT / "monitoring" / "alerts.yml"
DASHBOARD = ROOT / "monitoring" / "dashboard.json"
_NAME = re.compile(r"\bscenarioctl_[a-z_]+[a-z]\b")


def scrape(answer: bytes) -> dict[str, dict[tuple[str, ...], float]]:
    """Return each sample's name with its label values and value; metrics without a sample have
    none."""
    samples: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.decode()):
        samples.setdefault(family.name + "_total" * (family.type == "counter"), {})
        if family.type == "histogram":
            del samples[family.name]
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                samples.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return samples


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    """The shared database, emptied, as a daemon uses it."""
    run(postgres.open_store(tmp_path).close())
    store = PostgresStore(
        ServerSettings(url=shared_server().url("shared", user=RUNTIME), pool=2, role="api")
    )
    yield store
    run(store.close())


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[tuple[str, ...], float]]:
    """What a daemon says that runs jobs of a store on PostgreSQL."""
    folder = tmp_path_factory.mktemp("monitoring")
    run(postgres.open_store(folder).close())
    url = shared_server().url("shared", user=RUNTIME)
    with daemon(folder / "home", "--offline", variables={"SCENARIOCTL_STORE": url}) as running:
        _, made, _ = running.ask("/api/create/remark", {"chain": "polkadot", "text": "hello"})
        assert running.ask("/job/start", {"id": made["result"], "every": "1h"})[0] == 200
        found: dict[str, dict[tuple[str, ...], float]] = wait_until(lambda: _settled(running))
        return found


def _settled(running: Daemon) -> dict[str, dict[tuple[str, ...], float]] | None:
    """Return the metrics once a run is kept, and the figures tell of it."""
    samples = scrape(running.ask("/metrics", as_json=False)[1])
    has_run = samples["scenarioctl_runs_total"][("executed",)] == 1
    is_told = (
        samples["scenarioctl_workers"] == {(): 1} and samples["scenarioctl_jobs"][("running",)] == 1
    )
    return samples if has_run and is_told else None


class TestMetrics:
    def test_a_daemon_says_how_it_and_its_store_are(
        self, metrics: dict[str, dict[tuple[str, ...], float]]
    ) -> None:
        plain = {name: values[()] for name, values in metrics.items() if () in values}

        assert plain["scenarioctl_store_up"] == plain["scenarioctl_workers"] == 1
        assert plain["scenarioctl_scenarios"] == 1
        assert metrics["scenarioctl_jobs"] == {("running",): 1, ("paused",): 0, ("stopped",): 0}
        assert metrics["scenarioctl_runs_total"][("executed",)] == 1
        assert (
            plain["scenarioctl_store_errors_total"]
            == plain["scenarioctl_runs_taken_over_total"]
            == 0
        )
        assert plain["scenarioctl_store_pool_waiting"] == 0

    def test_failures_of_the_store_are_counted_while_it_is_away(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A scrape waits until its own failure is counted.
        monkeypatch.setattr(server_metrics, "_PATIENCE", 30.0)
        server = start_server()
        url = server.create_database("away")
        run(create_store(url, grant=RUNTIME))
        with Serving(tmp_path, role="api", store=server.url("away", user=RUNTIME)) as serving:
            before = scrape(serving.get("/metrics").body)
            server.stop()
            assert serving.get("/api/scenarios").status == 503
            after = scrape(serving.get("/metrics").body)
        server.remove()

        assert (before["scenarioctl_store_up"], after["scenarioctl_store_up"]) == ({(): 1}, {(): 0})
        assert before["scenarioctl_store_errors_total"] == {(): 0}
        # The request's, and that of the scrape itself.
        assert after["scenarioctl_store_errors_total"] == {(): 2}
        assert "scenarioctl_jobs" not in after


class TestFilesForPrometheus:
    def test_the_guide_lists_every_metric(
        self, metrics: dict[str, dict[tuple[str, ...], float]]
    ) -> None:
        text = (ROOT / "docs" / "monitoring.md").read_text()
        listed = {
            name
            for row in re.findall(r"^\| (.*?) \|", text, re.MULTILINE)
            for name in re.findall(r"`(scenarioctl_[a-z_]+)", row)
        }

        ours = {name for name in metrics if name.startswith("scenarioctl_")}
        assert listed == {re.sub(r"_(bucket|count|sum)$", "", name) for name in ours}

    def test_the_guide_lists_every_alert(self) -> None:
        text = (ROOT / "docs" / "monitoring.md").read_text()
        alerts = re.findall(r"^ +- alert: (\w+)$", ALERTS.read_text(), re.MULTILINE)

        assert re.findall(r"^\| `(Scenarioctl\w+)`", text, re.MULTILINE) == alerts
        assert len(alerts) >= 4

    @pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.name)
    def test_they_name_only_metrics_that_exist(
        self, path: Path, metrics: dict[str, dict[tuple[str, ...], float]]
    ) -> None:
        named = set(_NAME.findall(path.read_text()))

        assert len(named) > 5
        assert named <= metrics.keys()

    @pytest.mark.skipif(
        shutil.which("promtool") is None,
        reason="no promtool is installed (Debian: apt install prometheus)",
    )
    @pytest.mark.parametrize(
        "line",
        [
            ("check", "rules", ALERTS),
            ("test", "rules", ROOT / "tests" / "data" / "alerts-test.yml"),
        ],
    )
    def test_promtool_is_content(self, line: tuple[str | Path, ...]) -> None:
        done = subprocess.run(["promtool", *line], capture_output=True, text=True)

        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.skipif(
        shutil.which("promtool") is None,
        reason="no promtool is installed (Debian: apt install prometheus)",
    )
    def test_promtool_is_content_with_the_metrics(self, tmp_path: Path) -> None:
        with Serving(tmp_path) as serving:
            text = serving.get("/metrics").body

        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
        complaints = [
            line
            for line in (done.stdout + done.stderr).decode().splitlines()
            if "scenarioctl_" in line
        ]
        assert complaints == []
