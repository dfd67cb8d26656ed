"""The map in plain NumPy float64, written from its formulas alone: what the fast kernels are measured against."""

import math

import numpy as np


def step(a, b, mu):
    """Phi_mu."""
    e = a * b - mu
    return a - e * b, b - e * a


def loop(a, b, mu, iterations, radius2=1e8, tolerance=1e-4):
    """Every orbit with a test at each step -> (a, b, k, label): label -1 escaped, 1 landed, 0 neither."""
    a, b = np.array(a, dtype=float), np.array(b, dtype=float)
    k, label = np.zeros(a.shape, dtype=int), np.zeros(a.shape, dtype=int)
    for count in range(iterations + 1):
        r2, e = a * a + b * b, a * b - mu
        label[(label == 0) & (r2 > radius2)] = -1
        label[(label == 0) & (np.abs(e) < tolerance) & (r2 > 8 * tolerance) & (r2 < 2 - 8 * tolerance)] = 1
        live = label == 0
        if count == iterations or not live.any():
            return a, b, k, label
        next_a, next_b = step(np.where(live, a, 0), np.where(live, b, 0), mu)
        a, b, k = np.where(live, next_a, a), np.where(live, next_b, b), k + live
    raise AssertionError("not reached")


def escape_limit(a, b, mu, steps=200):
    """lim k - log(log r_k^2 / log R^2)/log 3 with R = 1e4, by hand in logarithms: once |e| is huge, log|e| triples."""
    k = 0
    while abs(a * b - mu) < 1e30:
        a, b = step(a, b, mu)
        k += 1
        assert k < steps
    return k - math.log(math.log(abs(a * b - mu)) / math.log(1e8)) / math.log(3)
