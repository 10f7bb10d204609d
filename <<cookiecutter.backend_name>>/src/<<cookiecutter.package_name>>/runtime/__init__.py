"""The reference device: the host CPU stands in for the accelerator.

``loader`` puts object code into memory, ``pool`` runs it over a grid, ``launcher`` turns a Python call into such a run,
``array`` holds data where there is no torch. A vendor who has a device replaces the first three and keeps their shape.
"""
