"""Schemas of the fields of a job."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, model_validator

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import DEFAULT_FILE, MAX_CODE_BYTES, make_parser
from corral.domain.fields.parse import MAX_FALLBACKS, parse_field
from corral.domain.fields.spec import MAX_SELECTOR_CHARS, FieldSpec

# No control characters: a field name ends up in file headers, tables and logs.
FieldName = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
# The domain checks the length, with an error that names the kind of the selector.
Selector = Annotated[str, StringConstraints(min_length=1), Field(json_schema_extra={"maxLength": MAX_SELECTOR_CHARS})]
AttributeName = Annotated[FieldName, StringConstraints(min_length=1)]
FieldType = Literal[
    "string",
    "text",
    "html",
    "markdown",
    "number",
    "integer",
    "decimal",
    "percentage",
    "money",
    "rating",
    "date",
    "time",
    "datetime",
    "duration",
    "boolean",
    "url",
    "image",
    "email",
    "phone",
    "address",
    "name",
    "category",
    "list",
]
Nth = Annotated[int, Field(strict=True, ge=-10_000, le=10_000)]


Length = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
ConstText = Annotated[str, StringConstraints(max_length=10_000)]
MomentText = Annotated[str, StringConstraints(max_length=100)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500)]
ConstNumber = Annotated[float, Field(strict=True, ge=-1e300, le=1e300)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ItemSelector(Strict):
    css: Selector | None = None
    xpath: Selector | None = None
    jsonpath: Selector | None = None


class Rules(Strict):
    """Checks of a value. A value that fails one is kept, and the run is partial."""

    required: StrictBool | None = None
    min_length: Length | None = None
    max_length: Length | None = None
    min: ConstNumber | MomentText | None = Field(None, description="a number, or an ISO 8601 date or time")
    max: ConstNumber | MomentText | None = None
    allowed: list[ConstText | ConstNumber | StrictBool] | None = Field(None, max_length=1_000)
    pattern: Selector | None = Field(None, description="a regular expression that matches anywhere in the text")


class ValueRecipe(Strict):
    """One way to find a value: a selector, or one of `const`, `page` and `bare`."""

    css: Selector | None = Field(None, description="CSS selector")
    selector: Selector | None = Field(None, description="the same as `css`; give one of them")
    xpath: Selector | None = Field(None, description="XPath 1.0 expression, instead of `css`")
    jsonpath: Selector | None = Field(
        None, description="path into a JSON answer, instead of `css`: `$.items[*].name`, `$..price`"
    )
    attr: AttributeName | None = Field(
        None, description="take this attribute of the matched element instead of its text"
    )
    regex: Selector | None = Field(
        None,
        description="searched in the value of the selector, or in the text of the page; the first group counts",
    )
    item: Selector | ItemSelector | None = Field(
        None, description="selects the objects of a list, such as the rows of a table; goes with `fields`"
    )
    fields: "list[FieldName | FieldRecipe] | None" = Field(
        None,
        max_length=200,
        description="the value is an object with these fields, found inside the matched element",
    )
    join: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="joins all matches to one text, with this separator"
    )
    first: StrictBool | None = Field(None, description="the same as `nth: 1`")
    last: StrictBool | None = Field(None, description="the same as `nth: -1`")
    nth: Nth | None = Field(None, description="take this match, counted from 1, or from -1 at the end")
    const: ConstText | ConstNumber | StrictBool | None = Field(
        None, description="a constant value, independent of the page"
    )
    page: Literal["url", "requested_url", "time", "status"] | None = Field(
        None, description="a property of the page itself: its URL after redirects, the time it was read …"
    )
    bare: FieldName | None = Field(None, description="look for this name in the metadata of the page")

    def document(self) -> dict[str, Any]:
        """Return only the supplied options."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class FieldRecipe(ValueRecipe):
    name: FieldName
    type: FieldType | None = Field(
        None, description="type that the value is converted to; a value that cannot be converted counts as not found"
    )
    all: StrictBool = Field(False, description="take every match, as a list")
    fallbacks: list[ValueRecipe] | None = Field(
        None, max_length=MAX_FALLBACKS, description="tried in this order while the recipe before finds nothing"
    )
    locale: Annotated[str, StringConstraints(min_length=2, max_length=40)] | None = Field(
        None, description="locale of the values, such as `de-CH`; default: the language of the page"
    )
    rules: Rules | None = None
    required: StrictBool | None = Field(None, description="false: a page without this field is complete")
    optional: StrictBool | None = Field(None, description="the same as `required: false`")

    @model_validator(mode="after")
    def _check_selectors(self) -> "FieldRecipe":
        if None not in (self.css, self.selector) and self.css != self.selector:
            raise ValueError("css and selector are the same option with different values; give one of them")
        return self

    def spec(self, field: str = "fields") -> FieldSpec:
        return parse_field(self.document(), field=field)


def field_specs(fields: list[str | FieldRecipe], field: str = "fields") -> tuple[FieldSpec, ...]:
    return tuple(
        parse_field(each, field=f"{field}.{index}") if isinstance(each, str) else each.spec(f"{field}.{index}")
        for index, each in enumerate(fields)
    )


class OwnCode(Strict):
    """A Python file whose function `parse(page)` returns the records. Refused unless APP_ALLOW_OWN_CODE is set."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CODE_BYTES)]
    file: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        DEFAULT_FILE, description="the file name in errors"
    )

    def spec(self, field: str = "parse") -> FieldSpec:
        return make_parser(self.code, self.file, field=field)


class PageFieldsBody(Strict):
    match: Pattern = Field(description="such as /product/*")
    fields: list[FieldName | FieldRecipe] = Field(default_factory=list, max_length=200)
    parse: OwnCode | None = None

    def document(self, index: int, field: str = "page_fields") -> dict[str, Any]:
        specs = field_specs(self.fields, f"{field}.{index}.fields")
        if self.parse is not None:
            specs = (*specs, self.parse.spec(f"{field}.{index}.parse"))
        if not specs:
            hint = 'for example ["price"]'
            raise BadInput("a pattern names at least one field", field=f"{field}.{index}.fields", hint=hint)
        return {"match": self.match, "fields": [spec.document() for spec in specs]}
