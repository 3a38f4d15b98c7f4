"""The inventory of an S3-compatible bucket: its listing has the name, size and time of every object."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote_plus, urlencode

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.gap import Entry
from corral.domain.coverage.spec import S3Inventory
from corral.domain.ports.coverage import HttpAnswer, HttpReader
from corral.inventory.variables import fill_variables

_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


async def list_bucket(
    bucket: S3Inventory,
    names: Sequence[str],
    read: HttpReader,
    environment: Mapping[str, str],
    *,
    checksums: Mapping[str, str] | None = None,
) -> AsyncIterator[list[Entry]]:
    """Yield the objects whose name below the prefix matches the pattern, one page of the listing at a time."""
    request = _Listing(bucket, read, environment)
    token: str | None = None
    while True:
        page = _parse_page(await request.page(token), bucket)
        # Some stores ignore `encoding-type`, and decoding a plain name would change it.
        decode = unquote_plus if page["is_encoded"] else str
        listed = [_read_fields(each, decode) for each in page["objects"]]
        found = [_read_object(each, bucket, names, checksums) for each in listed]
        yield [entry for entry in found if entry is not None]
        token = page["next"]
        if token is None:
            return


class _Listing:
    def __init__(self, bucket: S3Inventory, read: HttpReader, environment: Mapping[str, str]) -> None:
        from aws_request_signer import AwsRequestSigner  # noqa: PLC0415 - only where a source uses S3

        endpoint = bucket.endpoint or f"https://s3.{bucket.region}.amazonaws.com"
        self._base = f"{endpoint.rstrip('/')}/{quote(bucket.bucket)}"
        self._prefix = bucket.prefix
        self._read = read
        self._signer = AwsRequestSigner(
            bucket.region,
            fill_variables(bucket.access_key, environment),
            fill_variables(bucket.secret_key, environment),
            "s3",
            environment.get("AWS_SESSION_TOKEN") or None,
        )

    async def page(self, token: str | None) -> HttpAnswer:
        query = {"list-type": "2", "encoding-type": "url", "prefix": self._prefix}
        if token is not None:
            query["continuation-token"] = token
        url = f"{self._base}?{urlencode(sorted(query.items()), quote_via=quote)}"
        headers = self._signer.sign_with_headers("GET", url, content_hash=_EMPTY_SHA256)
        return await self._read(url, headers)


def _parse_page(answer: HttpAnswer, bucket: S3Inventory) -> dict[str, Any]:
    from corral.extract.xml.elements import xml_elements  # noqa: PLC0415 - only where a source uses S3

    text = answer.body.decode("utf-8", "replace")
    start = text.find("<", text.find("?>") + 1 if text.startswith("<?xml") else 0)
    tree = xml_elements(text[start:]) if start >= 0 else None
    root = None if tree is None else tree.root
    if answer.status != 200 or root is None or _name(root) != "ListBucketResult":
        fields = {} if root is None else {_name(child): child.text for child in root}
        reason = fields.get("Code") or f"status {answer.status}"
        raise InventoryUnreadable(
            f"cannot list the bucket {bucket.bucket}: {reason}", hint=str(fields.get("Message") or "check the endpoint")
        )
    listed = [child for child in root if _name(child) == "Contents"]
    fields = {_name(child): child.text for child in root if _name(child) != "Contents"}
    token = fields.get("NextContinuationToken") if fields.get("IsTruncated") == "true" else None
    if fields.get("IsTruncated") == "true" and not token:
        # The remaining objects would count as missing and be collected again.
        raise InventoryUnreadable(
            f"cannot list the bucket {bucket.bucket}: the listing is cut without a token for the rest",
            hint="the store has to support ListObjectsV2",
        )
    return {"objects": listed, "next": token, "is_encoded": fields.get("EncodingType") == "url"}


def _read_fields(element: Any, decode: Callable[[str], str]) -> dict[str, str]:
    fields = {_name(child): child.text or "" for child in element}
    return {**fields, "Key": decode(fields["Key"])}


def _read_object(
    fields: Mapping[str, str], bucket: S3Inventory, names: Sequence[str], checksums: Mapping[str, str] | None
) -> Entry | None:
    relative = fields["Key"].removeprefix(bucket.prefix).removeprefix("/")
    found = bucket.pattern.regex.fullmatch(relative)
    if found is None:
        return None
    modified = datetime.fromisoformat(fields["LastModified"].replace("Z", "+00:00")).timestamp()
    tag = fields.get("ETag", "").strip('"').lower()
    expected = None if checksums is None else checksums.get(relative)
    problem = None
    # The ETag of a multipart upload has a dash and is not a checksum of the object.
    if expected is not None and len(expected) == len(tag) == 32 and tag != expected:
        problem = "checksum differs from the manifest"
    return Entry(found.group(*names) if len(names) > 1 else (found[names[0]],), int(fields["Size"]), modified, problem)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
