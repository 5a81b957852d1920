"""A hook of mkdocs that adds the help of all commands to the page on commands."""

import inspect
from collections.abc import Iterator
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from parasphere.cli import app


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Add the commands to their page."""
    if page.file.src_uri != "commands.md":
        return markdown
    described = (line for name, command in sorted(app.commands.items()) for line in _described(command, name))
    return "\n".join([markdown, *described])


def _described(command: click.Command, name: str) -> Iterator[str]:
    """Describe a command."""
    name = f"parasphere {name}"
    yield f"### {name}\n"
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    usage = " ".join(
        [name, *(_metavar(param) if param.required else f"[{_metavar(param)}]" for param in arguments), "[OPTIONS]"]
    )
    yield f"```text\n{usage}\n```\n"
    yield from _help(inspect.cleandoc(command.help or ""))
    rows = [_row(param) for param in command.params if param.name != "help"]
    if rows:
        yield "| option | | default |\n|---|---|---|"
        yield from rows
    yield ""


def _help(text: str) -> Iterator[str]:
    """Yield a help text; paragraphs without rewrapping become examples."""
    for part in text.split("\n\n"):
        if not part.startswith("\b"):
            yield f"{part}\n"
            continue
        title, _, example = part.removeprefix("\b\n").partition("\n")
        yield f"{title}\n\n```text\n{inspect.cleandoc(example)}\n```\n"


def _row(param: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    if param.param_type_name == "argument":
        names = f"`{_metavar(param)}`"
    text = (param.help or "").replace("|", "\\|")
    computed = getattr(param, "show_default", None)  # "chosen from the texts"
    default = f"`{param.default}`" if isinstance(param.default, str | int | float) else ""
    default = computed if isinstance(computed, str) else default
    return f"| {names} | {text} | {'required' if param.required else default} |"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())
