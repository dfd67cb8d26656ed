"""What a scene may say, how it is read, and the scenes that ship. Imports no kernel of `sim` or `render`."""
