"""A small checker of JSON Schema (2020-12): what an OpenAPI document of this project may use."""

import re

TYPES = {
    "object": lambda v: isinstance(v, dict), "array": lambda v: isinstance(v, list), "string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None, "integer": lambda v: isinstance(v, int) and not isinstance(v, bool), "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}  # fmt: skip
KNOWN = set("""
type required properties items enum const anyOf oneOf allOf not additionalProperties minimum maximum exclusiveMinimum minLength maxLength pattern minItems maxItems
prefixItems patternProperties format description title default example examples $ref $schema $id $defs $comment deprecated contentMediaType contentEncoding propertyNames uniqueItems minProperties
""".split())


def resolve(document, reference):
    if not reference.startswith("#/"):
        raise ValueError(f"a reference to elsewhere: {reference}")
    value = document
    for name in reference[2:].split("/"):
        value = value[name.replace("~1", "/").replace("~0", "~")]
    return value


def wrong_with(value, schema, document, at="$"):
    """Everything that is wrong, as texts."""
    if schema is True or schema == {}:
        return []
    if schema is False:
        return [f"{at}: nothing is allowed here"]
    out = []
    if "$ref" in schema:
        out += wrong_with(value, resolve(document, schema["$ref"]), document, at)
    kinds = schema.get("type")
    if kinds is not None:
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not any(TYPES[kind](value) for kind in kinds):
            return out + [f"{at}: is no {' or '.join(kinds)}: {str(value)[:80]}"]
    if "enum" in schema and value not in schema["enum"]:
        out.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        out.append(f"{at}: {value!r} is not {schema['const']!r}")
    for name, test in (("minimum", lambda a, b: a >= b), ("maximum", lambda a, b: a <= b), ("exclusiveMinimum", lambda a, b: a > b)):
        if name in schema and TYPES["number"](value) and not test(value, schema[name]):
            out.append(f"{at}: {value} breaks {name} {schema[name]}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0) or len(value) > schema.get("maxLength", 1 << 60):
            out.append(f"{at}: a length of {len(value)}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            out.append(f"{at}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0) or len(value) > schema.get("maxItems", 1 << 60):
            out.append(f"{at}: {len(value)} items")
        first = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            inner = first[i] if i < len(first) else schema.get("items", True)
            out += wrong_with(item, inner, document, f"{at}[{i}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        out += [f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            if key in properties:
                out += wrong_with(item, properties[key], document, f"{at}.{key}")
            else:
                out += wrong_with(item, schema.get("additionalProperties", True), document, f"{at}.{key}")
    for inner in schema.get("allOf", []):
        out += wrong_with(value, inner, document, at)
    for name in ("anyOf", "oneOf"):
        if name in schema:
            good = sum(1 for inner in schema[name] if not wrong_with(value, inner, document, at))
            if good == 0 or (name == "oneOf" and good != 1):
                out.append(f"{at}: {good} of {name} fit")
    if "not" in schema and not wrong_with(value, schema["not"], document, at):
        out.append(f"{at}: fits what it must not")
    return out


def wrong_schema(schema, document, at="#"):
    """What is wrong with a schema itself: unknown words, types that are none, references to nothing, required members that are
    not described."""
    if isinstance(schema, bool):
        return []
    if not isinstance(schema, dict):
        return [f"{at}: no schema: {schema!r}"]
    out = [f"{at}: unknown word {key}" for key in schema if key not in KNOWN]
    if "$ref" in schema:
        try:
            resolve(document, schema["$ref"])
        except (KeyError, ValueError):
            out.append(f"{at}: {schema['$ref']} is not there")
    kinds = schema.get("type", [])
    out += [f"{at}: no type {kind}" for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind not in TYPES]
    if not isinstance(schema.get("required", []), list) or not isinstance(schema.get("enum", []), list):
        out.append(f"{at}: required and enum are lists")
    for name, inner in schema.get("properties", {}).items():
        out += wrong_schema(inner, document, f"{at}/properties/{name}")
    for name in ("items", "additionalProperties", "not", "propertyNames"):
        if name in schema:
            out += wrong_schema(schema[name], document, f"{at}/{name}")
    for name in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for i, inner in enumerate(schema.get(name, [])):
            out += wrong_schema(inner, document, f"{at}/{name}/{i}")
    return out
