"""GPT-2, or a Llama, behind MAX's OpenAI-compatible server.

It takes a checkpoint and requests over HTTP; it returns texts, or a sentence that says what is wrong with a
request. The command line, step 15's check, the book and the project's tests import it.
"""
