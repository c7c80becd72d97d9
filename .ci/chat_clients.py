#!/usr/bin/env python3
"""Two turns and a tool of a call at /v1/chat/completions, with the model classes of LiveKit and Pipecat as docs/chat-completions.md
configures them. Takes the address of a server that has the fake model."""

import asyncio
import sys

from livekit.agents import function_tool, llm
from livekit.plugins import openai
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.openai.llm import OpenAILLMService


@function_tool
async def book(seats: int) -> str:
    """Books seats."""
    return f"ticket F-{seats}"


async def livekit(url):
    model = openai.LLM(model="verbale", base_url=url, api_key="none", user="livekit-1")
    chat = llm.ChatContext.empty()
    chat.add_message(role="system", content="You answer the phone of a ferry.")

    async def answer():
        collected = await model.chat(chat_ctx=chat, tools=[book]).collect()
        if collected.text:
            chat.add_message(role="assistant", content=collected.text)
        return collected

    chat.add_message(role="user", content="Hello.")
    first = await answer()
    assert first.text.strip() == "You said: Hello. What else?", first
    chat.add_message(role="user", content='Then use book {"seats": 2}')
    second = await answer()
    (call,) = second.tool_calls
    assert call.name == "book" and call.arguments == '{"seats":2}', second
    result = llm.FunctionCallOutput(call_id=call.call_id, name="book", output=await book(seats=2), is_error=False)
    chat.items.extend([llm.FunctionCall(call_id=call.call_id, name="book", arguments=call.arguments), result])
    third = await answer()
    assert third.text.strip() == "The tool says: ticket F-2.", third


async def pipecat(url):
    model = OpenAILLMService(
        base_url=url, api_key="none", default_headers={"X-Verbale-Call": "pipecat-1"},
        settings=OpenAILLMService.Settings(model="verbale", system_instruction="You answer the phone of a ferry."),
    )
    messages = []
    for words in ["Hello.", "Hello again."]:
        messages.append({"role": "user", "content": words})
        answer = await model.run_inference(LLMContext(messages=messages))
        assert answer.strip() == f"You said: {words} What else?", answer
        messages.append({"role": "assistant", "content": answer})


async def main():
    url = f"{sys.argv[1]}/v1"
    await livekit(url)
    await pipecat(url)
    print("held a call with LiveKit and one with Pipecat")


asyncio.run(main())
