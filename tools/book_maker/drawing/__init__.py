"""Draw: pieces of SVG that follow the page's theme, and a preview of every figure.

In come lengths, labels and kinds; out goes SVG as text. The figures of the book are made of it.
"""
