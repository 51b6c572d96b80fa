"""What was removed: each command and each path answers with the sentence that says what to do
instead."""

from pathlib import Path

from scenarioctl.removed import COMMANDS, PATHS
from tests.conftest import Run
from tests.serving import Serving


def test_a_removed_command_says_what_to_do_instead(scenarioctl: Run) -> None:
    for words, instead in COMMANDS.items():
        line = words.split() if words[0] != "-" else ["doctor", words]
        ended = scenarioctl(*line)

        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"Error: {instead}\n")


def test_a_removed_path_says_what_to_do_instead(tmp_path: Path) -> None:
    with Serving(tmp_path) as serving:
        for path, instead in PATHS.items():
            for each in (path, f"{path}/more"):
                reply = serving.get(each)

                assert reply.status == 404
                answer = {**reply.json(), "success": False}
                assert answer == {"error": instead, "code": "not_found", "success": False}
