#!/usr/bin/env python3
"""A voice service in Python: plays a call with a tool and a barge-in over the socket of `verbale serve`.

    cargo run -- serve                          # in one terminal
    pip install websockets
    python examples/python_service.py           # in another one

A real service replaces `print` by its speech synthesis and `CALLER` by its speech recognition. Everything else stays: what
the server has not stored is sent again after the connection was lost, and the server ignores what it has.
"""

import argparse
import asyncio
import itertools
import json
import sys

import websockets

CALLER = ["Good morning, when does the ferry leave?", 'Then use book {"seats": 2}', "Tell me all that you know.", "Thank you, bye."]
BOOK = {
    "name": "book",
    "description": "Books seats on the ferry.",
    "input_schema": {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]},
    "acts_once": True,
    "deduplicates_by_key": True,
}


class Call:
    def __init__(self, url):
        self.url = url
        self.instance, self.seq = None, 0
        self.interrupted = None  # the speech that the caller broke in on
        self.numbers = itertools.count(1)
        self.unstored = {}  # messages that the log may not have, by their event ids
        self.bookings = {}  # tickets by idempotency key

    async def connect(self):
        """Connects, at first or again. The server sends what this client has missed."""
        self.socket = await websockets.connect(self.url)
        start = {"system": "You answer the phone of a ferry.", "greeting": "Good morning.", "tools": [BOOK]}
        await self.socket.send(json.dumps({"type": "start", "instance": self.instance, "after_seq": self.seq, **start}))
        started = await self.receive()
        if started["type"] == "refused":
            sys.exit(f"the server refused the call: {started['error']}")
        self.instance = started["instance"]
        for message in self.unstored.values():
            await self.socket.send(json.dumps(message))

    async def send(self, **message):
        message["event_id"] = f"event-{next(self.numbers)}"
        self.unstored[message["event_id"]] = message
        await self.socket.send(json.dumps(message))

    async def receive(self):
        message = json.loads(await self.socket.recv())
        self.seq = message["seq"]
        for event_id in message.get("event_ids", []):
            self.unstored.pop(event_id, None)
        return message

    async def answer(self, breaks_in=False):
        """Speaks the answer, runs its tools, and returns its end."""
        while True:
            message = await self.receive()
            if message["type"] in ("said", "sentence"):
                if message["speech"] == self.interrupted:
                    continue  # what was not played is dropped
                print(f"assistant: {message['text'].strip()}")
                await self.send(type="playback_started", speech=message["speech"])
                if message["type"] == "said":
                    await self.send(type="playback_finished", speech=message["speech"])
                    return "said"
                if breaks_in:
                    self.interrupted = message["speech"]
                    print("           (the caller breaks in)")
                    await self.send(type="caller_started")
                    words = message["text"].split()[:2]
                    await self.send(type="playback_interrupted", speech=message["speech"], words=" ".join(words))
            elif message["type"] == "tool_called":
                key = message["idempotency_key"]
                ticket = self.bookings.setdefault(key, f"F-{len(self.bookings) + 17}")
                print(f"tool:      {message['name']} {message['arguments']} -> {ticket}")
                await self.send(type="tool_result", tool_call_id=message["tool_call_id"], output=f"booked, ticket {ticket}")
            elif message["type"] == "reply_ended":
                if message["end"] != "interrupted":
                    await self.send(type="playback_finished", speech=message["speech"])
                return message["end"]
            elif message["type"] == "refused":
                sys.exit(f"the server refused a message: {message['error']}")


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="ws://127.0.0.1:8765", help="the address of the server")
    parser.add_argument("--call", default="python-1", help="the id of the call")
    arguments = parser.parse_args()
    call = Call(f"{arguments.server}/v1/calls/{arguments.call}/socket")
    await call.connect()
    await call.answer()  # the greeting
    for number, words in enumerate(CALLER):
        print(f"caller:    {words}")
        await call.send(type="caller_said", text=words)
        await call.answer(breaks_in=number == 2)
        if number == 1:  # a lost connection loses nothing
            await call.socket.close()
            await call.connect()
    await call.send(type="close", reason="hangup")
    while (await call.receive())["type"] != "ended":
        pass
    print("the call has ended")


asyncio.run(main())
