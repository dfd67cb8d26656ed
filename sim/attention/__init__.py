"""System A: tokens on S^2 under multi-head attention whose weights change with depth (arXiv 2605.18870)."""
