"""A sign-in's answer is taken from whoever knows its state, and from nobody else."""

import anyio

from north_lsp.providers.keys.callback import callback


async def asked(address: str, line: str) -> str:
    port = int(address.split(":")[2].partition("/")[0])
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(f"{line}\r\nHost: x\r\n\r\n".encode())
        data = b""
        try:
            while True:
                data += await stream.receive()
        except anyio.EndOfStream:
            return data.decode()


async def test_only_an_answer_with_the_state_counts() -> None:
    async with callback("right") as found:
        for line, status in (
            ("GET / HTTP/1.1", "404"),
            ("POST /callback?state=right&code=1 HTTP/1.1", "404"),
            ("GET /callback?state=wrong&code=1 HTTP/1.1", "400"),
            ("GET /callback?code=1 HTTP/1.1", "400"),
            (f"GET /callback?{'a=1&' * 100}state=right HTTP/1.1", "400"),
            ("\x00", "404"),
            ("GET /callback?state=right&code=2 HTTP/1.1", "200"),
            ("GET /callback?state=right&code=3 HTTP/1.1", "200"),
        ):
            assert (await asked(found.address, line)).startswith(f"HTTP/1.1 {status}")
        assert (await found.wait())["code"] == "2"
