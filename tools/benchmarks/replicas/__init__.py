"""Several servers behind a balancer: load, faults, measurements, and a simulation of many more.

It takes the configuration in ``deploy/haproxy`` and this course's server; it returns what every request got, and writes
``tools/benchmarks/figures/replicas.json``. ``./run bench-replicas`` and the tests of ``deploy/`` import it.

- ``load`` sends requests and keeps what came of each.
- ``processes`` starts servers and the balancer, and signals them.
- ``faults`` restarts, kills and freezes a server while requests run.
- ``simulation`` is a queueing model of up to a thousand replicas.
- ``measuring`` takes all figures; ``results`` makes tables of them.
"""
