"""Fields of a job, as they go over the wire."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, model_validator

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import DEFAULT_FILE, MAX_CODE_BYTES, make_parser
from corral.domain.fields.parse import MAX_FALLBACKS, parse_field
from corral.domain.fields.spec import MAX_SELECTOR_CHARS, FieldSpec

# No control characters: a field name ends up in file headers, tables and logs.
FieldName = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
# Its length is checked with the rest of it, where the error can say what kind of selector it is.
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
    """What a value has to be like; one that is not is kept, and the run is partial."""

    required: StrictBool | None = None
    min_length: Length | None = None
    max_length: Length | None = None
    min: ConstNumber | MomentText | None = Field(None, description="a number, or an ISO 8601 date or time")
    max: ConstNumber | MomentText | None = None
    allowed: list[ConstText | ConstNumber | StrictBool] | None = Field(None, max_length=1_000)
    pattern: Selector | None = Field(None, description="a regular expression that matches anywhere in the text")


class ValueRecipe(Strict):
    """One way to a value: a selector, or one of `const`, `page` and `bare`."""

    css: Selector | None = Field(None, description="CSS selector")
    selector: Selector | None = Field(None, description="the same as `css`; give one of them")
    xpath: Selector | None = Field(None, description="XPath 1.0 expression, instead of `css`")
    jsonpath: Selector | None = Field(
        None, description="path into a JSON answer, instead of `css`: `$.items[*].name`, `$..price`"
    )
    attr: AttributeName | None = Field(
        None, description="take this attribute of what `css` or `xpath` matches instead of its text"
    )
    regex: Selector | None = Field(
        None,
        description="search for this in what the selector finds, or in the text of the page; the first group is taken",
    )
    item: Selector | ItemSelector | None = Field(
        None, description="selects the objects of a list, such as the rows of a table; goes with `fields`"
    )
    fields: "list[FieldName | FieldRecipe] | None" = Field(
        None,
        max_length=200,
        description="the value is an object with these fields, looked for inside of what the selector matches",
    )
    join: Annotated[str, StringConstraints(max_length=100)] | None = Field(
        None, description="all matches as one text, with this between them"
    )
    first: StrictBool | None = Field(None, description="the same as `nth: 1`")
    last: StrictBool | None = Field(None, description="the same as `nth: -1`")
    nth: Nth | None = Field(None, description="take this match, counted from 1, or from -1 at the end")
    const: ConstText | ConstNumber | StrictBool | None = Field(None, description="this value, whatever the page shows")
    page: Literal["url", "requested_url", "time", "status"] | None = Field(
        None, description="what is known of the page itself: its URL after redirects, when it was read …"
    )
    bare: FieldName | None = Field(None, description="look for this name in what the page says about itself")

    def document(self) -> dict[str, Any]:
        """What was said, and nothing else."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class FieldRecipe(ValueRecipe):
    name: FieldName
    type: FieldType | None = Field(
        None, description="what the value is converted to; one that cannot be converted counts as not found"
    )
    all: StrictBool = Field(False, description="take every match, as a list")
    fallbacks: list[ValueRecipe] | None = Field(
        None, max_length=MAX_FALLBACKS, description="tried in this order where the recipe before finds nothing"
    )
    locale: Annotated[str, StringConstraints(min_length=2, max_length=40)] | None = Field(
        None, description="how values are written, such as `de-CH`; without it the page's own language"
    )
    rules: Rules | None = None
    required: StrictBool | None = Field(None, description="false: a page without it lacks nothing")
    optional: StrictBool | None = Field(None, description="the same as `required: false`")

    @model_validator(mode="after")
    def _says_one_thing(self) -> "FieldRecipe":
        if None not in (self.css, self.selector) and self.css != self.selector:
            raise ValueError("css and selector are the same thing and say different things; give one of them")
        return self

    def spec(self, field: str = "fields") -> FieldSpec:
        return parse_field(self.document(), field=field)


def field_specs(fields: list[str | FieldRecipe], field: str = "fields") -> tuple[FieldSpec, ...]:
    return tuple(
        parse_field(each, field=f"{field}.{place}") if isinstance(each, str) else each.spec(f"{field}.{place}")
        for place, each in enumerate(fields)
    )


class OwnCode(Strict):
    """A Python file whose function `parse(page)` returns the records. Refused unless APP_ALLOW_OWN_CODE is set."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CODE_BYTES)]
    file: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        DEFAULT_FILE, description="what errors name"
    )

    def spec(self, field: str = "parse") -> FieldSpec:
        return make_parser(self.code, self.file, field=field)


class PageFieldsBody(Strict):
    match: Pattern = Field(description="such as /product/*")
    fields: list[FieldName | FieldRecipe] = Field(default_factory=list, max_length=200)
    parse: OwnCode | None = None

    def document(self, place: int, field: str = "page_fields") -> dict[str, Any]:
        specs = field_specs(self.fields, f"{field}.{place}.fields")
        if self.parse is not None:
            specs = (*specs, self.parse.spec(f"{field}.{place}.parse"))
        if not specs:
            hint = 'for example ["price"]'
            raise BadInput("a pattern names at least one field", field=f"{field}.{place}.fields", hint=hint)
        return {"match": self.match, "fields": [spec.document() for spec in specs]}
