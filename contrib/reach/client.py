# What `make reach` does in Python: urllib, asyncio with both families, the end of one direction, gRPC, a websocket.
import asyncio
import socket
import sys
import urllib.request

import grpc
import websockets


def url():
    return urllib.request.urlopen("https://www.reach.test/here").read().decode().strip()


def halves():
    s = socket.create_connection(("raw.reach.test", 7000))
    f = s.makefile("rb")
    said = f.readline()  # before we say anything
    s.sendall(b"echo\n")
    s.shutdown(socket.SHUT_WR)
    return (said + f.read()).decode().replace("\n", " ").strip()


def eyeballs():
    async def go():
        r, w = await asyncio.open_connection("raw.reach.test", 7000, happy_eyeballs_delay=0.25)
        line = await r.readline()
        w.close()
        return line.decode().strip()

    return asyncio.run(go())


def rpc():
    channel = grpc.insecure_channel("grpc.reach.test:50051", options=[("grpc.enable_http_proxy", 0)])
    call = channel.unary_unary("/reach.Hello/Call")(b"you", timeout=20)
    parts = channel.unary_stream("/reach.Hello/Stream")(b"x", timeout=20)
    return (call + b" " + b" ".join(parts)).decode()


def websocket():
    async def go():
        async with websockets.connect("wss://www.reach.test/socket") as s:
            await s.send("echo")
            return await s.recv()

    return asyncio.run(go())


print({"urllib": url, "halves": halves, "asyncio": eyeballs, "grpc": rpc, "websocket": websocket}[sys.argv[1]]())
