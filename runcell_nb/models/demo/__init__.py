"""`local/demo`: an offline demo that answers plain file requests from a table. It is not a language model.

`gateway` speaks to the engine and `plan` reads a prompt; `phrases` is the table, `matching` looks in it,
`reading` and `writing` build the steps; `reads`, `writes`, `columns` and `host` do them with the ordinary
tools.
"""

from .gateway import NOTE, DemoModel

__all__ = ["NOTE", "DemoModel"]
