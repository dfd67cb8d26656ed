"""The balanced line a = b of Phi_mu in closed form: phases and thresholds, periodic points, multipliers, windows.

On it x = a = b and x' = x (1 + mu - x^2); the error e = x^2 - mu obeys e' = F_mu(e) = e^3 + (mu - 2) e^2 + (1 - 2 mu) e.
mu > 0 throughout (mu < 0 is its mirror image, `phi.mirror`). Source: arXiv 2605.21292.
"""

import math

MU_MONOTONE = 2 * math.sqrt(2) - 2
"""Up to here |e| never rises on the balanced line (0.828427)."""
MU_CATAPULT = 1.0
"""Up to here part of the zero-error curve attracts."""
MU_PERIOD2 = math.sqrt(5) - 1
"""Up to here the orbit of period 2 attracts (1.236068)."""
MU_BOUNDED = 2.0
"""Up to here bounded orbits have positive area."""
MU_CRISIS = 3 * math.sqrt(3) / 2 - 1
"""From here on the two attractors x > 0 and x < 0 are one (1.598076)."""
