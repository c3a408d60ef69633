"""``--mine``: a learner's own steps in place of the solutions. ``choice`` says which, and ``stand_ins`` runs them."""
