#!/usr/bin/env python3
"""schema.py SCHEMA FILE...: prints where JSON files are not as a schema says; of JSON Schema the part that hangar's use."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "null": type(None), "integer": int, "number": (int, float), "boolean": bool}


def errors(schema, value, path):
    """Lines about one value."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) and (t == "boolean" or not isinstance(value, bool)) for t in types):
        yield "%s is no %s: %r" % (path, " or ".join(types), value)
        return
    if "const" in schema and value != schema["const"] or value not in schema.get("enum", [value]):
        yield "%s cannot be %r" % (path, value)
    if "pattern" in schema and not re.search(schema["pattern"], value) or "minimum" in schema and value < schema["minimum"]:
        yield "%s is out of bounds: %r" % (path, value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from ("%s has no %s" % (path, name) for name in schema.get("required", []) if name not in value)
        for name, one in value.items():
            if name in known:
                yield from errors(known[name], one, path + "." + name)
            elif schema.get("additionalProperties", True) is False:
                yield "%s.%s is not in the schema" % (path, name)
    for i, one in enumerate(value if isinstance(value, list) else []):
        yield from errors(schema.get("items", {}), one, "%s[%d]" % (path, i))


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    found = []
    for path in sys.argv[2:]:
        with open(path) as file:
            found += errors(schema, json.load(file), path)
    print("\n".join(found))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
