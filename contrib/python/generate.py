"""Writes types.py from the JSON Schema of records: a TypedDict for each object.

`python3 generate.py` writes the file; `types_of` is what the test compares with it.
"""

from __future__ import annotations

import json
import keyword
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMA = HERE.parents[1] / "docs" / "run.schema.json"
TYPES = HERE / "src" / "plumbline_runs" / "types.py"

HEAD = '''"""Types of a record, written by generate.py from docs/run.schema.json."""

from typing import Any, Literal, NotRequired, TypedDict, Union
'''

PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}


def types_of(schema: dict) -> str:
    """The text of the file for a schema."""
    parts = [HEAD]
    names = []
    for name, definition in schema["$defs"].items():
        parts.append(definition_of(name, definition))
        names.append(name)
    parts.append(definition_of(schema["title"], schema))
    names.append(schema["title"])
    listed = "".join(f'    "{name}",\n' for name in sorted(names))
    parts.append(f"__all__ = [\n{listed}]\n")
    return "\n\n".join(part.rstrip("\n") + "\n" for part in parts)


def definition_of(name: str, definition: dict) -> str:
    if "properties" in definition:
        return object_of(name, definition)
    return f"# {described(definition)}\n{name} = {type_of(definition, name)}"


def object_of(name: str, definition: dict) -> str:
    if any(keyword.iskeyword(key) for key in definition["properties"]):
        return functional(name, definition)
    lines = [f"class {name}(TypedDict):", f'    """{described(definition)}"""', ""]
    required = definition.get("required", [])
    for key, value in definition["properties"].items():
        kind = type_of(value, name)
        kind = kind if key in required else f"NotRequired[{kind}]"
        told = textwrap.wrap(value.get("description", ""), 92)
        lines += [f"    # {line}" for line in told]
        lines.append(f"    {key}: {kind}")
    return "\n".join(lines)


def functional(name: str, definition: dict) -> str:
    """An object with a key that is a word of the language."""
    lines = [f"# {line}" for line in textwrap.wrap(described(definition), 96)]
    lines += [f"{name} = TypedDict(", f'    "{name}",', "    {"]
    for key, value in definition["properties"].items():
        kind = type_of(value, name)
        kind = kind if key in definition.get("required", []) else f"NotRequired[{kind}]"
        told = textwrap.wrap(value.get("description", ""), 88)
        lines += [f"        # {line}" for line in told]
        lines.append(f'        "{key}": {kind},')
    return "\n".join([*lines, "    },", ")"])


def type_of(value: dict | bool, of: str) -> str:
    """The type of a value, as it is written in an annotation."""
    if isinstance(value, bool) or not value:
        return "Any"
    if "$ref" in value:
        return f'"{value["$ref"].rsplit("/", 1)[1]}"'
    if "const" in value:
        return f"Literal[{json.dumps(value['const'])}]"
    if "enum" in value:
        return "Literal[" + ", ".join(json.dumps(one) for one in value["enum"]) + "]"
    for several in ("oneOf", "anyOf"):
        if several in value:
            kinds = [type_of(one, of) for one in value[several]]
            return f"Union[{', '.join(dict.fromkeys(kinds))}]"
    kind = value.get("type")
    if isinstance(kind, list):
        kinds = [type_of({**value, "type": one}, of) for one in kind]
        return f"Union[{', '.join(kinds)}]"
    if kind == "array":
        return f"list[{type_of(value.get('items', {}), of)}]"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"dict[str, {type_of(value['additionalProperties'], of)}]"
    return PLAIN.get(kind, "Any")


def described(definition: dict) -> str:
    return " ".join(definition.get("description", "A value.").split())


if __name__ == "__main__":
    TYPES.write_text(types_of(json.loads(SCHEMA.read_text())))
    print(f"wrote {TYPES}")
