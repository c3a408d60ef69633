"""All that knows MAX's serving interfaces: the architecture, its paged cache, the start of the server.

In come step 15's model and a checkpoint; out goes MAX's server. MAX imports ``architecture`` by its path, in a
process of its own. Only ``play.serving`` and the check of step 15 import it.
"""
