"""What the book's interactive figures show: numbers of the model on a text, as the browser gets them.

It takes a text or its tokens; it gives objects for JSON. The server of the book starts ``python -m play.widgets`` as a
process of its own, for it runs a learner's steps. The browser's side is ``book/src/widgets/``.
"""
