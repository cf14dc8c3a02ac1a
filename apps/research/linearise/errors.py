"""The one exception that the command reports as an error line."""


class UserError(Exception):
    """What is wrong with an input or an option, in one sentence that names the next step."""
