"""A network on loopback that can be cut: connections stay open, and nothing arrives."""

import socket
import threading
import time


class Proxy:
    """A network between a client and a server, on loopback, that can be cut: connections stay open,
    and nothing arrives."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut_until = 0.0
        #: Seconds for which it holds up what passes.
        self.delay = 0.0
        self._open = threading.Event()
        self._open.set()
        #: Grows when connections are lost; a pair that is older ends.
        self._generation = 0
        self._closing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, seconds: float) -> None:
        self.cut_until = time.monotonic() + seconds
        self._open.clear()

    def mend(self, *, lost: bool) -> None:
        """Deliver what was held up, or, if it is *lost*, reset all connections."""
        if lost:
            self._generation += 1
        self.cut_until = 0.0
        self._open.set()

    def close(self) -> None:
        self._closing = True
        self._listener.close()
        self.mend(lost=True)

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._connect, args=(client, self._generation), daemon=True
            ).start()

    def _connect(self, client: socket.socket, generation: int) -> None:
        self._open.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        back = threading.Thread(target=self._pump, args=(server, client, generation), daemon=True)
        back.start()
        self._pump(client, server, generation)
        back.join()
        client.close()
        server.close()

    def _pump(self, source: socket.socket, target: socket.socket, generation: int) -> None:
        try:
            source.settimeout(0.5)
            while True:
                try:
                    data = source.recv(65536)
                except TimeoutError:
                    data = None
                # Nothing passes a cut network, not even the end of a connection.
                self._open.wait()
                if generation != self._generation:
                    break
                if data is None:
                    continue
                if not data:
                    break
                time.sleep(self.delay)
                target.sendall(data)
        except OSError:
            self._open.wait()
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
