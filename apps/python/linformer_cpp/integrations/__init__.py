"""Connects the package to other libraries. Each module imports its library, which isn't a dependency of this
package."""
