"""Check that a text is XPath 1.0, and find the position of the first error.

lxml reports neither the position of a syntax error nor, before it evaluates the expression, an unknown function. This
module reports both when the job is created. See ADR 36.
"""

import re
from dataclasses import dataclass

# The parser is recursive, and no real expression is nested deeper.
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
# The core functions, with the minimum and maximum number of their arguments.
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
    position: int
    reason: str


class _SyntaxError(Exception):
    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.mistake = Mistake(position, reason)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # literal, number, name, sign, or end
    text: str
    position: int


def find_mistake(expression: str) -> Mistake | None:
    """Return the first error in an expression; None if it is valid."""
    try:
        _Grammar(_tokens(expression)).whole()
    except _SyntaxError as error:
        return error.mistake
    return None


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    offset, end = 0, len(text.rstrip())
    while offset < end:
        found = _TOKEN.match(text, offset)
        if found is None or found.lastgroup is None:
            blank = _SPACE.match(text, offset)
            start = blank.end() if blank else offset
            reason = "a quote that is not closed" if text[start] in "\"'" else f"{text[start]!r} means nothing here"
            raise _SyntaxError(start, reason)
        tokens.append(_Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
        offset = found.end()
    return [*tokens, _Token("end", "", end)]


class _Grammar:
    """One method for each rule. The precedence of operators is ignored: it does not affect validity."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._index = 0
        self._nested = 0

    def whole(self) -> None:
        self._expression()
        if self._next.kind != "end":
            raise self._syntax_error()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._index]

    def _take(self, *signs: str) -> bool:
        """Consume the next token if it is one of these signs; return whether it was."""
        if self._next.kind == "sign" and self._next.text in signs:
            self._index += 1
            return True
        return False

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            raise self._syntax_error(f"{sign!r} is missing")

    def _is_before(self, sign: str) -> bool:
        """Return whether this sign follows the next token."""
        return self._next.kind != "end" and self._tokens[self._index + 1].text == sign

    def _syntax_error(self, reason: str = "") -> _SyntaxError:
        token = self._next
        if token.kind == "end":
            return _SyntaxError(token.position, reason or "it ends too early")
        return _SyntaxError(token.position, reason or f"{token.text[:40]!r} is not expected here")

    def _expression(self) -> None:
        self._nested += 1
        if self._nested > _MAX_NESTED:
            raise _SyntaxError(self._next.position, "it is nested too deeply")
        self._operand()
        while self._next.kind in ("sign", "name") and self._next.text in _OPERATORS:
            joins_nodes = self._take("|")
            self._index += not joins_nodes
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
        self._index += 1
        if token.text == "$":
            raise _SyntaxError(token.position, "variables are not supported")
        if token.text == "(" and token.kind == "sign":
            self._expression()
            self._need(")")
        elif token.kind == "name":
            self._call(token)

    def _call(self, function: _Token) -> None:
        if function.text not in _FUNCTIONS:
            raise _SyntaxError(function.position, f"unknown function {function.text[:40]!r}")
        min_count, max_count = _FUNCTIONS[function.text]
        self._need("(")
        count = 0
        while not self._take(")"):
            if count:
                self._need(",")
            self._expression()
            count += 1
        if not min_count <= count <= max_count:
            takes = f"{min_count}" if min_count == max_count else f"{min_count} to {max_count}"
            raise _SyntaxError(function.position, f"{function.text}() has {count} arguments and takes {takes}")

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
                raise _SyntaxError(self._next.position, f"unknown axis {self._next.text[:40]!r}")
            self._index += 2
        self._node_test()
        self._predicates()

    def _node_test(self) -> None:
        token = self._next
        if self._take("*"):
            return
        if token.kind != "name":
            raise self._syntax_error()
        self._index += 1
        if self._take("("):
            if token.text not in _NODE_TYPES:
                raise _SyntaxError(token.position, f"{token.text[:40]!r} is not a node type")
            if token.text == "processing-instruction" and self._next.kind == "literal":
                self._index += 1
            self._need(")")

    def _predicates(self) -> None:
        while self._take("["):
            self._expression()
            self._need("]")
