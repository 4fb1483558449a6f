"""What a provider asks of the registry: a file in TOML, of which a draft of the registry is made.

    provider = 42
    name = "Example"
    contact = "https://provider.example/"

    [models]
    0 = "Example 1"

    [detector]
    scheme = "Ours"
    url = "https://provider.example/detect"

The file says what the entry should be. A provider sends it again, changed, for another contact, another detector or a
further model version. A detector that is left out is taken away. A model version that is left out does not end:
``retire`` ends it, with its day.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import Field

from ctwl_protocol.errors import RegistryError
from ctwl_protocol.registry import Contact, Detector, Name, ProviderCode, Registry, read_file
from ctwl_protocol.schema import Part, describe_error

from . import drafts

MAX_BYTES: Final = 16_384
"""The longest file that is read: sixteen model versions with the longest names need a third of it."""

_Number = Annotated[str, Field(pattern="^(0|[1-9][0-9]?)$")]
"""A model version: keys of TOML are strings. Which numbers there are, the registry's documents check."""


class Request(Part):
    """The entry that a provider asks for.

    Attributes:
        provider: the number, 0 to 1023.
        name: for people; it never changes.
        contact: a web page or a mail address.
        models: the names of the model versions, by their numbers.
        detector: the provider's own; None where there is none.
    """

    provider: ProviderCode
    name: Name
    contact: Contact
    models: dict[_Number, Name]
    detector: Detector | None = None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file.

        Raises:
            RegistryError: ``registry-unreadable``: it cannot be read; ``registry-malformed``: it is no such file.
        """
        try:
            return cls.model_validate(tomllib.loads(read_file(path, MAX_BYTES).decode("utf-8")))
        except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, or no such entry
            raise RegistryError("registry-malformed", f"{path}: {describe_error(error)}") from error

    @property
    def hosts(self) -> list[str]:
        """The hosts that the file names, in small letters, each once: who asks must own all of them."""
        named = [self.contact, self.detector.url if self.detector else self.contact]
        hosts = [each.removeprefix("https://").partition("/")[0].rpartition("@")[2].lower() for each in named]
        return list(dict.fromkeys(hosts))


def enter(registry: Registry, request: Request) -> Registry:
    """The registry with the provider as the request has it; the same one where nothing is new.

    Raises:
        RegistryError: ``code-reused``: the number has another owner, or an end; ``entry-altered``: a model version has
            another name; otherwise as :func:`~.drafts.add`.
    """
    code, owner = request.provider, registry.provider(request.provider)
    if owner is None:
        fields: dict[str, Any] = {"code": code, "name": request.name, "contact": request.contact, "since": None}
        registry = drafts.add(registry, "provider", state="active", until=None, models=[], epochs=[], **fields)
    elif (owner.name, owner.state) != (request.name, "active"):
        raise RegistryError("code-reused", f"provider {code} is {owner.name}, {owner.state}; take a free number")
    elif owner.contact != request.contact:
        registry = drafts.set_contact(registry, code, request.contact)
    if (owner.detector if owner else None) != request.detector:
        detector = request.detector.model_dump() if request.detector else None
        registry = drafts.set_detector(registry, code, detector)
    named = {model.version: model.name for model in owner.models} if owner else {}
    for version, name in sorted((int(version), name) for version, name in request.models.items()):
        if version not in named:
            fields = {"version": version, "name": name, "since": None, "until": None}
            registry = drafts.add(registry, "model", code=code, **fields)
        elif name != named[version]:
            what = f"model version {version} of provider {code} is {named[version]}; take a free version"
            raise RegistryError("entry-altered", what)
    return registry
