"""Formats of files, each in its own module; they are imported when a file of theirs is read."""
