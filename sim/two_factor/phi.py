"""The two-factor map Phi_mu, once, for NumPy and for Taichi.

    e = a b - mu,   Phi_mu(a, b) = (a - e b, b - e a)        unit-step gradient descent on (1/2)(a b - mu)^2

The plain functions take floats or NumPy arrays of any shape, elementwise. Those under `ti_` are the same text compiled by
Taichi: elementwise on a scalar or on a vector of packed points, in f32 or f64, whatever the arguments are. They hold no
literal but integers, so nothing is rounded to f32 on the way, and no annotation, which Taichi would read as its own.
Source: arXiv 2605.21292.
"""

import taichi as ti


def error(a, b, mu):
    """e = a b - mu: the prediction's error. Zero on the curve of fixed points."""
    return a * b - mu


def phi(a, b, mu):
    """One step -> (a', b'). Exact symmetries in floating point too: (a, b) -> (b, a) and (a, b) -> (-a, -b)."""
    e = a * b - mu
    return a - e * b, b - e * a


def tangent(a, b, va, vb, mu):
    """The Jacobian of Phi_mu at (a, b) on the vector (va, vb) -> (va', vb')."""
    e = a * b - mu
    de = b * va + a * vb
    return va - de * b - e * vb, vb - de * a - e * va


def sharpness(a, b):
    """a^2 + b^2: on the zero-error curve the top eigenvalue of the loss's Hessian; stable below 2."""
    return a * a + b * b


ti_phi = ti.func(phi)
ti_tangent = ti.func(tangent)
ti_sharpness = ti.func(sharpness)
ti_error = ti.func(error)
