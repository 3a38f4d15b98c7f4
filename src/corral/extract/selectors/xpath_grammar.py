"""Check that a text is XPath 1.0, and find the position of the first error.

lxml reports neither the position of a syntax error nor, before it evaluates the expression, an unknown function. This
module reports both when the job is created. See ADR 36.
"""

import re
from dataclasses import dataclass

# No real expression is nested deeper, and the parser is recursive.
_MAX_NESTED = 40
_NAME = r"[^\W\d][\w.-]*"
_TOKEN = re.compile(
    rf"""\s*(?:
    (?P<literal>"[^"]*"|'[^']*')
  | (?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
  | (?P<name>{_NAME}(?::(?!:)(?:{_NAME}|\*))?)
  | (?P<sign>//|::|\.\.|!=|<=|>=|[][()@,./|+=<>*$-])
    )""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_UPWARDS = frozenset(("ancestor", "ancestor-or-self", "parent", "preceding", "preceding-sibling"))
_AXES = _UPWARDS | frozenset(
    ("attribute", "child", "descendant", "descendant-or-self", "following", "following-sibling", "namespace", "self")
)
_NODE_TYPES = frozenset(("comment", "text", "processing-instruction", "node"))
_OPERATORS = frozenset(("or", "and", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "div", "mod", "|"))
# The core functions, with how many arguments they take at least and at most.
_FUNCTIONS = {
    "last": (0, 0),
    "position": (0, 0),
    "count": (1, 1),
    "id": (1, 1),
    "local-name": (0, 1),
    "namespace-uri": (0, 1),
    "name": (0, 1),
    "string": (0, 1),
    "concat": (2, 100),
    "starts-with": (2, 2),
    "contains": (2, 2),
    "substring-before": (2, 2),
    "substring-after": (2, 2),
    "substring": (2, 3),
    "string-length": (0, 1),
    "normalize-space": (0, 1),
    "translate": (3, 3),
    "boolean": (1, 1),
    "not": (1, 1),
    "true": (0, 0),
    "false": (0, 0),
    "lang": (1, 1),
    "number": (0, 1),
    "sum": (1, 1),
    "floor": (1, 1),
    "ceiling": (1, 1),
    "round": (1, 1),
}


@dataclass(frozen=True, slots=True)
class Mistake:
    at: int
    what: str


class _Wrong(Exception):
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.mistake = Mistake(at, what)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # literal, number, name, sign, or end
    text: str
    at: int


def mistake_in(expression: str) -> Mistake | None:
    """The first thing that is wrong with it; None where it can be looked up."""
    try:
        _Grammar(_tokens(expression)).whole()
    except _Wrong as wrong:
        return wrong.mistake
    return None


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            blank = _SPACE.match(text, place)
            at = blank.end() if blank else place
            what = "a quote that is not closed" if text[at] in "\"'" else f"{text[at]!r} means nothing here"
            raise _Wrong(at, what)
        tokens.append(_Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
        place = found.end()
    return [*tokens, _Token("end", "", end)]


class _Grammar:
    """One method for each rule. Operators are not ranked: that matters for what is found, not for whether it reads."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._nested = 0

    def whole(self) -> None:
        self._expression()
        if self._next.kind != "end":
            raise self._syntax_error()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *signs: str) -> bool:
        """Go on, where one of these comes next."""
        if self._next.kind == "sign" and self._next.text in signs:
            self._place += 1
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise self._syntax_error(f"{sign!r} is missing")

    def _is_before(self, sign: str) -> bool:
        """Whether this sign stands behind the next token."""
        return self._next.kind != "end" and self._tokens[self._place + 1].text == sign

    def _syntax_error(self, what: str = "") -> _Wrong:
        token = self._next
        if token.kind == "end":
            return _Wrong(token.at, what or "it ends too early")
        return _Wrong(token.at, what or f"{token.text[:40]!r} is not expected here")

    def _expression(self) -> None:
        self._nested += 1
        if self._nested > _MAX_NESTED:
            raise _Wrong(self._next.at, "it is nested too deeply")
        self._operand()
        while self._next.kind in ("sign", "name") and self._next.text in _OPERATORS:
            joins_nodes = self._take("|")
            self._place += not joins_nodes
            self._operand(may_be_negative=not joins_nodes)
        self._nested -= 1

    def _operand(self, *, may_be_negative: bool = True) -> None:
        while may_be_negative and self._take("-"):
            pass
        if self._is_primary():
            self._primary()
            self._predicates()
            if self._take("/", "//"):
                self._steps()
        elif self._take("//") or not self._take("/") or self._starts_step():
            self._steps()

    def _is_primary(self) -> bool:
        token = self._next
        if token.kind == "name":
            return self._is_before("(") and token.text not in _NODE_TYPES
        return token.kind in ("literal", "number") or token.text in ("(", "$")

    def _primary(self) -> None:
        token = self._next
        self._place += 1
        if token.text == "$":
            raise _Wrong(token.at, "variables are not supported")
        if token.text == "(" and token.kind == "sign":
            self._expression()
            self._need(")")
        elif token.kind == "name":
            self._call(token)

    def _call(self, function: _Token) -> None:
        if function.text not in _FUNCTIONS:
            raise _Wrong(function.at, f"unknown function {function.text[:40]!r}")
        least, most = _FUNCTIONS[function.text]
        self._need("(")
        given = 0
        while not self._take(")"):
            if given:
                self._need(",")
            self._expression()
            given += 1
        if not least <= given <= most:
            takes = f"{least}" if least == most else f"{least} to {most}"
            raise _Wrong(function.at, f"{function.text}() is given {given} arguments and takes {takes}")

    def _starts_step(self) -> bool:
        token = self._next
        return token.kind == "name" or (token.kind == "sign" and token.text in ("@", ".", "..", "*"))

    def _steps(self) -> None:
        self._step()
        while self._take("/", "//"):
            self._step()

    def _step(self) -> None:
        if self._take(".", ".."):
            return
        if not self._take("@") and self._next.kind == "name" and self._is_before("::"):
            if self._next.text not in _AXES:
                raise _Wrong(self._next.at, f"unknown axis {self._next.text[:40]!r}")
            self._place += 2
        self._node_test()
        self._predicates()

    def _node_test(self) -> None:
        token = self._next
        if self._take("*"):
            return
        if token.kind != "name":
            raise self._syntax_error()
        self._place += 1
        if self._take("("):
            if token.text not in _NODE_TYPES:
                raise _Wrong(token.at, f"{token.text[:40]!r} is not a node type")
            if token.text == "processing-instruction" and self._next.kind == "literal":
                self._place += 1
            self._need(")")

    def _predicates(self) -> None:
        while self._take("["):
            self._expression()
            self._need("]")
