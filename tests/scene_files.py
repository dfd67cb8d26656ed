"""Small scenes that the tests of the command line write to disk: drawn in a moment, and wrong in known ways."""

from pathlib import Path

GLOBE = """\
title: Test
seed: 3
system:
  kind: attention
  tokens: {count: 12}
  heads: 2
  weights: {kind: rotating, omega: 1.0, phases: [0, 0.6]}
  flow: gradient_flow
  dt: 0.05
view: {kind: globe}
film: {size: [96, 64], fps: 10, seconds: 0.5}
"""
PLANE = """\
title: Test
system: {kind: two_factor_plane, mu: 0.9, iterations: 60, precision: f64}
view: {kind: plane, color: escape, supersample: 1}
film: {size: [96, 64], fps: 10, seconds: 0.5}
timeline: [{at: 0, mu: 0.5}, {at: 0.4, mu: 2.5}]
"""
WRONG = """\
title: Test
system:
  kind: attention
  betta: 9
  dt: .nan
view: {kind: globe}
film: {size: [96, 64], fps: 10, seconds: 0.5}
"""
DIVERGES = GLOBE.replace("rotating, omega: 1.0, phases: [0, 0.6]", "static, theta: 1.0e+30")


def write(folder: Path, text: str, name: str = "scene.yaml") -> str:
    """The path of a new file with that text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)
