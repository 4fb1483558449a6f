"""What the wheel promises to export: a change here is a change of the interface."""

import ctwl_protocol


def test_the_exported_names() -> None:
    assert sorted(ctwl_protocol.__all__) == [
        "Beacon",
        "CTWLError",
        "Profile",
        "STANDARD",
        "get_profile",
        "load_profile",
        "published_names",
    ]
    assert all(hasattr(ctwl_protocol, name) for name in ctwl_protocol.__all__)
