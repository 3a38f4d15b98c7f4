"""Render blocks as plain text: a line for each paragraph, heading, list item and table row."""

from corral.extract.readable.blocks import Block

_ROW_CHARS = 2_000  # a longer row belongs to a table that only lays out the page


def render_text(main: Block) -> str:
    lines: list[str] = []
    _add(main, lines)
    return "\n".join(lines)


def _add(block: Block, lines: list[str]) -> None:
    tag = block.tag
    if block.kids is None:
        if block.text:
            lines.append(f"- {block.text}" if tag == "li" else block.text)
        return
    if tag == "tr" and block.chars < _ROW_CHARS:
        lines.append("\t".join(cell_texts(block)))
        return
    start = len(lines)
    for kid in block.kids:
        _add(kid, lines)
    if tag == "li" and len(lines) > start:
        lines[start] = f"- {lines[start]}"


def cell_texts(row: Block) -> list[str]:
    return [" ".join(leaf.text.replace("\n", " ") for leaf in cell.leaves() if leaf.text) for cell in row.kids or ()]
