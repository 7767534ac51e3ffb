"""The stages around a method, one file each."""
