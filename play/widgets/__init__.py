"""The numbers of the book's interactive figures: the model on a text, packed for the browser.

Each function takes a text or its tokens, and returns an object for JSON. The server of the book starts
``python -m play.widgets`` as a process of its own, for it runs a learner's steps. The browser's
side is ``book/src/widgets/``.
"""
