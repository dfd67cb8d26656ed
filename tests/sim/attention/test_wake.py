"""The kept past: the right states at the right times, whatever was asked for before, and nothing beyond what it holds."""

import numpy as np
import pytest

from sim.attention import wake as module
from sim.attention.flow import AttentionFlow
from sim.attention.tokens import cloud
from sim.attention.wake import Wake
from sim.attention.weights import SCHEDULES


def flow(count=30, dt=0.05, precision="f64"):
    rng = np.random.default_rng(5)
    schedule = SCHEDULES["rotating"](heads=2, rng=rng, dt=dt, eigenvalues=(2.0, 0.5, 1.0), phases=[0, 0.6])
    return AttentionFlow(cloud("uniform", count, rng), schedule, dt=dt, precision=precision, track_balance=False)


def test_every_kept_state_is_the_clouds_at_its_time():
    system = flow()
    system.keep_wake(0.4)
    seen = {0: system.positions()}
    for k in range(1, 60):
        system.step()
        seen[k] = system.positions()
        kept = system.wake.until(system.time)
        clouds = system.wake.clouds.to_numpy()
        times = [time for _, time in kept]
        assert times == sorted(times) and times[-1] == pytest.approx(system.time)
        assert times[0] <= max(system.time - 0.4, 0) + 1e-9
        for row, time in kept:
            np.testing.assert_allclose(clouds[row], seen[round(time / 0.05)], atol=1e-7)


def test_a_moment_before_the_newest_state_sees_only_what_came_before_it():
    system = flow()
    system.keep_wake(0.4)
    for _ in range(20):
        system.step()
    times = [time for _, time in system.wake.until(0.97)]
    assert times[-1] == pytest.approx(0.95) and times[0] <= 0.57


def test_going_back_forgets():
    system = flow()
    system.keep_wake(1.0)
    for _ in range(10):
        system.step()
    system.reset()
    assert system.wake.until(0.0) == [(0, 0.0)]
    np.testing.assert_allclose(system.wake.clouds.to_numpy()[0], system.start, atol=1e-7)


def test_long_trails_of_many_tokens_keep_fewer_states(monkeypatch):
    monkeypatch.setattr(module, "SEGMENTS", 300)
    system = flow()
    system.keep_wake(2.0)  # 40 steps, at most 10 stretches of 30 tokens
    assert system.wake.stride == 4 and system.wake.slots <= 13
    for _ in range(30):
        system.step()
    assert np.allclose(np.diff([time for _, time in system.wake.until(system.time)]), 0.2)


def test_of_a_large_cloud_a_sample_leaves_trails(monkeypatch):
    monkeypatch.setattr(module, "TOKENS", 8)
    system = flow()
    system.wake = Wake(30, 0.05, 0.4, "f64")
    system.wake.restart(0, system.cloud)
    picked = system.wake.picked.to_numpy()
    assert len(set(picked)) == 8 and (np.diff(picked) > 0).all()
    np.testing.assert_allclose(system.wake.clouds.to_numpy()[0], system.start[picked], atol=1e-7)
