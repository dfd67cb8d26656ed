"""The mathematics: tokens on the sphere and the two-factor map. Imports nothing of the project but itself."""
