"""What stands in front of MAX's application: ids, keys, limits, an end for every request, and answers to probes.

It takes requests as ASGI messages and passes those on that the model can answer now; it answers all others itself, with
a status, a sentence and what to do. It knows no name of MAX's. ``stack`` puts the parts together, and says in which
order. ``play/serving/life.py``, the metrics, ``play/serving/max`` and the tests import it.
"""
