"""Everything that uses MAX's serving interfaces: the architectures, their paged cache, the start of the server.

It takes a checkpoint; it starts MAX's server.
The command line imports it; MAX imports ``gpt2`` or ``llama`` by its path.

Importing this package has an effect, the one exception in this repository: MAX runs the model in a process of its own,
where no entry point of ours comes before the import. So the import itself lets the steps run that the server has
chosen; if none were handed on (``play/mine/choice.py``), it changes nothing.
"""

from play.mine.choice import handed_on

handed_on().install()
