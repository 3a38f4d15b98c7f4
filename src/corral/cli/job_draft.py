"""Jobs from command-line arguments."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from corral.cli.options import FieldOptions
from corral.cli.secret_input import text_or_file
from corral.domain.errors import BadInput
from corral.domain.fields.own_code import MAX_CODE_BYTES, make_parser
from corral.domain.fields.page_fields import RecipeFile, choose_fields, parse_recipe_file
from corral.domain.fields.record_key import check_record_key, parse_record_key
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, OnTrouble, Priority, Strategy
from corral.domain.jobs.schedule import check_frequency
from corral.domain.json_path import parse_query
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.canonical import canonical_url
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.net.url import Target, parse_target
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds
from corral.domain.secret import Secret
from corral.engine.usecases.jobs import check_fields, seal_proxy
from corral.extract.selectors.spec import check_xpath, compile_check
from corral.files.yaml_file import UnreadableYaml, read_yaml
from corral.runtime.new_ids import new_id
from corral.settings import Settings
from corral.wiring.vault import vault_of

DEFAULT_PORTS = (80, 443)
_MAX_RECIPE_BYTES = 8 * 1024 * 1024

_ATTRIBUTE = re.compile(r"(?P<css>.+)@(?P<attr>[A-Za-z][\w:-]*)", re.DOTALL)


def parse_fields(options: FieldOptions, url: str | None, *, takes_patterns: bool = False) -> tuple[FieldSpec, ...]:
    """Return the requested fields, checked as the API checks them.

    With `takes_patterns` the patterns of a recipe are left to `parse_patterns`. Otherwise the pattern that matches
    `url` applies; None stands for pages of many addresses.
    """

    recipe = load_recipe(options.recipe)
    own = recipe.fields if takes_patterns or not recipe.pages else _fields_of_page(recipe, url)
    specs = _check_one_parser((*own, *_fields_of(options)))
    if not specs and recipe.pages:
        return ()
    if not specs:
        hint = "for example --fields title,price, or --parse FILE"
        raise BadInput("no fields are requested", field="fields", hint=hint)
    check_fields(specs)
    check_record_key(parse_key(options), specs, field="key")
    return specs


def _fields_of_page(recipe: RecipeFile, url: str | None) -> tuple[FieldSpec, ...]:
    if url is None:
        hint = "move them to `fields`, or use the file with `corral crawl`"
        raise BadInput("a list cannot use the recipe: it has fields for patterns of pages", field="recipe", hint=hint)
    specs = choose_fields(canonical_url(parse_target(url)), recipe.pages, recipe.fields)
    if not specs:
        patterns = ", ".join(page_fields.match for page_fields in recipe.pages[:5])
        problem = f"no pattern of the recipe matches {url[:200]}, and it has no fields for every page"
        raise BadInput(problem, field="recipe", hint=f"its patterns are {patterns}")
    return specs


def parse_patterns(options: FieldOptions) -> list[dict[str, Any]]:
    """Return the fields for patterns of pages, as `page_fields` of a job takes them."""
    return [each.document() for each in load_recipe(options.recipe).pages]


def crawl_fields(options: FieldOptions) -> dict[str, Any]:
    """Return the fields of a crawl as a part of its plan."""
    recipe = load_recipe(options.recipe)
    plan: dict[str, Any] = {
        "fields": [spec.document() for spec in _check_one_parser((*recipe.fields, *_fields_of(options)))],
        "page_fields": [each.document() for each in recipe.pages],
        "only_fields": recipe.only_fields,
        "record_key": list(parse_key(options)),
    }
    return {name: value for name, value in plan.items() if value}


def parse_key(options: FieldOptions) -> tuple[str, ...]:
    """Return the key of the records, from the option or the recipe file."""
    if options.key is None:
        return load_recipe(options.recipe).key
    return parse_record_key([name.strip() for name in options.key.split(",")], field="key")


def _check_one_parser(specs: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
    if sum(spec.is_code for spec in specs) > 1:
        hint = "leave out --parse, or `parse` of the recipe file"
        raise BadInput("--parse and the recipe file name two files with own code", field="parse", hint=hint)
    return specs


def _fields_of(options: FieldOptions) -> tuple[FieldSpec, ...]:
    specs = [FieldSpec(name.strip()) for name in options.fields.split(",")] if options.fields else []
    specs += [_by_css(text) for text in options.css or ()]
    specs += [_by_xpath(text) for text in options.xpath or ()]
    specs += [_by_jsonpath(text) for text in options.jsonpath or ()]
    if options.parse is not None:
        specs.append(make_parser(_read_code(options.parse), options.parse.name))
    return tuple(specs)


def parse_quality(text: str | None) -> Thresholds:
    return USUAL_THRESHOLDS if text is None else Thresholds.parse(text)


def load_recipe(path: Path | None) -> RecipeFile:
    """Read a recipe file; JSON is YAML, too."""
    if path is None:
        return RecipeFile()
    return parse_recipe_file(read_recipe(path), lambda file: _read_code(path.parent / file))


def read_recipe(path: Path) -> Any:
    try:
        return read_yaml(path, _MAX_RECIPE_BYTES)
    except FileNotFoundError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", field="recipe") from None
    except UnreadableYaml as error:
        raise BadInput(error.message, field="recipe") from None


def _read_code(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_CODE_BYTES:
            hint = "install what it needs as a package on the workers, and import it"
            raise BadInput(f"{path} has more than {MAX_CODE_BYTES} bytes", field="parse", hint=hint)
        return path.read_text("utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", field="parse") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8", field="parse") from None


def find_code(options: FieldOptions, specs: tuple[FieldSpec, ...]) -> Path | None:
    """Return the file with own code of these fields, of the option or of the recipe file."""
    if options.parse is not None or options.recipe is None:
        return options.parse
    name = next((spec.file for spec in specs if spec.is_code), None)
    document = read_recipe(options.recipe)
    files = [each.get("parse") for each in (document, *(document.get("pages") or ()))]
    file_name = next((file for file in files if isinstance(file, str) and name and Path(file).name == name), None)
    return options.recipe.parent / file_name if file_name else None


def _by_css(text: str) -> FieldSpec:

    name, selector = _split_pair("css", text, "SELECTOR", "price=.price")
    match = _ATTRIBUTE.fullmatch(selector)
    chosen, attribute = (match["css"], match["attr"]) if match else (selector, None)
    return FieldSpec(name, css=compile_check(chosen, field="css"), attr=attribute)


def _by_xpath(text: str) -> FieldSpec:

    name, expression = _split_pair("xpath", text, "EXPRESSION", "price=//b/@data-price")
    return FieldSpec(name, xpath=check_xpath(expression, field="xpath"))


def _by_jsonpath(text: str) -> FieldSpec:

    name, path = _split_pair("jsonpath", text, "PATH", "price=$.items[0].price")
    parse_query(path, field="jsonpath")
    return FieldSpec(name, jsonpath=path)


def _split_pair(option: str, text: str, what: str, example: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not equals or not name.strip():
        problem = f"--{option} {text[:80]!r} is not NAME={what}"
        raise BadInput(problem, field=option, hint=f"for example --{option} {example}")
    return name.strip(), rest


def draft_job(
    settings: Settings,
    url: str,
    fields: tuple[FieldSpec, ...],
    *,
    strategy: Strategy = Strategy.AUTO,
    frequency: str = "on_demand",
    priority: Priority = Priority.MEDIUM,
    max_attempts: int | None = None,
    timeout_s: float | None = None,
    respect_robots: bool = True,
    verify_tls: bool = True,
    requires_auth: bool = False,
    trusts_host: bool = False,
    proxy: ProxyPolicy | None = None,
    on_captcha: OnTrouble = OnTrouble.FAIL,
    on_missing: OnTrouble = OnTrouble.FAIL,
    record_key: tuple[str, ...] = (),
    quality: Thresholds = USUAL_THRESHOLDS,
) -> Job:
    """Return the job that the arguments describe, checked as far as possible without a request."""

    target = parse_target(url)
    trusted = trust_typed_host(settings, url) if trusts_host else ()
    check_literal(target, EgressPolicy(settings.egress_allow), trusted_hosts=frozenset(trusted))
    check_frequency(frequency)
    return Job(
        id=JobId(new_id()),
        target_url=target.url,
        fields=fields,
        created_at=datetime.now(UTC),
        requires_auth=requires_auth,
        frequency=frequency,
        strategy=strategy,
        priority=priority,
        max_attempts=max_attempts or settings.default_max_attempts,
        timeout_s=timeout_s,
        respect_robots=respect_robots,
        verify_tls=verify_tls,
        trusted_hosts=trusted,
        proxy=proxy,
        on_captcha=on_captcha,
        on_missing=on_missing,
        record_key=record_key,
        quality=quality,
    )


def proxy_of(settings: Settings, text: str | None, *, dry_run: bool) -> ProxyPolicy | None:
    """Return the proxy from the option or its file. A dry run seals nothing, because sealing may create a key."""

    if text is None:
        return None

    def seal(credentials: Secret[str], bound: str) -> str:
        return "" if dry_run else vault_of(settings).keys_to_seal().seal_text(credentials, bound)

    return seal_proxy(text_or_file(text, "--proxy"), EgressPolicy(settings.egress_allow), seal, field="proxy")


def trust_typed_host(settings: Settings, url: str) -> tuple[str, ...]:
    """Return the hosts that a typed address makes reachable; raise BadInput if the address is never allowed."""

    target = parse_target(url)
    trusted = _list_trusted_hosts(target)
    check_literal(target, EgressPolicy(settings.egress_allow), trusted_hosts=frozenset(trusted))
    return trusted


def _list_trusted_hosts(target: Target) -> tuple[str, ...]:
    """Return the typed host with its port; with a default port, both http and https."""
    ports = DEFAULT_PORTS if target.port in DEFAULT_PORTS else (target.port,)
    return tuple(f"{target.host}:{port}" for port in ports)
