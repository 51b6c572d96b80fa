"""Answers to what was refused."""

from collections.abc import Mapping


def fields_of(answer: Mapping[str, object]) -> dict[str, object]:
    """Return the field at fault in an error's *answer*, its value and what would work, which its
    sentence has to say.

    The sentence may call what is in the field by another name.
    """
    said = {name: answer[name] for name in ("field", "value", "expected") if name in answer}
    assert not said or "field" in said
    assert str(said.get("expected", "")) in str(answer["error"])
    if "advice" in answer:
        said["advice"] = answer["advice"]
        assert str(answer["error"]).endswith(str(answer["advice"]))
    return said


def refused(answer: Mapping[str, object]) -> dict[str, object]:
    """Return an error's *answer* without the field at fault."""
    said = fields_of(answer)
    return {name: value for name, value in answer.items() if name not in said}
