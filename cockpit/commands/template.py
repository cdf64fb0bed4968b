"""`cockpit template list`, `show`, `new` and `lint`."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from cockpit.actions.address import unserved
from cockpit.clock import SystemClock
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.job import open_for
from cockpit.commands.output import grid, note, plain, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.commands.submitting import served_lookup
from cockpit.errors import BadInput
from cockpit.jobs.manifest_file import is_file_name, read_manifests
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.render import lint
from cockpit.jobs.template import Template, checked_name, load_library, read_template, renamed
from cockpit.jobs.template_from import template_text
from cockpit.local_state.paths import config_folder, write_private
from cockpit.mask import mask_text, mask_tree


class TemplateItem(msgspec.Struct):
    """A template and its parameters."""

    name: str
    title: str
    kind: str
    api_version: str
    file: str
    parameters: list[Parameter]


class TemplatesDocument(OutputDocument, kw_only=True):
    """`cockpit template list`."""

    kind: Literal["templates"]
    items: list[TemplateItem]


def listing(options: argparse.Namespace) -> int:
    """The templates, one a line."""
    library = load_library(settings_in_force().template_folders)
    found = [library.templates[name] for name in sorted(library.templates)]
    if options.output == "table":
        rows = [[item.name, item.kind, item.title, item.source] for item in found]
        put(grid(["name", "kind", "title", "file"], rows))
    else:
        tree = {"kind": "templates", "items": [_described(item) for item in found]}
        put(document_lines(TemplatesDocument, tree, options.output))
    note(problem.sentence for problem in library.problems)
    return 0


def _described(template: Template) -> dict[str, object]:
    return {
        "name": template.name,
        "title": template.title,
        "kind": template.kind,
        "api_version": template.api_version,
        "file": template.source,
        "parameters": mask_tree(plain(template.parameters)),
    }


def show(options: argparse.Namespace) -> int:
    """Title, parameters and where the file lies."""
    template = load_library(settings_in_force().template_folders).named(options.name)
    put(
        [
            f"{template.name}: {template.title}",
            f"makes {template.kind} of {template.api_version}",
            template.source,
        ]
    )
    if template.description:
        put(["", *template.description.splitlines()])
    rows = [
        [parameter.name, parameter.type, _default(parameter), _bounds(parameter), parameter.help]
        for parameter in template.parameters
    ]
    put(["", *grid(["parameter", "type", "default", "allowed", "help"], rows)])
    return 0


def _default(one: Parameter) -> str:
    return "(needed)" if one.default is None else mask_text(one.default) or "(empty)"


def _bounds(one: Parameter) -> str:
    if one.choices:
        return ", ".join(one.choices)
    if one.minimum or one.maximum:
        return f"{one.minimum or '…'} to {one.maximum or '…'} {one.unit}".rstrip()
    if one.longest is not None:
        return f"at most {one.longest} characters"
    return f"from {one.choices_from}" if one.choices_from else ""


def new(options: argparse.Namespace) -> int:
    """Write a template to begin with: a copy of a known one under another name, or one made of a manifest."""
    settings = settings_in_force()
    if is_file_name(options.source):
        [source, *more] = read_manifests(options.source, sys.stdin, Random())
        if more:
            raise BadInput(
                f"{options.source}: {len(more) + 1} objects; leave the one that a template is made of"
            )
        text = template_text(source.manifest, checked_name(options.name), options.source)
    else:
        source = load_library(settings.template_folders).named(options.source)
        text = renamed(Path(source.source).read_text(encoding="utf-8"), source.source, options.name)
    own = config_folder(os.environ) / "templates"
    folder = (
        Path(options.folder).expanduser() if options.folder else next(iter(settings.template_folders), own)
    )
    path = folder / f"{options.name}.yaml"
    if path.exists():
        raise BadInput(f"{path} already exists: choose another name, or edit that file")
    try:
        write_private(path, text)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
    put([str(path)])
    guessed = [item for item in read_template(text, str(path)).parameters if item.help.startswith("guessed ")]
    note(f"parameter {item.name}: {item.help}" for item in guessed)
    note(_unserved((source,), options))
    if folder not in settings.template_folders:
        note([f'to use it, add its folder to the configuration: template-folders = ["{folder}"]'])
    return 0


def lint_all(options: argparse.Namespace) -> int:
    """Check the given files, else every known template; 2 when something is wrong.

    With --context or --kubeconfig that cluster is asked whether it serves their kinds.
    """
    problems: list[str] = []
    if options.files:
        templates = [
            item for item in (_read(Path(name), problems) for name in options.files) if item is not None
        ]
    else:
        library = load_library(settings_in_force().template_folders)
        templates, problems = (
            list(library.templates.values()),
            [problem.sentence for problem in library.problems],
        )
    for template in templates:
        problems.extend(lint(template))
    problems += _unserved(templates, options)
    note(problems)
    if not problems:
        put([f"{len(templates)} template{'s' * (len(templates) != 1)} OK"])
    return 2 if problems else 0


def _unserved(templates: Sequence[Template], options: argparse.Namespace) -> list[str]:
    """A sentence for each template whose kind the named cluster does not serve; [] where none is named.

    Raises NoConnection where that cluster does not answer.
    """
    if not getattr(options, "context", None) and not getattr(options, "kubeconfig", None):
        return []
    return asyncio.run(within(options.timeout, _asked(templates, options)))


async def _asked(templates: Sequence[Template], options: argparse.Namespace) -> list[str]:
    chosen = attach_options(options, settings_in_force())
    session = await open_for(chosen, SystemClock(), options.timeout)
    try:
        lookup = await served_lookup(session)
        return [
            f"{template.source}: {sentence}"
            for template in templates
            if (sentence := unserved(template.api_version, template.kind, lookup))
        ]
    finally:
        await session.close()


def _read(path: Path, problems: list[str]) -> Template | None:
    try:
        return read_template(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        problems.append(f"{path}: cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        problems.append(f"{path}: cannot be read: not UTF-8 text")
    except BadInput as error:
        problems.append(error.sentence)
    return None
