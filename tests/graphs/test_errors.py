from jackfield.graphs.errors import STATUS, Code, JackfieldError


def test_every_code_has_a_status() -> None:
    assert set(STATUS) == set(Code)


def test_an_error_renders_as_the_one_shape() -> None:
    error = JackfieldError(Code.TOOL_NOT_FOUND, "No tool 'x'.", "Did you mean 'y'?", {"available": ["y"]})
    assert error.as_json() == {
        "code": "TOOL_NOT_FOUND",
        "message": "No tool 'x'.",
        "hint": "Did you mean 'y'?",
        "details": {"available": ["y"]},
    }
    assert (error.exit_code, error.http_status) == (2, 404)
