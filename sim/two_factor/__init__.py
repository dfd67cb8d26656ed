"""System B: the two-factor map Phi_mu, large-step gradient descent on a two-factor linear transformer (arXiv 2605.21292)."""
