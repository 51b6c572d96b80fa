"""Pills filled in: each value in its own type, in its own place, and never more than that."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scenarioctl.actions import chain_query, chain_tx, http, remark, swap, webhook
from scenarioctl.actions.flow_files import draw_flow, read_flow
from scenarioctl.actions.http import read_request
from scenarioctl.actions.placeholders import (
    MAX_FILLED,
    Data,
    Filled,
    JsonEncoder,
    WaitsForData,
    fill,
    find_placeholders,
    has_placeholder,
    is_placeholder,
    require_filled,
)
from scenarioctl.actions.vocabulary import Reading
from scenarioctl.application import Application
from scenarioctl.config import load_settings
from scenarioctl.errors import InvalidRequest
from scenarioctl.model.diagram import read_diagram
from scenarioctl.outgoing import WebRequest
from tests.messages import Says, raises, says
from tests.test_actions import PILL
from tests.test_documents import documents

#: How what YAML could take for something else is refused.
YAML = "text that can mean something else in YAML: put the field in double quotes"
NASTY = '"}, "admin": true, {"x": "\\'


def data(content: Any) -> Data:
    found = Data(("webhook_1",))
    found.add(webhook.DATA, content, node="webhook_1")
    return found


def request(form: Mapping[str, Any], content: Any) -> WebRequest:
    """Return what an http step with *form* sends."""
    whole = {"url": "https://example.org/", **form}
    filled = http.STEP.fill(whole, data(content))
    return read_request(
        Reading(Application(load_settings({"offline": True})), http.STEP.terms, filled, "form")
    )


def refusal(form: Mapping[str, Any], content: Any) -> str:
    with pytest.raises(InvalidRequest) as refused:
        request(form, content)
    assert not isinstance(refused.value, WaitsForData)
    return str(refused.value)


class TestData:
    def test_a_webhook_does_not_stand_in_for_what_an_answer_lacks(self) -> None:
        found = data({"http": {"price": 1}})
        found.add(http.DATA, {"status": 200}, node="a")

        with raises(InvalidRequest, says("amount", "http.price")):
            require_filled(fill("{{ http.price }}", found), field="amount")

    @pytest.mark.parametrize(
        ("found", "sentence"),
        [
            (Data(), says("to", "a.b")),
            (data({"a": 1}), says("to", "a.b")),
        ],
    )
    def test_a_path_that_is_not_there_is_named_by_whoever_reads_it(
        self, found: Data, sentence: Says
    ) -> None:
        filled = fill({"to": "x {{ a.b }}", "unread": "{{ c }}"}, found)

        with pytest.raises(InvalidRequest) as refused:
            require_filled(filled["to"], field="to")

        assert str(refused.value) == sentence
        assert not isinstance(refused.value, WaitsForData)

    def test_the_newer_event_is_looked_at_first(self) -> None:
        found = data({"a": 1, "b": 1})
        found.add(webhook.DATA, {"b": 2}, node="webhook_2")

        assert fill(["{{ a }}", "{{ b }}"], found) == [1, 2]

    @pytest.mark.parametrize(
        "value", [7, 1.5, True, None, [1, "{{ a }}"], {"b": [None]}, "text", ""]
    )
    def test_a_text_that_is_one_pill_becomes_the_data_in_its_own_type(self, value: Any) -> None:
        for text in ("{{ a }}", " {{a}}\u200b", PILL.replace("content.address", "content.a")):
            filled = fill(text, data({"a": value}))

            assert filled == value
            assert type(filled) is type(value) or isinstance(filled, Filled)

    def test_what_looks_like_a_pill_in_the_data_is_text(self) -> None:
        text = "{{ b }} " + PILL
        found = data({"a": text, "list": [text], "b": "secret", "address": "secret"})

        for filled in (
            fill("{{ a }}", found),
            fill("{{ list }}", found)[0],
            fill("x {{ a }}", found),
        ):
            assert text in filled
            assert not has_placeholder(filled)
            assert require_filled(filled, field="f") is filled
            assert fill(filled, found) is filled

    def test_a_small_form_does_not_grow_without_bounds(self) -> None:
        found = data({"a": "x" * 1_000_000})

        assert len(fill("{{ a }} {{ a }}", found)) == 2_000_001
        with raises(InvalidRequest, says("longer", MAX_FILLED)):
            require_filled(fill("{{ a }} " * 1000, found), field="text")

    @pytest.mark.parametrize(
        ("text", "whole"),
        [
            ("{{ a }}", True),
            (PILL, True),
            (" {{ a }}\n", True),
            ("{{ a }}{{ b }}", False),
            ("x{{ a }}", False),
            ("", False),
        ],
    )
    def test_a_pill_alone_is_told_from_one_among_others(self, text: str, whole: bool) -> None:
        assert is_placeholder(text) == whole


class TestJsonBody:
    @pytest.mark.parametrize(
        ("template", "sent"),
        [
            ('{"a": {{ n }}}', {"a": 7}),
            ('{"a": "{{ n }}"}', {"a": "7"}),
            ('{"a": {{ t }}}', {"a": NASTY}),
            ('{"a": "{{ t }}"}', {"a": NASTY}),
            ('{"a": "x {{ t }} y", "b": {{ n }}}', {"a": f"x {NASTY} y", "b": 7}),
            ('{"{{ t }}": 1}', {NASTY: 1}),
            ('["\\"{{ t }}\\"", {{ l }}, {{ nothing }}]', [f'"{NASTY}"', [1, {"a": "b"}], None]),
            ('["\\\\{{ t }}"]', ["\\" + NASTY]),
            ("{{ o }}", {"k": "v"}),
            ('"{{ t }}"', NASTY),
            ('{"a": "{{ o }}"}', {"a": '{"k": "v"}'}),
            ('{"a": ' + PILL + "}", {"a": NASTY}),
            ('{"a": "' + PILL + '"}', {"a": NASTY}),
        ],
    )
    def test_a_value_stays_in_its_place(self, template: str, sent: Any) -> None:
        content = {
            "n": 7,
            "t": NASTY,
            "address": NASTY,
            "l": [1, {"a": "b"}],
            "o": {"k": "v"},
            "nothing": None,
        }

        found = request({"requestContent": template, "contentType": "application/json"}, content)

        assert json.loads(found.body) == sent

    def test_a_backslash_before_a_pill_is_refused(self) -> None:
        assert refusal({"requestContent": '{"a": "\\{{ t }}"}'}, {"t": '"'}) == says(
            "requestContent", "placeholder"
        )

    def test_a_template_that_is_not_json_is_refused(self) -> None:
        assert refusal({"requestContent": "{'a': '{{ t }}'}"}, {"t": "x"}) == says(
            "requestContent", "JSON"
        )

    @settings(deadline=None)
    @given(documents, st.text('ab"\\{}[],:é\n ', max_size=12).filter(lambda text: "{{" not in text))
    @example(None, "{:}")
    def test_no_value_breaks_out_of_a_string_or_becomes_two(self, value: Any, text: str) -> None:
        quoted = json.dumps({"before": text, "at": "PILL", "list": [1]})
        found = data({"v": value})

        inside = json.loads(fill(quoted.replace("PILL", "<{{ v }}>"), found, encoder=JsonEncoder))
        outside = json.loads(fill(quoted.replace('"PILL"', "{{ v }}"), found, encoder=JsonEncoder))

        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        assert inside == {"before": text, "at": f"<{written}>", "list": [1]}
        assert outside == {"before": text, "at": value, "list": [1]}


class TestOtherBodies:
    @pytest.mark.parametrize(
        ("kind", "template", "sent"),
        [
            ("application/x-www-form-urlencoded", "a={{ t }}&b={{ n }}", "a=x%26admin%3D1&b=7"),
            ("text/xml", "<a>{{ x }}</a>", "<a>&lt;/a&gt;&quot;</a>"),
            ("application/soap+xml", '<a b="{{ x }}"/>', '<a b="&lt;/a&gt;&quot;"/>'),
            ("text/plain", "{{ t }} {{ n }}", "x&admin=1 7"),
            ("text/plain", "{{ n }}", "7"),
            ("", "{{ t }}", "x&admin=1"),
        ],
    )
    def test_a_value_is_written_as_the_kind_of_body_wants_it(
        self, kind: str, template: str, sent: str
    ) -> None:
        content = {"t": "x&admin=1", "n": 7, "x": '</a>"'}

        assert request({"requestContent": template, "contentType": kind}, content).body == sent

    @pytest.mark.parametrize(
        "kind", ["text/csv", "text/tab-separated-values", "application/x-yaml", "multipart/mixed"]
    )
    def test_a_body_in_which_a_value_could_end_its_field_takes_none(self, kind: str) -> None:
        form = {"requestContent": "a,{{ t }}", "contentType": f"{kind}; charset=utf-8"}

        assert refusal(form, {"t": "x"}) == says("requestContent", kind, "JSON")

    def test_a_body_of_a_flow_file_keeps_its_types(self) -> None:
        flow = """
            [[steps]]
            type = "http"
            url = "https://example.org/"
            method = "POST"
            body.amount = "{{ n }}"
            body.note = "n is {{ n }}"
            body.list = ["{{ t }}", 1.5]
            body.plain = '"'
        """
        app = Application(load_settings({"offline": True}))
        document = draw_flow(app, read_flow(flow)).document
        form = read_diagram(document).nodes[0].form

        assert form["requestContent"] == (
            '{"amount": {{ n }}, "note": "n is {{ n }}", "list": [{{ t }}, "1.5"], "plain": "\\""}'
        )
        assert json.loads(request(form, {"n": 7, "t": NASTY}).body) == {
            "amount": 7,
            "note": "n is 7",
            "list": [NASTY, "1.5"],
            "plain": '"',
        }


class TestUrl:
    @pytest.mark.parametrize(
        ("template", "url"),
        [
            ("{{ url }}", "https://api.example.org/x?y=1"),
            ("https://h/{{ t }}", "https://h/a%2Fb%3Fc%3Dd%26e%23f%20%25"),
            ("https://h/x?q={{ t }}&r={{ n }}", "https://h/x?q=a%2Fb%3Fc%3Dd%26e%23f%20%25&r=7"),
            ("https://{{ name }}.example.org/", "https://api-1.example.org/"),
            ("https://{{ host }}/x", "https://api.example.org/x"),
            ("https://{{ host }}:{{ port }}/x", "https://api.example.org:8443/x"),
            ("https://{{ host }}", "https://api.example.org"),
            ("https://h/{{ utf }}", "https://h/%C3%A9"),
        ],
    )
    def test_a_value_is_encoded_in_an_address(self, template: str, url: str) -> None:
        content = {
            "url": "https://api.example.org/x?y=1",
            "t": "a/b?c=d&e#f %",
            "n": 7,
            "name": "api-1",
            "host": "api.example.org",
            "port": 8443,
            "utf": "é",
        }

        assert request({"url": template}, content).url == url

    @pytest.mark.parametrize(
        ("template", "value"),
        [
            ("https://example.org{{ v }}", ".evil.example"),
            ("https://example.org{{ v }}/x", ".evil.example"),
            ("https://example.org{{ v }}", "@evil.example"),
            ("https://{{ v }}.example.org/", "evil.example/"),
            ("https://{{ v }}.example.org/", "evil.example#"),
            ("https://{{ v }}.example.org/", "a.evil.example\\"),
            ("https://{{ v }}/x", "evil.example/y"),
            ("https://{{ v }}/x", "user@evil.example"),
            ("https://{{ v }}/x", ""),
            ("https://{{ v }}{{ v }}/x", "a.b"),
        ],
    )
    def test_a_value_brings_no_other_host(self, template: str, value: str) -> None:
        assert refusal({"url": template}, {"v": value}) == says("url", "filled")

    @pytest.mark.parametrize(
        ("template", "value"),
        [
            ("https://h/a/{{ v }}/b", ".."),
            ("https://h/a/{{ v }}", "."),
            ("https://h/a/.{{ v }}/b", "."),
            ("https://h/{{ v }}?x", ".."),
        ],
    )
    def test_a_value_does_not_step_out_of_a_path(self, template: str, value: str) -> None:
        assert refusal({"url": template}, {"v": value}) == says("url", "segment")

    def test_an_address_from_outside_is_judged_like_any(self) -> None:
        assert refusal({"url": "{{ v }}"}, {"v": "file:///etc/passwd"}) == says(
            "url", "file:///etc/passwd"
        )
        assert refusal({"url": "{{ v }}"}, {"v": 7}).startswith("url 7 is not an address")

    @settings(deadline=None)
    @given(st.text(max_size=20))
    def test_any_value_stays_in_its_place(self, value: str) -> None:
        try:
            url = request({"url": "https://h/a/{{ v }}/b?q={{ v }}&r=1"}, {"v": value}).url
        except InvalidRequest as refused:
            assert value in (".", "..") or "surrogates" in str(refused)
            return

        parts = urlsplit(url)
        assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "h", "")
        assert [unquote(part) for part in parts.path.split("/")] == ["", "a", value, "b"]
        assert parse_qs(parts.query, keep_blank_values=True) == {"q": [value], "r": ["1"]}


class TestHeaders:
    def test_a_value_fills_a_header(self) -> None:
        form = {
            "headers": [
                {"key": "X-Key", "value": "Bearer {{ t }}"},
                {"key": "X-N", "value": "{{ n }}"},
            ]
        }

        assert request(form, {"t": "abc", "n": 7}).headers == (
            ("X-Key", "Bearer abc"),
            ("X-N", "7"),
        )

    @pytest.mark.parametrize(
        "value", ["a\r\nX-Admin: 1", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\x85b", "a\u2028b"]
    )
    def test_a_value_gains_no_line_break(self, value: str) -> None:
        for text in ("{{ v }}", "Bearer {{ v }}"):
            assert refusal({"headers": [{"key": "X", "value": text}]}, {"v": value}) == says(
                "headers[0].value", "header"
            )

    @pytest.mark.parametrize("name", ["Host", "Content-Length", "a: b\r\nc", ""])
    def test_a_value_names_no_header_that_is_ours(self, name: str) -> None:
        assert refusal({"headers": [{"key": "{{ v }}", "value": "x"}]}, {"v": name}).startswith(
            "headers[0].key"
        )


class TestArguments:
    def query(self, text: str, content: Any) -> tuple[Any, ...]:
        form = chain_query.STEP.fill(
            {"selectedMethod": {"name": "Account"}, "methodInput": text}, data(content)
        )
        return chain_query.parse_params(require_filled(form["methodInput"], field="methodInput"))

    @pytest.mark.parametrize(
        ("text", "value", "params"),
        [
            ("{{ v }}", "5Abc", ("5Abc",)),
            (PILL.replace("address", "v"), "5Abc", ("5Abc",)),
            ("{{ v }}", '["5Abc", "two"]', ('["5Abc", "two"]',)),
            ("{{ v }}", 7, (7,)),
            ("{{ v }}", [1, "b"], (1, "b")),
            ("x{{ v }}", "[]", ("x[]",)),
            ('["{{ v }}", 5]', '", "more', ('", "more', 5)),
            ('[{{ v }}, "x"]', '"], [', ('"], [', "x")),
            ('[{{ v }}, "x"]', 7, (7, "x")),
            ('{"Id": "{{ v }}"}', '", "Raw": "', ('{"Id": "\\", \\"Raw\\": \\""}',)),
            ("plain", 7, ("plain",)),
        ],
    )
    def test_a_value_is_one_parameter_of_a_query(
        self, text: str, value: Any, params: tuple[Any, ...]
    ) -> None:
        assert self.query(text, {"v": value}) == params

    @pytest.mark.parametrize(
        ("params", "value", "filled"),
        [
            ({"dest": "{{ v }}"}, "5Abc", {"dest": "5Abc"}),
            ({"value": "{{ v }}"}, 7, {"value": 7}),
            (
                {"dest": '{"Id": "{{ v }}"}'},
                '", "Raw": "',
                {"dest": '{"Id": "\\", \\"Raw\\": \\""}'},
            ),
            ({"list": "[{{ v }}, 1]"}, '"x", 2', {"list": '["\\"x\\", 2", 1]'}),
            ("{{ v }}", {"dest": "5Abc"}, {"dest": "5Abc"}),
        ],
    )
    def test_a_value_is_one_argument_of_a_call(self, params: Any, value: Any, filled: Any) -> None:
        assert chain_tx.STEP.fill({"params": params}, data({"v": value}))["params"] == filled

    def test_only_what_is_read_is_filled(self) -> None:
        form = {"selectedChain": "polkadot", "selectedPalletData": {"docs": "{{ gone }}"}}

        assert find_placeholders(dict(chain_tx.STEP.fill(form, data({})))) == ()
        assert find_placeholders(dict(chain_query.STEP.fill(form, data({})))) == ()


class TestActions:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("hi", "hi"),
            (7, "7"),
            (1.5, "1.5"),
            (None, "null"),
            (["é"], '["é"]'),
            ("{{ v }}", "{{ v }}"),
        ],
    )
    def test_a_remark_is_text_whatever_the_data_is(self, value: Any, text: str) -> None:
        form = {"actionData": {"source": {"chain": "polkadot", "target": "{{ v }}"}}}

        filled = remark.STEP.fill(form, data({"v": value}))

        assert filled["actionData"]["source"]["target"] == text

    @pytest.mark.parametrize("value", ["102>xyk>7", "", "a b", "102\n", [1]])
    def test_a_value_brings_no_hops_of_its_own(self, value: Any) -> None:
        filled = swap.STEP.fill(
            {"actionData": {"route": "5>omnipool>{{ v }}>xyk>0"}}, data({"v": value})
        )

        with raises(InvalidRequest, says("route", "filled")):
            require_filled(filled["actionData"]["route"], field="route")
