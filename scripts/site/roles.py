"""An extension of griffe that makes links of roles in docstrings, such as ``:class:`Bags```, where possible."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc|obj):`(~?)([\w.]+)`")


class Roles(griffe.Extension):
    """Replace the roles in every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(lambda role: _link(role, obj), obj.docstring.value)


def _link(role: re.Match[str], within: griffe.Object) -> str:
    """Return a link that is plain text if no page has the name."""
    name = role[2]
    shown = name.split(".")[-1] if role[1] or name.startswith("parasphere.") else name
    return f'<autoref identifier="{_full_name(name, within)}" optional><code>{shown}</code></autoref>'


def _full_name(name: str, within: griffe.Object | None) -> str:
    """Return the full name, looked up from the docstring's object: in its class, its module, or the library."""
    if name.startswith("parasphere."):
        return name
    first = name.split(".")[0]
    while within is not None:
        if first in within.members:
            return f"{within.path}.{name}"
        within = within.parent
    return f"parasphere.{name}"
