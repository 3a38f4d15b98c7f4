"""YAML that rejects duplicate keys in one object. PyYAML silently uses the last one."""

from typing import Any

import yaml


class _StrictLoader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value!r} occurs twice in one object", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_yaml(text: str) -> Any:
    """Parse the text; raise yaml.YAMLError with the line if it is invalid."""
    return yaml.load(text, _StrictLoader)  # noqa: S506 - a safe loader
