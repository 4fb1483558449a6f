"""The programs: ``ctwl-decode`` and its subcommands serve, scan, prove, verify and resolve."""
