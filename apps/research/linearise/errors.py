"""Defines the exception that the command prints as an error line."""


class UserError(Exception):
    """An error of an input or an option. Its message says what is wrong and what to do about it."""
