"""The `openai` package: `memory_strategy` goes into `extra_body`."""

import json
import os

# #region client
from openai import OpenAI
# #endregion

base_url = os.environ.get("PRECIS_URL", "http://127.0.0.1:8787") + "/v1"
model = os.environ.get("OPENAI_MODEL", "gpt-6-luna")
tools = [
    {
        "type": "function",
        "function": {
            "name": "read_order",
            "description": "Reads an order with all of its events.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "number"}},
                "required": ["number"],
            },
        },
    }
]


# #region client
client = OpenAI(base_url=base_url)


def ask(messages):
    return client.chat.completions.with_raw_response.create(
        model=model,
        messages=messages,  # the whole list, every time
        tools=tools,
        extra_body={"memory_strategy": {"mode": "auto", "token_budget": 20_000}},
    )
# #endregion


def read_order(number):
    events = [f"event {at} of order {number}: scanned in hall {at % 7}" for at in range(200)]
    return "\n".join([f"order {number}: {'late' if number == 5 else 'delivered'}", *events])


messages = [{"role": "user", "content": "Look at the orders 1 to 16, one after the other. Which one is late?"}]
while True:
    answer = ask(messages)
    headers = answer.headers
    print(f"edits: {headers['x-memory-applied']}; frontier: {headers['x-memory-frontier']}")
    message = answer.parse().choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    if not message.tool_calls:
        print(message.content)
        break
    for call in message.tool_calls:
        content = read_order(json.loads(call.function.arguments)["number"])
        messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
