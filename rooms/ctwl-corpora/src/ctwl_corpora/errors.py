"""The errors of reading many texts; each derives from :class:`ctwl_decoder.DecoderError`."""

from __future__ import annotations

from ctwl_decoder import DecoderError


class RecordMalformed(DecoderError):
    """A record of a corpus cannot be parsed."""


class TextMissing(DecoderError):
    """A record of a corpus has no text where one was expected."""


class ScanSettingsDiffer(DecoderError):
    """A scan was begun with other inputs, options or arithmetic, so it cannot go on with these."""


class ScanRunning(DecoderError):
    """Another process works on the same output."""


class ClusterFailed(DecoderError):
    """The Ray cluster cannot be reached, or has given up."""
