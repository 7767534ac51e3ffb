"""x."""
MUTANTS = ()
