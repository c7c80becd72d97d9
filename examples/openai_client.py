#!/usr/bin/env python3
"""The client of OpenAI holds a call of 30 turns with `verbale serve`: only its base URL differs.

    cargo run -- serve                          # in one terminal
    pip install openai
    python examples/openai_client.py            # in another one

The client sends its whole list of messages with each request, as LiveKit, Pipecat and Vapi do. The server takes what is new,
answers from the memory of the call, and logs it. Six turns call a tool, and every other answer is streamed.
"""

import argparse

from openai import OpenAI

BOOK = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Books seats on the ferry.",
        "parameters": {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]},
    },
    # Fields of verbale, which OpenAI does not know.
    "acts_once": True,
    "deduplicates_by_key": True,
}


class Call:
    def __init__(self, client, call):
        self.client, self.call = client, call
        self.messages = [{"role": "system", "content": "You answer the phone of a ferry."}]
        self.bookings = {}  # tickets by idempotency key

    def say(self, words, stream):
        """Says words, runs the tools of the answer, and returns its text."""
        self.messages.append({"role": "user", "content": words})
        text = ""
        while True:
            options = {"model": "verbale", "messages": self.messages, "tools": [BOOK], "user": self.call}
            message = self.streamed(options) if stream else self.whole(options)
            self.messages.append(message)
            text += message["content"] or ""
            if not message.get("tool_calls"):
                return text
            for call in message["tool_calls"]:
                ticket = self.bookings.setdefault(call["idempotency_key"], f"F-{len(self.bookings) + 17}")
                print(f"tool:      {call['function']['name']} {call['function']['arguments']} -> {ticket}")
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"booked, ticket {ticket}"})

    def whole(self, options):
        answer = self.client.chat.completions.create(**options)
        return answer.choices[0].message.model_dump(exclude_none=True) | {"content": answer.choices[0].message.content}

    def streamed(self, options):
        text, calls = "", []
        for chunk in self.client.chat.completions.create(stream=True, **options):
            delta = chunk.choices[0].delta
            text += delta.content or ""
            calls += [call.model_dump(exclude={"index"}) for call in delta.tool_calls or []]
        return {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="http://127.0.0.1:8765", help="the address of the server")
    parser.add_argument("--call", default="openai-1", help="the id of the call")
    parser.add_argument("--token", default="none", help="a token of the server with the scope `call`")
    arguments = parser.parse_args()
    call = Call(OpenAI(base_url=f"{arguments.server}/v1", api_key=arguments.token), arguments.call)
    for turn in range(1, 31):
        wants_seats = turn % 5 == 3
        words = f'Then use book {{"seats": {turn}}}' if wants_seats else f"Question {turn}: when does ferry {turn} leave?"
        print(f"caller:    {words}")
        print(f"assistant: {call.say(words, stream=turn % 2 == 0)}")
    print(f"messages of the client: {len(call.messages)}")


main()
