"""What may be wrong with the vectors themselves."""

from ctwl_protocol import CTWLError

__all__ = ["VectorsAltered"]


class VectorsAltered(CTWLError):
    """The vectors' files are not the ones that the manifest was signed for."""

    code = "vectors-altered"
