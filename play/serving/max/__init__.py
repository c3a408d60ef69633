"""Everything that uses MAX's serving interfaces: the architecture, its paged cache, the start of the server.

It takes step 15's model and a checkpoint; it starts MAX's server.
The command line and the check of step 15 import it; MAX imports ``architecture`` by its path.

Importing this package has an effect, the one exception in this repository: MAX runs the model in a process of its own,
where no entry point of ours comes before the import. So the import itself lets the steps run that the server has
chosen; where none were handed on (``play/chosen.py``) it changes nothing.
"""

from play.chosen import handed_on

handed_on().install()
