"""The snapshot of the messages fails a test whose sentence is another, and names what no test
sees."""

from pathlib import Path

import pytest

from tests.messages import Key, Recorder, find_unused, key_of, merge, read, says, write

FILE = "test_messages.py"
SENTENCE = "amount '1e400' is more than any chain can hold"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """Return a recorder that expects SENTENCE of the running test, and one with a folder."""
    fresh = Recorder()
    fresh.test = (FILE, "test_it", "")
    write(tmp_path / "messages.toml", {fresh.test: {SENTENCE, "store '{folder}/s.db' is damaged"}})
    monkeypatch.setattr("tests.messages.PATH", tmp_path / "messages.toml")
    monkeypatch.setattr("tests.messages.recorder", fresh)
    return fresh


@pytest.mark.usefixtures("recorder")
def test_a_sentence_of_the_snapshot_with_the_words_is_equal() -> None:
    assert says("amount", "1e400") == SENTENCE
    assert {"error": says("amount", "1e400"), "code": "x"} == {"error": SENTENCE, "code": "x"}


@pytest.mark.usefixtures("recorder")
def test_a_value_that_varies_stands_by_its_name() -> None:
    assert says("store", folder="/tmp/a") == "store '/tmp/a/s.db' is damaged"
    assert says("store", folder="/tmp/b") != "store '/tmp/a/s.db' is damaged"


@pytest.mark.usefixtures("recorder")
def test_another_sentence_is_not_equal_and_says_how_to_accept_it() -> None:
    expected = says("amount", "1e400")

    assert expected != "amount '1e400' is fine"
    assert "pytest --update-messages tests/test_messages.py" in repr(expected)


@pytest.mark.usefixtures("recorder")
def test_a_sentence_without_the_words_is_not_equal_even_in_an_update(recorder: Recorder) -> None:
    recorder.updating = True
    expected = says("amount", "1e401")

    assert expected != SENTENCE
    assert repr(expected) == "says('amount', '1e401') <the sentence lacks ['1e401']>"
    assert recorder.seen == {}


def test_a_test_that_is_not_in_the_snapshot_fails(recorder: Recorder) -> None:
    recorder.test = (FILE, "test_another", "")

    assert says("amount") != SENTENCE
    assert says("amount") != 5


def test_a_message_without_words_is_no_assertion() -> None:
    with pytest.raises(ValueError, match="needs a word"):
        says()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    snapshot = {
        key_of("tests/test_x.py::test_y[a 'b' \\x1b]"): {"a\x7f\n", 'say "b"'},
        key_of("tests/test_x.py::test_z"): {"c"},
        key_of("tests/live/test_x.py::TestIt::test_y[1]"): {"é"},
        key_of("tests/live/test_x.py::TestIt::test_y[0]"): {"\\ud800"},
    }

    write(tmp_path / "messages.toml", snapshot)

    assert read(tmp_path / "messages.toml") == snapshot
    assert read(tmp_path / "none.toml") == {}


def test_what_no_test_sees_is_named_and_removed() -> None:
    ran, failed, other, gone = (
        (FILE, f"test_{name}", "") for name in ("ran", "failed", "other", "gone")
    )
    elsewhere, deleted = ("test_daemon.py", "test_x", ""), ("test_deleted.py", "test_x", "")
    keys: list[Key] = [ran, failed, other, gone, elsewhere, deleted]
    snapshot = {key: {"old"} for key in keys}
    seen = {ran: {"new"}, failed: {"new"}}
    collected = {ran, failed, other}

    assert find_unused(snapshot, seen, {ran}, collected) == [
        "test_deleted.py::test_x: old",
        "test_messages.py::test_gone: old",
        "test_messages.py::test_ran: old",
    ]
    assert merge(snapshot, seen, {ran}, collected) == {
        ran: {"new"},
        failed: {"old", "new"},
        other: {"old"},
        elsewhere: {"old"},
    }
