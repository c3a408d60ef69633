"""Draw: pieces of SVG that follow the page's theme, a preview of every figure, and a terminal.

In come lengths, labels and kinds, or what a command printed; out goes SVG as text. The figures of the book are made of
it, and the picture in README.md.
"""
