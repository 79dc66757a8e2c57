from typing import Any

import pytest
from servers.person import Person

from jackfield.engine.engine import Engine
from jackfield.engine.runs import Run
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES, registry
from jackfield.nodes.base import Context, Effect, Inputs, NoConfiguration, Outputs, Question, node
from jackfield.nodes.checking import check_graph

pytestmark = pytest.mark.anyio

NAME: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
CHOICES: Json = {
    "type": "object",
    "properties": {
        "plain": {"type": "string", "enum": ["a", "b"]},
        "titled": {"type": "string", "oneOf": [{"const": "x", "title": "The X"}]},
        "several": {"type": "array", "items": {"anyOf": [{"const": "p", "title": "P"}, {"const": "q", "title": "Q"}]}},
        "kind": {"type": "string", "default": "usual"},
    },
}


def asking(configuration: Json, *, type: str = "ask") -> Graph:
    return Graph((Node("who", type, configuration), Node("output", "output")), (Edge("who", "output", "*"),))


async def run(graph: Graph, client: Person | None, inputs: Json = None, **more: Any) -> Run:
    async with Engine([*NODE_TYPES, *more.pop("kinds", ())]) as engine:
        return await engine.run(graph, inputs or {}, client=client, timeout_s=10, **more)


async def test_a_person_is_asked_and_what_he_fills_in_is_the_content() -> None:
    person = Person({"who": {"action": "accept", "content": {"name": "Ada"}}})
    done = await run(asking({"message": "Your name?", "schema": NAME}), person)
    assert done.values == {"action": "accept", "content": {"name": "Ada"}}
    question = Question("who", "elicitation/create", {"message": "Your name?", "requestedSchema": NAME})
    assert person.asked == [[question]]


async def test_what_he_reads_may_come_by_wire() -> None:
    person = Person({"who": {"action": "accept"}})
    nodes = (Node("t", "template", {"template": "Cancel {{id}}?", "id": 7}), Node("who", "ask"), Node("o", "output"))
    graph = Graph(nodes, (Edge("t", "who", "text", "message"), Edge("who", "o", "action", "action")))
    assert (await run(graph, person)).values == {"action": "accept"}
    assert person.asked[0][0].params["message"] == "Cancel 7?"


async def test_fields_that_were_left_out_take_their_defaults() -> None:
    person = Person({"who": {"action": "accept", "content": {"titled": "x", "several": ["q"]}}})
    done = await run(asking({"message": "?", "schema": CHOICES}), person)
    assert done.values["content"] == {"titled": "x", "several": ["q"], "kind": "usual"}


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ({}, Code.VALIDATION_MISSING_FIELD, "'name' is required"),
        ({"name": 7}, Code.VALIDATION_INVALID_PARAMS, "expected a string, found 7"),
        ("Ada", Code.VALIDATION_MISSING_FIELD, "'name' is required"),
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_refused(content: Json, code: Code, message: str) -> None:
    person = Person({"who": {"action": "accept", "content": content}})
    with pytest.raises(JackfieldError, match=message) as failed:
        await run(asking({"message": "?", "schema": NAME}), person)
    assert failed.value.code is code
    assert "node 'who'" in failed.value.message


@pytest.mark.parametrize("content", [{"plain": "c"}, {"titled": "The X"}, {"several": ["p", "r"]}])
async def test_only_what_is_offered_can_be_chosen(content: Json) -> None:
    person = Person({"who": {"action": "accept", "content": content}})
    with pytest.raises(JackfieldError, match="expected one of"):
        await run(asking({"message": "?", "schema": CHOICES}), person)


async def test_a_person_who_declines_ends_the_call() -> None:
    person = Person({"who": {"action": "decline"}})
    with pytest.raises(JackfieldError, match="The person declined what node 'who' asks: Really") as failed:
        await run(asking({"message": "Really?"}), person)
    assert failed.value.code is Code.CANCELLED


async def test_a_graph_may_go_on_without_an_answer() -> None:
    person = Person({"who": {"action": "cancel"}})
    done = await run(asking({"message": "Really?", "on_decline": "pass"}), person)
    assert done.values == {"action": "cancel", "content": {}}


async def test_a_person_may_be_sent_to_a_page() -> None:
    person = Person({"who": {"action": "accept"}})
    await run(asking({"message": "Sign in.", "url": "https://example.com/sign-in"}), person)
    assert person.asked[0][0].params == {"mode": "url", "message": "Sign in.", "url": "https://example.com/sign-in"}


SEVERAL: Json = {
    "user_name": {"type": "ask", "message": "Name?", "schema": NAME},
    "greeting": {"type": "sample", "prompt": "Greet.", "max_tokens": 50, "optional": True},
    "folders": {"type": "roots", "optional": True},
}
ANSWERS: Json = {
    "user_name": {"action": "accept", "content": {"name": "Ada"}},
    "greeting": {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m"},
    "folders": {"roots": [{"uri": "file:///a"}]},
}


async def test_several_questions_of_one_node_are_asked_at_once() -> None:
    person = Person(ANSWERS)
    done = await run(asking({"questions": SEVERAL}), person)
    assert [one.key for one in person.asked[0]] == ["user_name", "greeting", "folders"]
    assert done.values == {
        "answers": {
            "user_name": {"action": "accept", "content": {"name": "Ada"}},
            "greeting": {"text": "Hello", "content": {"type": "text", "text": "Hello"}, "model": "m"},
            "folders": {"roots": [{"uri": "file:///a"}], "uris": ["file:///a"]},
        }
    }


async def test_an_optional_question_is_not_put_to_a_client_that_does_not_take_it() -> None:
    person = Person(ANSWERS, methods=("elicitation/create",))
    done = await run(asking({"questions": SEVERAL}), person)
    assert list(done.values["answers"]) == ["user_name"]


async def test_without_anybody_to_ask_the_error_says_whom_it_would_ask() -> None:
    with pytest.raises(JackfieldError, match="Node 'who' asks the person, and this caller cannot be asked") as failed:
        await run(asking({"message": "?"}), None)
    assert failed.value.code is Code.INPUT_REQUIRED


async def test_a_model_is_given_its_messages_and_gives_its_text() -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]}
    person = Person({"who": {**answer, "model": "m", "stopReason": "endTurn"}})
    configuration = {"prompt": "Capital?", "max_tokens": 9, "system_prompt": "Be brief.", "models": ["haiku"]}
    done = await run(asking(configuration, type="sample"), person)
    assert (done.values["text"], done.values["model"], done.values["stop_reason"]) == ("Paris", "m", "endTurn")
    assert person.asked[0][0].params == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Capital?"}}],
        "maxTokens": 9,
        "systemPrompt": "Be brief.",
        "modelPreferences": {"hints": [{"name": "haiku"}]},
    }


async def test_roots_are_given_with_their_uris() -> None:
    person = Person({"client_roots": {"roots": [{"uri": "file:///a", "name": "A"}]}})
    done = await run(asking({"key": "client_roots"}, type="roots"), person)
    assert done.values == {"roots": [{"uri": "file:///a", "name": "A"}], "uris": ["file:///a"]}


@pytest.mark.parametrize(
    ("type", "result", "what"),
    [
        ("ask", {"action": "yes"}, "has no action"),
        ("sample", {"content": "text"}, "has no content"),
        ("roots", {}, "has no roots"),
    ],
)
async def test_an_answer_of_another_shape_is_a_bad_reply(type: str, result: Json, what: str) -> None:
    with pytest.raises(JackfieldError, match=what) as failed:
        await run(asking({}, type=type), Person({"who": result}))
    assert failed.value.code is Code.SOURCE_BAD_REPLY


@node("write", description="Writes.", effect=Effect.WRITES, configuration=NoConfiguration)
async def write(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {}


async def test_nothing_is_asked_after_a_write() -> None:
    person = Person({"who": {"action": "accept"}})
    graph = Graph((Node("w", "write"), Node("who", "ask", {"message": "?"})), (Edge("w", "who"),))
    with pytest.raises(JackfieldError, match="Node 'who' asks after node 'w' has written") as failed:
        await run(graph, person, kinds=[write])
    assert failed.value.code is Code.CONFIG_INVALID
    assert person.asked == []


class Absent(Person):
    async def ask(self, questions: Any) -> Any:
        self.asked.append(list(questions))
        raise JackfieldError(Code.INPUT_REQUIRED, "The call begins anew with the answer.")


async def test_a_question_that_ends_the_call_is_no_failure_that_a_graph_handles() -> None:
    nodes = (Node("who", "ask", {"message": "?"}), Node("output", "output"))
    graph = Graph(nodes, (Edge("who", "output", "$error", "error"),))
    with pytest.raises(JackfieldError) as failed:
        await run(graph, Absent())
    assert failed.value.code is Code.INPUT_REQUIRED


async def test_a_map_that_collects_errors_does_not_collect_a_question() -> None:
    inner = Graph(
        (Node("input", "input"), Node("who", "ask", {"message": "?"}), Node("output", "output")),
        (Edge("input", "who"), Edge("who", "output", "action", "action")),
    )
    configuration = {"items": [1, 2, 3], "$board": "#inner", "on_error": "collect", "concurrency": 1}
    graph = Graph(
        (Node("all", "map", configuration), Node("output", "output")),
        (Edge("all", "output", "list", "list"),),
        {"inner": inner},
    )
    client = Absent()
    with pytest.raises(JackfieldError) as failed:
        await run(graph, client)
    assert failed.value.code is Code.INPUT_REQUIRED
    assert len(client.asked) == 1


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "a form is"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "field 'a' of a form is one of"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, "array of choices"),
        ({"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}}, "the format 'ipv4'"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "'a' is required, and is no field"),
    ],
)
async def test_a_form_that_no_client_shows_is_refused(schema: Json, why: str) -> None:
    with pytest.raises(JackfieldError, match=why) as failed:
        await run(asking({"message": "?", "schema": schema}), Person())
    assert failed.value.code is Code.CONFIG_INVALID


def test_a_question_without_words_is_a_finding() -> None:
    found = [(one.code, one.subject) for one in check_graph(asking({}), registry())]
    assert found == [("INPUT_MISSING", "who")]
    assert check_graph(asking({"questions": {"folders": {"type": "roots"}}}), registry()) == ()
