"""Draw: pieces of SVG that follow the page's theme, and a terminal.

It takes lengths, labels and kinds, or what a command printed; it returns SVG as text. The figures of the book and the
picture in README.md are made with it.
"""
