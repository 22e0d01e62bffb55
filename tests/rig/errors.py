"""The one exception of the rig."""


class RigError(RuntimeError):
    """Something the rig needs is missing, or a cluster did not do in time what was asked of it. The text names the remedy or the log file."""
