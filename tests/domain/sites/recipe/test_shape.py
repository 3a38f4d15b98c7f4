from typing import Any

import pytest

from corral.domain.sites.recipe.shape import shape_of

FIELDS = {"name": {"call": 0, "value": "{$.name}"}}


def a_recipe(url: str, body: Any = None, fields: dict[str, Any] | None = None) -> dict[str, Any]:
    method = "GET" if body is None else "POST"
    return {"calls": [{"method": method, "url": url, "headers": {}, "body": body}], "fields": fields or FIELDS}


@pytest.mark.parametrize(
    "one, other",
    [
        (a_recipe("{origin}/api/{path.1}?t=abc"), a_recipe("{origin}/api/{path.1}?t=xyz")),
        (a_recipe("{origin}/api/3f9a77c0de/{path.1}"), a_recipe("{origin}/api/00ffa1b2c3/{path.1}")),
        (a_recipe("{origin}/api/1700000001/x"), a_recipe("{origin}/api/1700099999/x")),
        (a_recipe("{origin}/q", {"id": "{path.1}", "n": "a"}), a_recipe("{origin}/q", {"id": "{path.1}", "n": "b"})),
        (a_recipe("https://api.test/x?a=1&b=2"), a_recipe("https://api.test/x?b=3&a=4")),
    ],
)
def test_values_that_the_calls_send_are_no_part_of_the_shape(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert shape_of(one) == shape_of(other)


@pytest.mark.parametrize(
    "other",
    [
        a_recipe("{origin}/api/v2/{path.1}?t=a"),
        a_recipe("{origin}/api/v1/{path.1}?key=a"),
        a_recipe("{origin}/api/v1/{path.1}?t={path.2}"),
        a_recipe("https://api.test/api/v1/{path.1}?t=a"),
        a_recipe("{origin}/api/v1/{path.1}?t=a", {"x": 1}),
        a_recipe("{origin}/api/v1/{path.1}?t=a", fields={"name": {"call": 0, "value": "{$.title}"}}),
    ],
)
def test_where_calls_go_and_fields_stand_is_the_shape(other: dict[str, Any]) -> None:
    assert shape_of(a_recipe("{origin}/api/v1/{path.1}?t=a")) != shape_of(other)
