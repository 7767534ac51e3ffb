"""The linear algebra that methods use; it does not depend on any of them."""
