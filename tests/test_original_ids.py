"""What clients of the original services bring and ask: their ids, exports as JSON, numbers of
drafts."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from scenarioctl.formats.documents import read_share
from tests.messages import says
from tests.serving import Serving

#: With every sign that Threadbag draws for its ids beside letters and digits.
ID = "a!@#$*+?_"
DIAGRAM = '{"nodes":[{"id":"d","type":"delay","formData":{"seconds":60}}],"edges":[]}'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Serving(tmp_path_factory.mktemp("served")) as serving:
        yield serving


def test_an_id_of_threadbag_is_imported_and_works_everywhere(served: Serving) -> None:
    imported = served.post("/saveUrl", {"url": DIAGRAM, "id": ID})

    assert imported.json() == {"success": True, "shortUrl": ID}
    assert served.post("/api/scenario/info", {"id": ID}).status == 200
    started = served.post("/job/start", {"id": ID, "every": "12h"})
    assert started.json() == {"success": True, "result": "Job started"}
    assert served.get(f"/getUrl/{quote(ID, safe='')}").json()["success"] is True
    assert served.get(f"/api/info/preview?format=svg&scenario_id={quote(ID)}").status == 200
    assert ID in [each["id"] for each in served.get("/job/list").json()["jobs"]]
    served.post("/job/stop", {"id": ID})
    assert served.post("/api/scenario/delete", {"id": ID}).json()["success"] is True


@pytest.mark.parametrize("field", ["as", "form"])
def test_an_export_as_json(served: Serving, field: str) -> None:
    id = quote(served.post("/saveUrl", {"url": DIAGRAM}).json()["shortUrl"], safe="")

    answer = served.get(f"/getUrl/{id}?{field}=json").json()

    assert answer == {
        "success": True,
        "diagram": read_share(served.get(f"/getUrl/{id}").json()["longUrl"]),
    }


def test_an_export_in_an_unknown_form(served: Serving) -> None:
    id = quote(served.post("/saveUrl", {"url": DIAGRAM}).json()["shortUrl"], safe="")

    reply = served.get(f"/getUrl/{id}?as=yaml")

    assert (reply.status, reply.json()["error"]) == (422, says("as", "yaml"))
