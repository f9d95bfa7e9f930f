"""A generated seller behind an OpenAI-compatible endpoint (`POST <base>/chat/completions`).

The raw output that is recorded is the message's content, byte for byte; replay begins there. Address and key
are given here and are no part of a run. Where no content comes back the attempt has failed, with the reason:

    timeout       no answer in time
    unreachable   no connection, or one that broke
    http_error    a status other than 200
    malformed     an answer without a message, or too long

    seller = EndpointSeller("http://localhost:8000/v1", key=None)
    plans = {"model": ArmPlan(replace(setting, model=Endpoint(model="small")), seller=seller)}

`httpx` is imported when the first seller is made (extra `core` or `reference`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agentbeat_protocol import JSONError, read_json
from agentbeat_receipts.canonical import canonical_bytes
from agentbeat_receipts.domains.market.materials import Endpoint
from agentbeat_receipts.domains.market.policies import amount_text
from agentbeat_receipts.domains.market.sellers import Enquiry, NoAnswer
from agentbeat_receipts.domains.market.settings import Setting

if TYPE_CHECKING:
    import httpx

__all__ = ["EndpointSeller", "chat_request"]

#: The longest response, in bytes, and how long to wait for it, in seconds.
MAX_RESPONSE: Final = 1_048_576
DEFAULT_TIMEOUT: Final = 60.0


class EndpointSeller:
    """Asks an endpoint for each answer. Close it after use; it is a context manager.

    Args:
        base_url: the endpoint's base, such as `https://host/v1`.
        key: sent as a bearer token; None for none. It stands in no error and no record.
        timeout: of one answer, in seconds.
        transport: another way to send, for tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        import httpx

        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        self._client = httpx.Client(
            base_url=base_url.rstrip("/") + "/",
            headers=headers,
            timeout=timeout,
            transport=transport,
            follow_redirects=False,
        )

    def __enter__(self) -> EndpointSeller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def answer(self, enquiry: Enquiry) -> bytes:
        """The content of the model's message.

        Raises:
            NoAnswer: with one of the reasons above.
            TypeError: the setting's model is no endpoint.
        """
        import httpx

        request = chat_request(enquiry)
        try:
            with self._client.stream("POST", "chat/completions", json=request) as response:
                if response.status_code != httpx.codes.OK:
                    raise NoAnswer("http_error")
                body = bytearray()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_RESPONSE:
                        raise NoAnswer("malformed")
        except httpx.TimeoutException:
            raise NoAnswer("timeout") from None
        except httpx.HTTPError:
            raise NoAnswer("unreachable") from None
        return _content(bytes(body))


def chat_request(enquiry: Enquiry) -> dict[str, Any]:
    """What is sent: the arm's prompt with the catalogue and the form of an answer, and the visible brief."""
    setting = enquiry.setting
    if not isinstance(setting.model, Endpoint):
        raise TypeError(f"the model of a {type(setting.model).__name__}, expected an endpoint's")
    return {
        "model": setting.model.model,
        "messages": [
            {"role": "system", "content": f"{setting.prompt.text}\n\n{_instructions(setting)}"},
            {"role": "user", "content": canonical_bytes(enquiry.brief).decode()},
        ],
        "max_tokens": setting.model.max_tokens,
        "temperature": float(setting.model.temperature),
        "seed": int.from_bytes(enquiry.seed[:4], "big") >> 1,
    }


def _instructions(setting: Setting) -> str:
    exponent, currency = setting.normaliser.exponent, setting.normaliser.currency
    costs = ", ".join(
        f"{name} {amount_text(cost, exponent)}" for name, cost in sorted(setting.catalogue.costs.items())
    )
    offer = '"components": ["<component>"], "price": "<amount>"'
    if setting.schema.form == "itemised":
        offer = '"prices": {"<component>": "<amount>"}'
    return (
        f"You sell these components; what each costs you, in {currency}: {costs}. The guest's enquiry is "
        f"JSON with amounts in units of 10^{exponent} {currency}. Answer in JSON only, with at most "
        f"{setting.schema.max_offers} offers and amounts in {currency}: "
        f'{{"offers": [{{{offer}, "surcharge": "<amount>"}}], "note": "<text>"}}'
    )


def _content(body: bytes) -> bytes:
    try:
        answer = read_json(body)
    except JSONError:
        raise NoAnswer("malformed") from None
    match answer:
        case {"choices": [{"message": {"content": str() as content}}, *_]}:
            return content.encode()
        case {"choices": [{"message": {"content": None}}, *_]}:
            return b""
    raise NoAnswer("malformed")
