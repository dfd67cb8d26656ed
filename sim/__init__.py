"""The mathematics: tokens on the sphere and the two-factor map. Imports nothing of the project but itself."""

import os

os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")  # Taichi's import banner would go to stdout
