"""The native connector format: its document, its two spellings, and the way from a tool to a graph."""
