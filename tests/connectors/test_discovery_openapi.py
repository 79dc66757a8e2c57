"""OpenAPI documents of each version as sources: addresses, parameters, records, pages, credentials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jackfield.connectors.discovery.openapi import from_yaml, is_openapi, sources_of
from jackfield.graphs.errors import Code, JackfieldError

PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "status": {"type": "string", "enum": ["available", "sold"]},
        "born": {"type": "string", "format": "date"},
        "owner": {"type": "object", "properties": {"city": {"type": "string"}, "password": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
}
ADDRESS = "https://api.example.com/openapi.json"
THREE: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "/{base}", "variables": {"base": {"default": "v1"}}}],
    "security": [{"token": []}],
    "paths": {
        "/pets": {
            "get": {
                "summary": "All pets",
                "parameters": [
                    {"name": "status", "in": "query", "schema": {"type": "string", "enum": ["available", "sold"]}},
                    {"name": "page", "in": "query", "schema": {"type": "integer"}},
                    {"name": "per_page", "in": "query", "schema": {"type": "integer", "maximum": 50}},
                    {"$ref": "#/components/parameters/Since"},
                ],
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "data": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
                                        "total": {"type": "integer"},
                                    },
                                }
                            }
                        }
                    }
                },
            },
            "post": {"responses": {}},
        },
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {
                "security": [],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}}
                },
            },
        },
        "/health": {"get": {"responses": {"204": {"description": "fine"}}}},
        "/old": {"get": {"deprecated": True, "responses": {"200": {"content": {}}}}},
    },
    "components": {
        "schemas": {"Pet": PET},
        "parameters": {"Since": {"name": "type", "in": "query", "schema": {"type": "string", "format": "date-time"}}},
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
    },
}


def test_a_list_and_one_of_it_become_two_sources_with_their_parameters() -> None:
    pets, one = sources_of(THREE, ADDRESS, "shop")
    assert pets.source == {
        "id": "pets",
        "type": "rest",
        "url": "https://api.example.com/v1/pets",
        "params": {"status": ":status", "type": ":pet_type"},
        "auth": {"type": "bearer", "secret_key": "SHOP_TOKEN"},
        "data_path": "data",
        "pagination": {
            "strategy": "page",
            "page_param": "page",
            "size_param": "per_page",
            "page_size": 50,
            "max_pages": 100,
        },
        "schema": {
            "id": "int",
            "name": "string",
            "status": "string",
            "born": "date",
            "owner_city": "string",
            "owner_password": "string",
        },
    }
    assert [(argument.name, argument.type, argument.enum) for argument in pets.arguments] == [
        ("status", "string", ("available", "sold")),
        ("pet_type", "datetime", ()),
    ]
    assert one.source["url"] == "https://api.example.com/v1/pets/{pet_id}"
    assert one.source["data_path"] == "[@]"
    assert "auth" not in one.source
    assert one.is_single
    assert one.arguments[0].required


def test_secret_looking_fields_are_marked() -> None:
    pets = sources_of(THREE, ADDRESS, "shop")[0]
    assert [column.name for column in pets.columns if column.is_secret] == ["owner_password"]
    assert pets.key is not None
    assert pets.key.name == "id"


def test_version_two_has_its_own_places_for_the_same() -> None:
    two = {
        "swagger": "2.0",
        "host": "api.example.com",
        "basePath": "/v2",
        "schemes": ["http", "https"],
        "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "security": [{"key": []}],
        "definitions": {"Pet": PET},
        "paths": {
            "/pets": {
                "get": {
                    "parameters": [
                        {"name": "offset", "in": "query", "type": "integer"},
                        {"name": "limit", "in": "query", "type": "integer", "default": 20},
                        {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}},
                    ],
                    "responses": {200: {"schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}}}},
                }
            }
        },
    }
    (pets,) = sources_of(two, ADDRESS, "shop")
    assert pets.source["url"] == "https://api.example.com/v2/pets"
    assert "data_path" not in pets.source
    assert pets.source["auth"] == {"type": "api_key", "secret_key": "SHOP_API_KEY", "header_name": "X-Key"}
    assert pets.pagination is not None
    assert (pets.pagination["strategy"], pets.pagination["page_size"]) == ("offset", 20)
    assert [(argument.name, argument.type, argument.items) for argument in pets.arguments] == [
        ("tags", "array", "string")
    ]


def test_version_three_one_has_types_that_may_be_null_and_schemas_made_of_parts() -> None:
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Pet"}],
        "properties": {"weight": {"type": ["number", "null"]}},
    }
    document = json.loads(json.dumps(THREE))
    document["openapi"] = "3.1.0"
    answer = document["paths"]["/pets"]["get"]["responses"]["200"]["content"]["application/json"]
    answer["schema"] = {"anyOf": [{"type": "null"}, {"type": "array", "items": schema}]}
    pets = sources_of(document, ADDRESS, "shop")[0]
    columns = {column.name: column for column in pets.columns}
    assert columns["weight"].type == "float"
    assert columns["weight"].nullable
    assert columns["id"].type == "int"


def test_a_size_that_the_api_does_not_bound_is_not_asked_for_lest_a_short_page_seem_the_last() -> None:
    def paged(*names: str) -> dict[str, Any]:
        document = json.loads(json.dumps(THREE))
        parameters = [{"name": name, "in": "query", "schema": {"type": "integer"}} for name in names]
        document["paths"]["/pets"]["get"]["parameters"] = parameters
        return dict(sources_of(document, ADDRESS, "shop")[0].source)

    assert paged("page", "per_page")["pagination"] == {"strategy": "page", "page_param": "page", "max_pages": 100}
    assert paged("skip", "limit")["pagination"] == {"strategy": "offset", "offset_param": "skip", "max_pages": 100}
    alone = paged("limit")
    assert "pagination" not in alone
    assert (alone["limit_param"], "params" in alone) == ("limit", False)


def test_references_that_lead_in_circles_end() -> None:
    document = json.loads(json.dumps(THREE))
    document["components"]["schemas"]["Pet"] = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "parent": {"$ref": "#/components/schemas/Pet"}},
    }
    document["components"]["schemas"]["Loop"] = {"$ref": "#/components/schemas/Loop"}
    pets = sources_of(document, ADDRESS, "shop")[0]
    assert [column.name for column in pets.columns][:2] == ["id", "parent_id"]


def test_credentials_given_for_one_host_are_not_sent_to_another_that_the_document_names() -> None:
    document = {**THREE, "servers": [{"url": "https://elsewhere.example.net"}], "security": []}
    given = {"type": "bearer", "secret_key": "MINE"}
    assert "auth" not in sources_of(document, ADDRESS, "shop", given)[0].source
    assert sources_of(THREE, ADDRESS, "shop", given)[0].source["auth"] == given


def test_records_of_a_path_that_says_what_is_done_are_called_after_their_schema() -> None:
    document = json.loads(json.dumps(THREE))
    paths = document["paths"]
    paths["/pet/findByStatus"], paths["/pet/findByTags"] = (
        paths.pop("/pets"),
        json.loads(json.dumps(THREE["paths"]["/pets"])),
    )
    document["components"]["schemas"]["PetResponse"] = document["components"]["schemas"].pop("Pet")
    renamed = json.loads(json.dumps(document).replace("#/components/schemas/Pet", "#/components/schemas/PetResponse"))
    assert [one.id for one in sources_of(renamed, ADDRESS, "shop")] == ["pets", "pets_find_by_tags", "pet_by_id"]


def test_a_document_whose_host_is_a_variable_gives_sources_at_that_variable() -> None:
    pets = sources_of(THREE, "{{ env:SHOP_API }}/docs/openapi.json", "shop", {"type": "bearer", "secret_key": "MINE"})[
        0
    ]
    assert pets.source["url"] == "{{ env:SHOP_API }}/v1/pets"
    assert pets.source["auth"]["secret_key"] == "MINE"
    elsewhere = {**THREE, "servers": [{"url": "https://elsewhere.example.net"}], "security": []}
    away = sources_of(elsewhere, "{{ env:SHOP_API }}/x", "shop", {"type": "bearer", "secret_key": "MINE"})[0]
    assert (away.source["url"], "auth" in away.source) == ("https://elsewhere.example.net/pets", False)


def test_yaml_is_read_and_what_has_no_records_is_told() -> None:
    document = from_yaml("openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses: {}\n")
    assert is_openapi(document)
    with pytest.raises(JackfieldError) as told:
        sources_of(document, ADDRESS, "shop")
    assert told.value.code is Code.SCHEMA_NOT_FOUND


@pytest.mark.parametrize("document", [{}, [], {"openapi": "3.0.0"}, {"paths": {}}, {"swagger": "1.2", "paths": {}}])
def test_other_json_is_no_openapi(document: Any) -> None:
    assert not is_openapi(document)
