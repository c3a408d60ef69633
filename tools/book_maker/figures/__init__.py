"""The figures of the book: a module for each chapter, in it a function for each figure, which returns SVG."""
