"""Reading and writing files; nothing else in the package, but for the data sets, touches a path."""
