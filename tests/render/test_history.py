"""Columns hold what was appended, in order, whatever the number of rows."""

import numpy as np

from render.history import History


def test_columns_hold_every_row_and_nan_for_what_has_no_meaning():
    history = History()
    for k in range(1000):
        history.append({"t": k / 8, "energy": None if k % 3 else float(k), "clusters": k})
    columns = history.columns()
    assert columns["t"].tolist() == [k / 8 for k in range(1000)]
    assert np.array_equal(np.isnan(columns["energy"]), np.arange(1000) % 3 > 0)
    assert columns["clusters"][-1] == 999 and history.newest == {"t": 999 / 8, "energy": 999.0, "clusters": 999}


def test_earlier_columns_stay_as_they_were_while_rows_are_added():
    history = History()
    history.append({"t": 0.0})
    seen = history.columns()["t"]
    for k in range(1, 200):
        history.append({"t": float(k)})
    assert seen.tolist() == [0.0] and len(history) == 200


def test_a_cleared_history_is_empty_and_may_be_filled_again():
    history = History()
    history.append({"t": 0.0})
    history.clear()
    assert history.columns() == {} and history.newest is None and len(history) == 0
    history.append({"mu": 2.0})
    assert history.columns()["mu"].tolist() == [2.0]
