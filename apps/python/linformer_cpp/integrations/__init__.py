"""The package inside other libraries. Each module imports its library, which is no dependency of this package."""
