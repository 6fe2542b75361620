#!/bin/sh
# One request with curl. The strategy may be in the body or in a header; the answer's headers say
# what Precis did.
set -eu
url="${PRECIS_URL:-http://127.0.0.1:8787}"

curl --silent --show-error --fail-with-body --include "$url/v1/chat/completions" \
  --header "authorization: Bearer $OPENAI_API_KEY" \
  --header 'content-type: application/json' \
  --header 'x-memory-strategy: {"mode": "auto", "token_budget": 20000}' \
  --data '{
    "model": "gpt-6-luna",
    "messages": [{"role": "user", "content": "Which of the orders 1 to 16 is late?"}],
    "memory_report": true
  }'
