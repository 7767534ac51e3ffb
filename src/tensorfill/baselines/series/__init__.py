"""Methods with an autoregression along one mode, that of time: one file each."""
