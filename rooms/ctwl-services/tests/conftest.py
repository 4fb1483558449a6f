"""What the services' tests share: proxies without an LM, a service, pages in a browser, a certificate."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from page_fixtures import *  # noqa: F403
from running_service import serving

from ctwl_protocol import Profile
from ctwl_protocol.proxy import Proxy, open_proxy


@pytest.fixture(scope="session")
def vanilla() -> Proxy:
    return open_proxy("org.ctwl.smollm2-135m.vanilla.1")


@pytest.fixture(scope="session")
def small(vanilla: Proxy) -> Proxy:
    """A private profile of few codes, so that scoring takes no time."""
    document = {**vanilla.profile.model_dump(), "code_bits": 10, "name": "org.example.small.1", "key": bytes(32)}
    return Proxy(Profile.model_validate(document), vanilla.tokenizer)


@pytest.fixture(scope="module")
def client(small: Proxy) -> Iterator[httpx.Client]:
    """A client of a service with the usual limits."""
    with serving(small) as found:
        yield found


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost and one.example, and its key, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    day, hosts = datetime.timedelta(days=1), [x509.DNSName(host) for host in ("localhost", "one.example")]
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path = tmp_path_factory.mktemp("tls") / "host.pem"
    secret = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    path.write_bytes(secret + builder.sign(key, hashes.SHA256()).public_bytes(pem))
    return path
