"""Stands in for the package `openai` on machines without it: the calls that the example makes, and
no others. Like the package, it reads OPENAI_API_KEY, sends the fields of `extra_body` as fields of
the body, and raises for an answer that is an error."""

import json
import os
import urllib.request


class Model:
    """An object of an answer: its members are attributes, and absent ones are None."""

    def __init__(self, members):
        self._members = members

    def __getattr__(self, name):
        return _model(self._members.get(name))

    def model_dump(self, exclude_none=False):
        return {key: value for key, value in self._members.items() if value is not None or not exclude_none}


def _model(value):
    if isinstance(value, dict):
        return Model(value)
    return [_model(item) for item in value] if isinstance(value, list) else value


class RawResponse:
    def __init__(self, headers, body):
        self.headers = headers
        self._body = body

    def parse(self):
        return _model(json.loads(self._body))


class Completions:
    def __init__(self, base_url):
        self._url = base_url + "/chat/completions"
        self.with_raw_response = self

    def create(self, *, model, messages, tools, extra_body):
        body = {"model": model, "messages": messages, "tools": tools, **extra_body}
        headers = {
            "authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
            "content-type": "application/json",
        }
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers, method="POST")
        with urllib.request.urlopen(request) as response:
            return RawResponse(response.headers, response.read())


class Chat:
    def __init__(self, base_url):
        self.completions = Completions(base_url)


class OpenAI:
    def __init__(self, *, base_url):
        self.chat = Chat(base_url)
