"""The picture and its sinks: views read a system's state and never step it; the player keeps the time."""
