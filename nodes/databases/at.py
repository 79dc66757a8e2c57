"""What the `query` and the `statement` kind share: an SQL text that runs whole in one database."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from ..base import Configuration, Context
from .dsn import Dsn, Tls, address


class AtDatabase(Configuration):
    """SQL in the database's own dialect. Each `:name` is bound to the argument of that name."""

    engine: Literal["postgres", "mysql"]
    dsn: str | None = Field(None, description="Address, such as postgresql://user:password@host/db; or {{ env:VAR }}")
    url: str | None = Field(None, description="The same as dsn")
    sql: str = Field(min_length=1)
    timeout_s: float = Field(30, gt=0, description="Seconds for the statement")
    tls: Tls | None = Field(None, description="Overrides the address's sslmode")

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if (self.dsn is None) == (self.url is None):
            raise ValueError("exactly one of 'dsn' and 'url' is needed")
        return self

    def where(self, context: Context) -> Dsn:
        """Raises CONFIG_INVALID and SECRET_MISSING."""
        text = self.dsn or self.url or ""
        return address(text, self.engine, context.secrets, (context.folder, *context.roots)).over(self.tls)
