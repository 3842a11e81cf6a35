# What `make reach` serves in Python: a websocket that echoes at 127.0.0.1:8765, behind peer, and gRPC at port 50051, a call
# and a stream, with strings for messages.
import asyncio
from concurrent import futures

import grpc
import websockets


def call(request, context):
    return b"hello " + request


def stream(request, context):
    for i in range(3):
        yield b"%d " % i + request


async def echo(socket, path=None):
    async for message in socket:
        await socket.send(message)


async def main():
    server = grpc.server(futures.ThreadPoolExecutor())
    methods = {"Call": grpc.unary_unary_rpc_method_handler(call), "Stream": grpc.unary_stream_rpc_method_handler(stream)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("reach.Hello", methods),))
    server.add_insecure_port("[::]:50051")
    server.start()
    async with websockets.serve(echo, "127.0.0.1", 8765):
        await asyncio.Future()


asyncio.run(main())
