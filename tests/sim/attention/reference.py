"""System A once more, in plain float64 NumPy written from MATHS.md: slow, short, and independent of the program's kernels."""

import numpy as np


def tangent(x, v):
    """P_x v, row by row."""
    return v - (v * x).sum(axis=1, keepdims=True) * x


def head_fields(x, theta):
    """G_h(x_i) (H, N) and grad G at q_h = theta_h^T x_i (H, N, 3)."""
    q = np.einsum("hji,nj->hni", theta, x)
    e = np.exp(q @ x.T)
    return e.mean(axis=2), e @ x / len(x)


def energy(x, theta):
    """E = 1/2 mean_h mean_ij exp(<x_i, theta_h x_j>)."""
    return 0.5 * np.exp(np.einsum("ni,hij,mj->hnm", x, theta, x)).mean()


def velocity(x, theta, flow, sign, value=None):
    """v (N, 3), b (N,) and the energy's gradient g (N, 3); `value` (H, 3, 3) stands in for the leading theta_h in v."""
    G, dG = head_fields(x, theta)
    V = theta if value is None else value
    g = tangent(x, np.einsum("hij,hnj->hni", theta, dG).mean(axis=0))
    b = 1 / (1 / G).mean(axis=0)
    if flow == "softmax":
        v = tangent(x, np.einsum("hij,hnj->hni", V, dG / G[..., None]).mean(axis=0))
    else:
        v = tangent(x, np.einsum("hij,hnj->hni", V, dG).mean(axis=0))
        if flow == "gradient_flow":
            v = v / b[:, None]
    return sign * v, b, g


def rk4(x, theta_at, dt, steps, flow, sign, value=None):
    """Classical RK4 with projection; theta_at(half step) -> (H, 3, 3). Yields the cloud at every step, the start included."""

    def unit(y):
        return y / np.linalg.norm(y, axis=1, keepdims=True)

    yield x
    for k in range(steps):
        k1 = velocity(x, theta_at(2 * k), flow, sign, value)[0]
        k2 = velocity(unit(x + dt / 2 * k1), theta_at(2 * k + 1), flow, sign, value)[0]
        k3 = velocity(unit(x + dt / 2 * k2), theta_at(2 * k + 1), flow, sign, value)[0]
        k4 = velocity(unit(x + dt * k3), theta_at(2 * k + 2), flow, sign, value)[0]
        x = unit(x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        yield x


def symmetric_noise(rng, heads):
    """(xi + xi^T)/2 of every head."""
    xi = rng.standard_normal((heads, 3, 3))
    return (xi + xi.transpose(0, 2, 1)) / 2


def ou_path(theta0, M, kappa, sigma, dt, halves, rng):
    """theta' = M + a (theta - M) + sigma sqrt((1 - a^2) / (2 kappa)) (xi + xi^T)/2 at every half step, theta0 included."""
    kappa, sigma = (np.broadcast_to(value, len(theta0))[:, None, None] for value in (kappa, sigma))
    a = np.exp(-kappa * dt / 2)
    path = [theta0]
    for _ in range(halves):
        spread = sigma * np.sqrt((1 - a * a) / (2 * kappa))
        path.append(M + a * (path[-1] - M) + spread * symmetric_noise(rng, len(theta0)))
    return np.array(path)


def brute_clusters(x, cosine):
    """Single-linkage components by repeated merging, numbered by first token."""
    labels = np.arange(len(x))
    linked = ((x[:, None] - x[None]) ** 2).sum(axis=2) <= 2 - 2 * cosine
    changed = True
    while changed:
        lowest = np.where(linked, labels[None, :], len(x)).min(axis=1)
        changed = bool((lowest < labels).any())
        labels = np.minimum(labels, lowest)
    return np.unique(labels, return_inverse=True)[1]
