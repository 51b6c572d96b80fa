"""Diagrams as pictures: layout, SVG, PNG.

What is drawn with is made of named tuples: data classes take ten times as long to make, and a
program that draws one picture has made them all for it.
"""
