"""``./run watch``: a check at every save, and keys.

Keys come in from ``keyboard``, and saves from ``saves``; ``watch`` has checks run in the background, and does what keys
ask for, such as opening ``editor``. Only ``cli.course_commands`` imports it.
"""
