"""Wires between a client and a server: one that can be cut, and one on which a last statement can be kept back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

LONGEST = 120.0
LAST = "/* the last one */"  # begins a statement whose sender does not wait for the answer


@dataclass
class Listening:
    listener: socket.socket
    host: str
    to: int
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed: the test has ended
            server = socket.create_connection((self.host, self.to))
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(source, sink, source is client), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        try:
            self.pass_on(source, sink, from_client)
        except OSError:
            pass  # the other direction was cut
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is already

    def pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        for end in (self.listener, *self._open):
            end.close()


@dataclass
class Cutting(Listening):
    cuts: list[str] = field(default_factory=list)
    _word: str | None = None

    def cut_behind(self, word: str) -> None:
        """Once the server was sent a statement with this word, its answer finds nobody."""
        self._word = word

    def pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        while data := source.recv(1 << 16):
            sink.sendall(data)
            if from_client and self._word is not None and self._word.encode() in data:
                self.cuts.append(self._word)
                self._word = None
                return


@dataclass
class Keeping(Listening):
    """The last statement of a client that died reaches the server when the test says so.

    The server does not notice the death: it works off what it was sent, as one does that is busy.
    """

    _deliver: threading.Event = field(default_factory=threading.Event)
    _answered: threading.Event = field(default_factory=threading.Event)
    _sent: bool = False

    def pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        while data := source.recv(1 << 16):
            if not from_client and self._sent:
                self._sent = False
                self._answered.set()
                return  # there is nobody to take it
            if from_client and LAST.encode() in data:
                # The answer to every other statement was waited for, so what comes now is this one alone.
                while more := source.recv(1 << 16):
                    data += more
                assert self._deliver.wait(LONGEST)
                self._sent = True
                sink.sendall(data)
                assert self._answered.wait(LONGEST)
                return
            sink.sendall(data)

    def expect(self) -> None:
        """Before a client is started that is to die."""
        self._deliver.clear()
        self._answered.clear()

    def deliver(self) -> None:
        """Returns when the server has done the statement, or failed to."""
        self._deliver.set()
        assert self._answered.wait(LONGEST), "the server did not answer"


@dataclass
class Meeting(Listening):
    """Of two clients neither sends a statement with the word before the other one is about to."""

    _word: bytes = b""
    _both: threading.Barrier | None = None

    def expect(self, word: str) -> None:
        """Once: what follows passes."""
        self._word, self._both = word.encode(), threading.Barrier(2)

    def pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        while data := source.recv(1 << 16):
            both = self._both
            if from_client and both is not None and self._word in data:
                both.wait(LONGEST)  # or it is broken, and so is the connection
                self._both = None
            sink.sendall(data)

    @property
    def met(self) -> bool:
        return self._both is None


P = TypeVar("P", bound=Listening)


@contextmanager
def cutting_proxy(host: str, port: int) -> Iterator[Cutting]:
    with _serving(Cutting(socket.create_server((host, 0)), host, port)) as proxy:
        yield proxy


@contextmanager
def keeping_proxy(host: str, port: int) -> Iterator[Keeping]:
    with _serving(Keeping(socket.create_server((host, 0)), host, port)) as proxy:
        yield proxy


@contextmanager
def meeting_proxy(host: str, port: int) -> Iterator[Meeting]:
    with _serving(Meeting(socket.create_server((host, 0)), host, port)) as proxy:
        yield proxy


@contextmanager
def _serving(proxy: P) -> Iterator[P]:
    threading.Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()
