"""The picture and its sinks: views read a system's state and never step it; the player keeps the time."""

import os

os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")  # Taichi's import banner would go to stdout
