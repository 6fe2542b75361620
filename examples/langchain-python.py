"""LangChain in Python: the strategy is a field of each body."""

import os

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
# #region client
from langchain_openai import ChatOpenAI
# #endregion

base_url = os.environ.get("PRECIS_URL", "http://127.0.0.1:8787") + "/v1"
model = os.environ.get("OPENAI_MODEL", "gpt-6-luna")


@tool
def read_order(number: int) -> str:
    """Reads an order with all of its events."""
    events = [f"event {at} of order {number}: scanned in hall {at % 7}" for at in range(200)]
    return "\n".join([f"order {number}: {'late' if number == 5 else 'delivered'}", *events])


# #region client
chat = ChatOpenAI(
    model=model,
    base_url=base_url,
    extra_body={"memory_strategy": {"mode": "auto", "token_budget": 20_000}},
    include_response_headers=True,
)
# #endregion

clerk = chat.bind_tools([read_order])
messages = [HumanMessage("Look at the orders 1 to 16, one after the other. Which one is late?")]
while True:
    answer = clerk.invoke(messages)
    headers = answer.response_metadata["headers"]
    print(f"edits: {headers['x-memory-applied']}; frontier: {headers['x-memory-frontier']}")
    messages.append(answer)
    if not answer.tool_calls:
        print(answer.content)
        break
    for call in answer.tool_calls:
        messages.append(ToolMessage(read_order.invoke(call["args"]), tool_call_id=call["id"]))
