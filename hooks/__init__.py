"""A package, so that no folder of that name elsewhere on the path is taken for it."""
