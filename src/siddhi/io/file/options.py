"""Options of the source ``file``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.extension.local_files import local_path
from siddhi.io.file.splitting import Cutting
from siddhi.io.options import DynamicOptions, Option, OptionHolder

__all__ = ["PROPERTIES", "FileOptions", "checked_path", "invalid", "path_of_event", "path_prefixes"]

PROPERTIES = ("file.path", "file.name", "eof", "sequence.number", "content.length")
"""Names of the transport properties."""

_MODES = ("line", "regex", "text.full", "binary.full", "binary.chunked")


def invalid(owner: str, name: str, text: str, expected: str) -> SiddhiAppCreationError:
    """Return the error of an invalid option."""
    return SiddhiAppCreationError(f"invalid option '{name}' of {owner}: '{text}'", code="E326", hint=expected)


def checked_path(owner: str, name: str, text: str) -> str:
    """Return the path in an option.

    Raises:
        SiddhiAppCreationError: it is not the path of a local file.
    """
    path = local_path(text)
    if path is None:
        raise invalid(owner, name, text, "write a path of this computer, such as /data/a.csv or file:///data/a.csv")
    return path


def path_prefixes(owner: str, option: Option) -> list[str]:
    """Return the texts before the first attribute in a dynamic option with a path, one per destination.

    Raises:
        SiddhiAppCreationError: the option is static, and not the path of a local file.
    """
    if option.is_static:
        checked_path(owner, option.name, str(option.value()))
    first = [template.parts[0] for template in option.templates]
    return [part if isinstance(part, str) else "" for part in first]


def path_of_event(owner: str, option: Option, prefixes: list[str], options: DynamicOptions) -> str:
    """Return the path in a dynamic option; it is in the folder that is written before the first attribute, if there is one.

    Raises:
        MappingFailedError: the values of the event make no path of a local file, or lead out of this folder.
    """
    try:
        path = checked_path(owner, option.name, str(option.value(options)))
    except SiddhiAppCreationError as error:
        raise MappingFailedError(str(error)) from None
    prefix = prefixes[options.destination if len(prefixes) > 1 else 0]
    if prefix and not option.is_static:
        folder = os.path.realpath(os.path.dirname(checked_path(owner, option.name, prefix + "x")))
        if os.path.commonpath((folder, os.path.realpath(path))) != folder:
            raise MappingFailedError(f"the values of an event lead out of the folder of '{option.name}': '{path}'")
    return path


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The checked options.

    Attributes:
        path: the file or folder.
        is_folder: whether it is a folder.
        is_cron: whether it is read at the times of ``cron.expression``.
        cutting: how content is cut; the mode is one of line, regex, text.full, binary.full and binary.chunked.
        tailing: whether to wait for more lines at the end.
        actions: what to do with a file afterwards: with a processed one, and with a failed one.
        targets: where to move it.
        overwrites: whether a move overwrites a file.
        part: which lines to deliver: all, first, last or but last.
        pattern: names of the files of a folder.
        interval: seconds between two polls.
        quiet: seconds without a change before a file of a folder is read.
        size: bytes of a chunk.
    """

    path: str
    is_folder: bool
    is_cron: bool
    cutting: Cutting
    tailing: bool
    actions: tuple[str, str]
    targets: tuple[str, str]
    overwrites: bool
    part: str
    pattern: re.Pattern[str] | None
    interval: float
    quiet: float
    size: int

    @classmethod
    def read(cls, options: OptionHolder) -> FileOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or can't be combined with another one.
        """
        owner = "source 'file'"
        is_folder = "dir.uri" in options
        if is_folder == ("file.uri" in options):
            raise SiddhiAppCreationError(f"{owner} requires either 'file.uri' or 'dir.uri'", code="E326")
        if "file.system.options" in options:
            raise SiddhiAppCreationError(f"{owner} does not support the option 'file.system.options'", code="E326")
        place = "dir.uri" if is_folder else "file.uri"
        cutting = Cutting.read(owner, options, _MODES)
        mode = cutting.mode
        if is_folder:
            options.without_effect(("file.polling.interval",), "'file.uri'")
        else:
            options.without_effect(("dir.polling.interval", "file.read.wait.timeout", "file.name.pattern"), "'dir.uri'")
        tailing = options.flag("tailing", default=mode in ("line", "regex") and not is_folder)
        if tailing and (mode not in ("line", "regex") or is_folder):
            raise SiddhiAppCreationError(
                f"{owner}: 'tailing' needs 'file.uri' and the mode line or regex",
                code="E326",
                hint="set tailing = 'false'",
            )
        actions = (
            _choice(options, "action.after.process", "keep", ("keep", "none", "delete", "move")),
            _choice(options, "action.after.failure", "keep", ("keep", "none", "delete", "move")),
        )
        names = ("move.after.process", "move.after.failure")
        targets = ("", "")
        for number, (action, name) in enumerate(zip(actions, names, strict=True)):
            if (action == "move") != (name in options):
                raise SiddhiAppCreationError(f"{owner}: '{name}' and the action 'move' need each other", code="E326")
            if action == "move":
                target = checked_path(owner, name, options.static(name))
                targets = (target, targets[1]) if number == 0 else (targets[0], target)
        if tailing and actions != ("keep", "keep") and set(actions) - {"keep", "none"}:
            raise SiddhiAppCreationError(f"{owner} can't delete or move a file while 'tailing'", code="E326")
        is_cron = "cron.expression" in options
        if is_cron and (tailing or actions[0] != "move"):
            raise SiddhiAppCreationError(
                f"{owner}: 'cron.expression' needs files that are moved",
                code="E326",
                hint="set action.after.process = 'move', 'move.after.process' and, with 'file.uri', tailing = 'false'",
            )
        if "move" not in actions:
            options.without_effect(("move.if.exist.mode",), "the action 'move'")
        if is_cron:
            options.without_effect(("file.polling.interval", "dir.polling.interval"), "no 'cron.expression'")
        flags = {
            name: options.flag(name, default=False)
            for name in ("read.only.header", "read.only.trailer", "skip.trailer")
        }
        parts = [part for part, flag in zip(("first", "last", "but last"), flags.values(), strict=True) if flag]
        if len(parts) > 1 or (parts and (tailing or mode != "line")):
            raise SiddhiAppCreationError(
                f"{owner}: only one of {', '.join(flags)} can be set, in the mode line and without 'tailing'",
                code="E326",
            )
        text = options.static("file.name.pattern", "")
        try:
            pattern = re.compile(text) if text else None
        except re.error as error:
            raise invalid(owner, "file.name.pattern", text, f"{error}") from None
        return cls(
            path=checked_path(owner, place, options.static(place)),
            is_folder=is_folder,
            is_cron=is_cron,
            cutting=cutting,
            tailing=tailing,
            actions=actions,
            targets=targets,
            overwrites=_choice(options, "move.if.exist.mode", "overwrite", ("overwrite", "keep")) == "overwrite",
            part=parts[0] if parts else "all",
            pattern=pattern,
            interval=options.duration(
                "dir.polling.interval" if is_folder else "file.polling.interval", "1 sec", least=0.001
            ),
            quiet=options.duration("file.read.wait.timeout", "1 sec"),
            size=_number(options, "buffer.size", 65536),
        )


def _choice(options: OptionHolder, name: str, default: str, choices: tuple[str, ...]) -> str:
    text = options.static(name, default).lower()
    if text not in choices:
        raise invalid("source 'file'", name, text, f"use one of {', '.join(choices)}")
    return text


def _number(options: OptionHolder, name: str, default: int, *, least: int = 1) -> int:
    text = options.static(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise invalid("source 'file'", name, text, f"write a number from {least} on")
    return int(text)
