"""The platform tools: what agents build connectors with. Each under the spec's name and under our own prefix."""

from __future__ import annotations

from typing import Final

from .bench import Bench
from .build import BUILD
from .deploy import DEPLOY
from .discover import DISCOVER
from .evaluate import RUN_EVAL
from .lint import LINT
from .tool import PlatformTool
from .upload import UPLOAD

__all__ = ["PLATFORM_TOOLS", "Bench", "PlatformTool"]

SPEC_TOOLS: Final = (UPLOAD, DISCOVER, BUILD, LINT, RUN_EVAL, DEPLOY)
PLATFORM_TOOLS: Final[tuple[PlatformTool, ...]] = (*SPEC_TOOLS, *(tool.under_our_name() for tool in SPEC_TOOLS))
