"""put, facts, at, patch, delete, restore."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.apps.conftest import Amber

ID = re.compile(r"[0-9a-z]{20}")


def payloads(shown: Any) -> list[Any]:
    return [each["payload"] for each in shown["facts"]]


def test_put_says_whether_it_was_new_known_or_superseded(amber: Amber) -> None:
    new = amber("put", "--sender", "ana", "--key", "city", "Lisbon").out
    assert re.fullmatch(r"new    [0-9a-z]{20}  city: Lisbon \(ana\)\n", new)
    known = amber("put", "--sender", "ana", "--key", "city", "lisbon").out
    assert re.fullmatch(r"known  [0-9a-z]{20}  2 mentions  city: Lisbon \(ana\)\n", known)
    assert ID.findall(new) == ID.findall(known)
    first, second = amber(
        "put", "--sender", "ana", "--key", "city", "Porto", "--valid-from", "2100-01-02"
    ).out.splitlines()
    assert re.fullmatch(r"new    [0-9a-z]{20}  city: Porto \(ana\) from 2100-01-02", first)
    assert second == f"was    {ID.findall(new)[0]}  city: Lisbon (ana) until 2100-01-02"


def test_put_in_json(amber: Amber) -> None:
    first = amber.json("put", "--key", "city", "Lisbon")
    assert (first["outcome"], first["position"], first["superseded"]) == ("new", 1, [])
    again = amber.json("put", "--key", "city", "Lisbon")
    assert (again["outcome"], again["position"], again["fact"]["mentions"]) == ("mention", 2, 2)
    moved = amber.json("put", "--key", "city", "Porto")
    assert (moved["outcome"], moved["fact"]["payload"]) == ("superseded", "Porto")
    old = moved["superseded"][0]
    assert (old["id"], old["payload"]) == (first["fact"]["id"], "Lisbon")
    assert old["valid_until"] == moved["fact"]["valid_from"]


def test_put_takes_all_that_a_fact_has(amber: Amber) -> None:
    shown = amber.json(
        *("put", "--as-json", '{"editor": "vim", "tabs": false, "n": [1, 2.5, null]}'),
        *("--key", "editor", "--sender", "ana", "--project", "team/atlas", "--session", "s1", "--type", "preference"),
        *("--source", "document", "--trust", "0.25", "--valid-from", "2026-07-01", "--valid-until", "2100-01-01T12:00"),
        *("--ttl", "30d", "--ephemeral", "--reason", "because", "--actor", "form"),
    )
    fact = shown["fact"]
    assert fact["payload"] == {"editor": "vim", "tabs": False, "n": [1, 2.5, None]}
    names = ("key", "sender", "project", "session", "type", "source", "trust", "ephemeral")
    assert [fact[name] for name in names] == ["editor", "ana", "team/atlas", "s1", "preference", "document", 0.25, True]
    # in Lisbon: summer time in July, none in January
    assert fact["valid_from"] == "2026-07-01T00:00:00+01:00"
    assert fact["valid_until"] == "2100-01-01T12:00:00+00:00"
    kept = datetime.fromisoformat(fact["expires_at"]) - datetime.fromisoformat(fact["created_at"])
    assert kept == timedelta(days=30)
    entry = amber.json("log")["entries"][0]
    assert (entry["reason"], entry["actor"], entry["session"]) == ("because", "form", "s1")
    assert "digest" not in fact
    assert "subject" not in entry["changes"][0]["after"]


def test_put_joins_words_and_reads_standard_input(amber: Amber) -> None:
    assert amber.json("put", "I", "like", "tea")["fact"]["payload"] == "I like tea"
    assert amber("put", "-", "--json", stdin="one\n two\n").json["fact"]["payload"] == "one\n two"
    assert amber("put", "-", "--as-json", "--json", stdin='["京都"]').json["fact"]["payload"] == ["京都"]
    assert amber("--json", "put", "--", "--not-an-option").json["fact"]["payload"] == "--not-an-option"


def test_put_in_parallel_loses_nothing(amber: Amber, monkeypatch: pytest.MonkeyPatch) -> None:
    from amber.errors import Conflict
    from amber.memory import Transaction

    leave = Transaction.__exit__
    beaten: list[bool] = []

    def first_beaten(self: Transaction, *given: Any) -> None:
        if not beaten:
            beaten.append(True)
            raise Conflict("somebody else was faster")
        leave(self, *given)

    monkeypatch.setattr(Transaction, "__exit__", first_beaten)
    assert amber.json("put", "x")["outcome"] == "new"
    assert len(beaten) == 1


def test_facts_filters(amber: Amber) -> None:
    amber("put", "tea", "--sender", "ana", "--type", "likes", "--project", "a/b")
    amber("put", "--as-json", '{"role": "admin", "n": 1}', "--type", "person")
    amber("put", "--as-json", '{"role": "user", "n": 1}', "--type", "person")
    amber("put", "true", "--key", "flag")
    assert payloads(amber.json("facts", "--sender", "ana")) == ["tea"]
    assert payloads(amber.json("facts", "--project", "a")) == ["tea"]
    assert payloads(amber.json("facts", "--type", "likes")) == ["tea"]
    assert payloads(amber.json("facts", "--key", "flag")) == ["true"]
    assert payloads(amber.json("facts", "--where", "payload.role=admin")) == [{"role": "admin", "n": 1}]
    assert payloads(amber.json("facts", "--where", 'payload.role="user"')) == [{"role": "user", "n": 1}]
    assert len(payloads(amber.json("facts", "--where", "payload.n=1"))) == 2
    assert payloads(amber.json("facts", "--where", "payload.n=1", "--where", "payload.role=user")) == [
        {"role": "user", "n": 1}
    ]
    assert payloads(amber.json("facts", "--where", "payload=a=b")) == []


def test_facts_of_a_session_and_past_the_page(amber: Amber) -> None:
    for n in range(5):
        amber("put", f"fact {n}")
    amber("put", "for now", "--session", "s", "--ephemeral")
    page = amber.json("facts", "--limit", "3")
    assert payloads(page) == ["fact 0", "fact 1", "fact 2"]
    assert payloads(amber.json("facts", "--after", page["cursor"])) == ["fact 3", "fact 4"]
    assert amber("facts", "--limit", "3").err == f"more: --after {page['cursor']}\n"
    assert payloads(amber.json("facts", "--session", "s")) == ["for now"]


def test_facts_all_deleted_and_valid_at(amber: Amber) -> None:
    old = amber.json("put", "Lisbon", "--key", "city", "--valid-from", "2020-01-01")["fact"]["id"]
    amber("put", "Porto", "--key", "city")
    gone = amber.json("put", "gone")["fact"]["id"]
    amber("delete", gone)
    amber("put", "short", "--ttl", "30d")
    assert payloads(amber.json("facts")) == ["Porto", "short"]
    assert payloads(amber.json("facts", "--all")) == ["Lisbon", "Porto", "short"]
    assert payloads(amber.json("facts", "--deleted")) == ["Porto", "gone", "short"]
    assert payloads(amber.json("facts", "--valid-at", "2021-06-01")) == ["Lisbon"]
    head, *rows = amber("facts", "--all", "--deleted").out.splitlines()
    assert head.split() == ["id", "since", "state", "fact"]
    assert re.match(rf"{old}  2020-01-01 +until 2\d\d\d-", rows[0])
    assert "  deleted  " in rows[2]
    assert "  expires 2" in rows[3]
    assert len({row.index(word) for row, word in zip(rows, ["city: L", "city: P", "gone", "short"], strict=True)}) == 1


def test_no_facts(amber: Amber) -> None:
    amber("put", "x")
    answer = amber("facts", "--sender", "nobody")
    assert (answer.out, answer.err) == ("", "no facts\n")
    assert amber.json("facts", "--sender", "nobody") == {"facts": [], "cursor": None, "complete": True}


def test_one_fact_with_its_history(amber: Amber) -> None:
    id = amber.json("put", "Lisbon", "--key", "city", "--sender", "ana", "--reason", "she said so")["fact"]["id"]
    amber("put", "Lisbon", "--key", "city", "--sender", "ana")
    new = amber.json("put", "Porto", "--key", "city", "--sender", "ana", "--valid-from", "2100-01-01")["fact"]["id"]
    shown = amber("facts", id).out
    assert re.search(r"^valid          \S+ \S+ until 2100-01-01$", shown, re.MULTILINE)
    assert f"superseded by  {new}" in shown
    assert "mentions       2, last" in shown
    assert re.search(r"^1  .*\+ city: Lisbon \(ana\)\n +she said so$", shown, re.MULTILINE)
    told = amber.json("facts", id)
    assert told["fact"]["id"] == id
    assert [each["position"] for each in told["history"]] == [3, 2, 1]


def test_patch_delete_restore(amber: Amber) -> None:
    id = amber.json("put", "--as-json", '{"a": 1, "b": 2}', "--key", "it")["fact"]["id"]
    assert amber("patch", id, '{"a": null, "c": [3]}').out == '~ it: {"a": 1, "b": 2} → {"b": 2, "c": [3]}\n'
    assert amber("delete", id, "--reason", "wrong").out == '- it: {"b": 2, "c": [3]}\n'
    assert "was deleted" in amber("delete", id, code=4).err
    assert "was deleted" in amber("patch", id, "{}", code=4).err
    assert amber("restore", id).out == '+ it: {"b": 2, "c": [3]}\n'
    assert "is not deleted" in amber("restore", id, code=4).err
    assert amber.json("patch", id, '{"b": 5}')["fact"]["payload"] == {"b": 5, "c": [3]}
    text = amber.json("put", "text")["fact"]["id"]
    assert "Only an object can be patched" in amber("patch", text, "{}", code=2).err


def test_at_a_position_and_at_a_time(amber: Amber) -> None:
    amber("put", "Lisbon", "--key", "city")
    amber("put", "Porto", "--key", "city")
    shown = amber("at", "1").out.splitlines()
    assert re.fullmatch(r"as known at position 1 \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)", shown[0])
    assert shown[-1].endswith("city: Lisbon")
    told = amber.json("at", "2")
    assert (told["position"], payloads(told)) == (2, ["Porto"])
    assert payloads(amber.json("at", "2", "--all")) == ["Lisbon", "Porto"]
    assert amber.json("at", "2020-01-01") == {"position": 0, "facts": [], "cursor": None, "complete": True}
    assert amber("at", "0").err == "no facts\n"
    first, second = (datetime.fromisoformat(each["at"]) for each in reversed(amber.json("log")["entries"]))
    # text without an offset is in the local zone
    assert payloads(amber.json("at", first.replace(tzinfo=None).isoformat())) == ["Lisbon"]
    assert payloads(amber.json("at", second.isoformat())) == ["Porto"]


def test_json_is_on_one_line_and_keeps_letters(amber: Amber) -> None:
    answer = amber("put", "京都 é", "--json")
    assert answer.out.count("\n") == 1
    assert "京都 é" in answer.out
    assert json.loads(answer.out)["fact"]["payload"] == "京都 é"


def test_what_a_terminal_would_act_on_is_not_printed(amber: Amber) -> None:
    evil = "a\x1b[31mred\x07\x1b]0;title\x07 \u202eback\r\nnext\x9b2J"
    amber("put", evil, "--key", "k\x1b[0m", "--sender", "s\x1b[1m", "--project", "p\x1b[2m", "--reason", "r\x1b[3m")
    for words in (["facts"], ["log"], ["at", "1"], ["recall", "next"], ["diff", "0", "1"], ["undo"], ["redo"]):
        shown = amber(*words).out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown), words
    assert amber.json("facts")["facts"][0]["payload"] == evil
