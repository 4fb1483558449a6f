"""The programs: ``ctwl-decode`` and its subcommands serve, scan, page, prove, verify and resolve."""
