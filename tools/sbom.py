"""Write a bill of materials for each package: what it needs, at the versions that requirements.lock names and we test.

    python tools/sbom.py dist sbom

The format is CycloneDX 1.6, as JSON. The subject is the package, with the digests of its wheel and its sdist. The
components are all packages that it needs on this Python and system, without extras, and who needs whom: read from this
environment, which `make` installs from the lock. All times are the commit's, so two of one commit are the same bytes.
"""

from __future__ import annotations

import email
import re
import sys
import uuid
import zipfile
from datetime import UTC, datetime
from email.message import Message
from importlib import metadata
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from distributions import ROOT
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rebuild import commit_time, digests


class Packages:
    """What is known of packages: of ours by the wheels in a folder, of all others by this environment and the lock."""

    def __init__(self, folder: Path) -> None:
        self.own: dict[str, Message] = {}
        self.files: dict[str, list[str]] = {}
        built = digests(folder)
        for wheel in sorted(folder.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
                told = email.message_from_bytes(archive.read(name))
            ours, stem = canonicalize_name(told["Name"]), "-".join(wheel.name.split("-")[:2])
            self.own[ours] = told
            self.files[ours] = [digest for file, digest in built.items() if file.startswith((f"{stem}-", f"{stem}."))]
        lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        for name, rest in re.findall(r"^([\w.-]+)==(.*?)(?=^\S|\Z)", lock, re.M | re.S):
            self.files[canonicalize_name(name)] = re.findall(r"sha256:(\w+)", rest)

    def told(self, name: str) -> Message:
        """A package's metadata."""
        return self.own[name] if name in self.own else metadata.metadata(name)  # type: ignore[return-value]

    def needs(self, name: str) -> dict[str, set[str]]:
        """Who needs whom, from one package on; an extra counts where somebody asks for it."""
        graph: dict[str, set[str]] = {}
        asked, done = [(name, "")], set[tuple[str, str]]()
        while asked:
            if (ask := asked.pop()) in done:
                continue
            done.add(ask)
            each, extra = ask
            wanted = graph.setdefault(each, set())
            for line in self.told(each).get_all("Requires-Dist", []):
                required = Requirement(line)
                if required.marker is None or required.marker.evaluate({"extra": extra}):
                    wanted.add(canonicalize_name(required.name))
                    asked += [(canonicalize_name(required.name), part) for part in ("", *required.extras)]
        return graph

    def component(self, name: str) -> Component:
        """A package of PyPI, with a digest for each of its files."""
        told = self.told(name)
        purl = PackageURL("pypi", None, name, told["Version"])
        page = XsUri(f"https://pypi.org/project/{name}/{told['Version']}/")
        files = [HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in self.files[name]]
        source = ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=page, hashes=files)
        licence = [LicenseExpression(told["License-Expression"])] if told["License-Expression"] else []
        return Component(
            name=name,
            version=told["Version"],
            purl=purl,
            bom_ref=str(purl),
            licenses=licence,
            external_references=[source],
        )


def bill(packages: Packages, name: str, when: datetime) -> str:
    """The bill of materials of one of our packages."""
    graph = packages.needs(name)
    components = {each: packages.component(each) for each in sorted(graph)}
    subject = components[name]
    bom = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, " ".join(packages.files[name])),
        metadata=BomMetaData(component=subject, timestamp=when),
        components=[each for each in components.values() if each is not subject],
    )
    for each, wanted in graph.items():
        bom.register_dependency(components[each], [components[one] for one in sorted(wanted)])
    return str(JsonV1Dot6(bom).output_as_string(indent=2)) + "\n"


def main(folder: Path, out: Path) -> None:
    """Write a file for each wheel in the folder."""
    packages = Packages(folder)
    when = datetime.fromtimestamp(int(commit_time()["SOURCE_DATE_EPOCH"]), UTC)
    out.mkdir(exist_ok=True)
    for name, told in packages.own.items():
        (out / f"{name.replace('-', '_')}-{told['Version']}.cdx.json").write_text(
            bill(packages, name, when), encoding="utf-8", newline="\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
