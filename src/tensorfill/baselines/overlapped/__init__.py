"""Methods with a penalty on the singular values of several unfoldings, on the whole tensor."""
