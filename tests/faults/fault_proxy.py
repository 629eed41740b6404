"""A wire between a client and a server that can be cut, after the server has been sent a certain statement."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Proxy:
    listener: socket.socket
    host: str
    to: int
    cuts: list[str] = field(default_factory=list)
    _word: str | None = None
    _open: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def cut_behind(self, word: str) -> None:
        self._word = word

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return  # closed: the test has ended
            server = socket.create_connection((self.host, self.to))
            self._open += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink, source is client), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, from_client: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
                if from_client and self._word is not None and self._word.encode() in data:
                    self.cuts.append(self._word)
                    self._word = None
                    break
        except OSError:
            pass  # the other direction was cut
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is already

    def close(self) -> None:
        for end in (self.listener, *self._open):
            end.close()


@contextmanager
def cutting_proxy(host: str, port: int) -> Iterator[Proxy]:
    proxy = Proxy(socket.create_server((host, 0)), host, port)
    threading.Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.close()
