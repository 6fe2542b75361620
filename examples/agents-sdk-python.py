"""The OpenAI Agents SDK in Python: the strategy is a header of the client."""

import asyncio
import os

import httpx
from agents import Agent, Runner, function_tool
# #region client
import json

from agents import ModelSettings, set_default_openai_client, set_tracing_disabled
from openai import AsyncOpenAI
# #endregion

base_url = os.environ.get("PRECIS_URL", "http://127.0.0.1:8787") + "/v1"
model = os.environ.get("OPENAI_MODEL", "gpt-6-luna")


async def print_edits(response):
    headers = response.headers
    print(f"edits: {headers['x-memory-applied']}; frontier: {headers['x-memory-frontier']}")


# #region client
strategy = json.dumps({"mode": "auto", "token_budget": 20_000})
client = AsyncOpenAI(base_url=base_url, default_headers={"x-memory-strategy": strategy})
set_default_openai_client(client, use_for_tracing=False)
# Traces go to OpenAI, not to the base URL.
set_tracing_disabled(True)

# The upstream need not store what Precis shortens.
model_settings = ModelSettings(store=False)
# #endregion

printing = httpx.AsyncClient(event_hooks={"response": [print_edits]}, timeout=600)
set_default_openai_client(client.with_options(http_client=printing), use_for_tracing=False)


@function_tool
def read_order(number: int) -> str:
    """Reads an order with all of its events."""
    events = [f"event {at} of order {number}: scanned in hall {at % 7}" for at in range(200)]
    return "\n".join([f"order {number}: {'late' if number == 5 else 'delivered'}", *events])


agent = Agent(
    name="Clerk",
    instructions="You look at orders.",
    model=model,
    model_settings=model_settings,
    tools=[read_order],
)


async def main():
    task = "Look at the orders 1 to 16, one after the other. Which one is late?"
    result = await Runner.run(agent, task, max_turns=20)
    print(result.final_output)


asyncio.run(main())
