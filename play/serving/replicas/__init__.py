"""Several servers as replicas of one Ray Serve application, with the interface of one.

It takes the options of one server and a number; it runs Ray Serve, which starts each server, asks whether it is well,
and gives requests to the one with the least to do. The command line imports ``start``. Ray has an environment of its
own, without MAX: ``application`` runs there, and imports nothing of this repository's but ``restarting``.
"""
