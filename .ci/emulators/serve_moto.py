"""Runs moto on a free port of the loopback interface. Prints its URL, and ends when its input closes."""

import sys
from threading import Lock

from moto.dynamodb.responses import DynamoHandler
from moto.server import ThreadedMotoServer

# moto checks the condition of a write and writes in two steps, which the requests of two clients can interleave.
lock = Lock()
call_action = DynamoHandler.call_action


def call_action_alone(handler):
    with lock:
        return call_action(handler)


DynamoHandler.call_action = call_action_alone

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
print(f"http://{host}:{port}", flush=True)
sys.stdin.read()
server.stop()
