"""YAML in which a key that stands twice in one object is an error. PyYAML takes the last one and says nothing."""

from typing import Any

import yaml


class _StrictLoader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value!r} stands twice in one object", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_yaml(text: str) -> Any:
    """The document of a text; yaml.YAMLError with the line if it is wrong."""
    return yaml.load(text, _StrictLoader)  # noqa: S506 - a safe loader
