"""Diagrams as pictures: layout, SVG, PNG, text."""
