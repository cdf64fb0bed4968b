"""The shell of a simulated container: a few commands about it, and plain words about what it is."""

import asyncio
import re
import shlex
from collections.abc import Callable

from cockpit.sim.actors.kubelet.runtime import STDERR, STDOUT, Piece, Start

BANNER = "simulated container: nothing runs here; `help` lists the commands\n"
_BECOMES_SHELL = re.compile(r"\bexec (?:/\S*/)?(?:ba|a|z)?sh\s*$")
"""How tools open the best shell of an image: a script that tries one and becomes another."""
_SHELLS = ("sh", "bash", "ash", "zsh", "/bin/sh", "/bin/bash", "/usr/bin/bash")


class ShellSession:
    """One exec: a single command, or lines typed (or piped) into a shell."""

    def __init__(self, start: Start, command: list[str], *, is_tty: bool, has_stdin: bool) -> None:
        self._start = start
        self._is_tty = is_tty
        self._pieces: asyncio.Queue[Piece | None] = asyncio.Queue()
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._line = bytearray()
        self._last_code = 0
        self._commands: dict[str, Callable[[list[str]], int]] = {
            "echo": lambda words: self._say(" ".join(words)),
            "env": lambda words: self._env(),
            "printenv": lambda words: self._env(),
            "hostname": lambda words: self._say(self._hostname()),
            "nvidia-smi": lambda words: self._cards(words),
            "true": lambda words: 0,
            "false": lambda words: 1,
            "help": lambda words: self._say("echo env false help hostname nvidia-smi printenv true exit"),
        }
        script = command[command.index("-c") + 1] if "-c" in command[:-1] else ""
        if command and command[0] in _SHELLS and script and not _BECOMES_SHELL.search(script):
            self._finish(self._script(script))
        elif command and command[0] in _SHELLS:
            self._say(BANNER.rstrip("\n"))
            self._prompt()
            if not has_stdin:
                self._finish(0)
        else:
            self._finish(self._run(command))

    async def read(self) -> Piece | None:
        """The next output."""
        return await self._pieces.get()

    def write(self, data: bytes) -> None:
        """Input: typed on a terminal (echoed, with backspace, Ctrl-C and Ctrl-D) or piped."""
        for byte in data:
            if self._code.done():
                return
            if self._is_tty:
                self._typed(byte)
            elif byte == 0x0A:
                self._enter()
            else:
                self._line.append(byte)

    async def drain(self) -> None:
        """It reads at once."""

    def close_input(self) -> None:
        """The end of the input is the end of the shell."""
        if self._line and not self._code.done():
            self._enter()
        self._finish(self._last_code)

    def resize(self, width: int, height: int) -> None:
        """Nothing is drawn here."""

    async def wait(self) -> int:
        """The exit code."""
        return await asyncio.shield(self._code)

    async def end(self) -> None:
        """Nothing is left."""
        self._finish(137)

    def _typed(self, byte: int) -> None:
        if byte in (0x0D, 0x0A):
            self._put(STDOUT, "\n")
            self._enter()
        elif byte == 0x04 and not self._line:
            self._put(STDOUT, "\n")
            self._finish(self._last_code)
        elif byte == 0x03:
            self._line.clear()
            self._put(STDOUT, "^C\n")
            self._prompt()
        elif byte in (0x7F, 0x08):
            if self._line:
                self._line.pop()
                self._pieces.put_nowait((STDOUT, b"\b \b"))
        elif byte >= 0x20:
            self._line.append(byte)
            self._pieces.put_nowait((STDOUT, bytes((byte,))))

    def _enter(self) -> None:
        line = self._line.decode("utf-8", "replace")
        self._line.clear()
        self._last_code = self._script(line)
        if not self._code.done():
            self._prompt()

    def _script(self, text: str) -> int:
        code = self._last_code
        for part in text.replace("\n", ";").split(";"):
            try:
                words = shlex.split(part, comments=True)
            except ValueError as error:
                self._put(STDERR, f"sh: {error}\n")
                return 2
            if words and words[0] == "exit":
                code = int(words[1]) & 255 if len(words) > 1 and words[1].isdigit() else code
                self._finish(code)
                return code
            if words:
                code = self._run(words)
        return code

    def _run(self, words: list[str]) -> int:
        name = words[0].rsplit("/", 1)[-1] if words else ""
        command = self._commands.get(name)
        if command is None:
            self._put(STDERR, f"sh: {name}: not found (this container is simulated; see `help`)\n")
            return 127
        return command([self._filled(word) for word in words[1:]])

    def _filled(self, word: str) -> str:
        for name, value in self._environment().items():
            word = word.replace(f"${{{name}}}", value)
            if word == f"${name}":
                return value
        return word

    def _hostname(self) -> str:
        pod = self._start.pod
        return str(pod["spec"].get("hostname") or pod["metadata"]["name"])

    def _environment(self) -> dict[str, str]:
        found = {"HOSTNAME": self._hostname(), **self._start.environment}
        ids = ",".join(self._ids())
        if ids:
            found["NVIDIA_VISIBLE_DEVICES"] = ids
        return found

    def _ids(self) -> list[str]:
        return [one for held in self._start.devices.values() for one in held]

    def _env(self) -> int:
        return self._say("\n".join(f"{name}={value}" for name, value in self._environment().items()))

    def _cards(self, words: list[str]) -> int:
        ids = self._ids()
        if not ids:
            return self._say("No devices were found") or 6
        if "-L" in words:
            lines = [f"GPU {index}: simulated (UUID: {one})" for index, one in enumerate(ids)]
            return self._say("\n".join(lines))
        width = max(len(one) for one in ids)
        rule = f"+-----+-{'-' * width}-+"
        rows = [f"| {index:>3} | {one:<{width}} |" for index, one in enumerate(ids)]
        head = f"| GPU | {'UUID (simulated; readings: the GPU page)':<{width}} |"
        return self._say("\n".join((rule, head, rule, *rows, rule)))

    def _prompt(self) -> None:
        if self._is_tty:
            self._put(STDOUT, "# ")

    def _say(self, text: str) -> int:
        self._put(STDOUT, text + "\n")
        return 0

    def _put(self, stream: str, text: str) -> None:
        if self._is_tty:
            stream, text = STDOUT, text.replace("\n", "\r\n")
        self._pieces.put_nowait((stream, text.encode()))

    def _finish(self, code: int) -> None:
        if not self._code.done():
            self._code.set_result(code)
            self._pieces.put_nowait(None)
