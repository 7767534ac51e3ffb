"""What tensorfill has, by name: plain data, so that help can list it without importing any of it.

An entry says where something is, as ``"module:attribute"`` within tensorfill. `Registry` imports it when it is first
asked for.
"""

from __future__ import annotations

from typing import NamedTuple

METHODS = {
    "nort": ("methods.nort:Nort", "NORT"),
    "grow": ("methods.grow:Grow", "Growth by least squares"),
    "cp": ("methods.cp:CP", "CP"),
    "cp_means": ("methods.cp_means:CPMeans", "CP of what is expected"),
    "calibrated": ("methods.calibrated:Calibrated", "Calibrated least squares"),
    "softimpute": ("methods.softimpute:SoftImpute", "SoftImpute"),
    "tucker_als": ("methods.tucker_als:TuckerAls", "Tucker by alternating least squares"),
    "tucker": ("baselines.factorised.tucker:TuckerDescent", "Tucker by gradient steps"),
    "tmac": ("baselines.factorised.tmac:Tmac", "TMac"),
    "tmac_tt": ("baselines.factorised.tmac_tt:TmacTT", "TMac-TT"),
    "trlrf": ("baselines.factorised.trlrf:Trlrf", "TRLRF"),
    "pa_apg": ("baselines.overlapped.proximal:PaApg", "PA-APG"),
    "gdpan": ("baselines.overlapped.proximal:Gdpan", "GDPAN"),
    "admm": ("baselines.overlapped.admm:Admm", "ADMM"),
    "lrtc": ("baselines.overlapped.admm:Lrtc", "LRTC"),
    "halrtc": ("baselines.overlapped.admm:Halrtc", "HaLRTC"),
    "falrtc": ("baselines.overlapped.falrtc:Falrtc", "FaLRTC"),
    "rtdgc": ("baselines.overlapped.rtdgc:Rtdgc", "RTDGC"),
    "tennn": ("baselines.tubal:Tennn", "the tubal nuclear norm"),
    "seasonal_ar": ("methods.seasonal_ar:SeasonalAR", "a joint seasonal autoregression"),
    "latc": ("baselines.series.latc:Latc", "LATC"),
    "trmf": ("baselines.series.trmf:Trmf", "TRMF"),
    "rp": ("baselines.riemannian.method:RP", "Tucker by Riemannian conjugate gradients"),
    "ffw": ("baselines.latent.ffw:Ffw", "FFW"),
    "greedy": ("baselines.latent.greedy:Greedy", "greedy terms"),
    "trmm": ("baselines.latent.trmm:Trmm", "TRMM"),
    "rescal": ("methods.rescal:Rescal", "RESCAL"),
    "smoothed_nort": ("methods.nort:SmoothedNort", "NORT with a smoothed loss"),
}
"""The class of each method, and what readers call it."""

ALIASES = {"cp_wopt": "cp"}
"""Other names that methods are known by."""

AUTOMATIC = ("grow", "nort")
"""The methods that ``method="auto"`` tries, in this order: the second if the first leaves something to find."""

FURTHER = ("cp", "lrtc")
"""The methods that it tries after these if nothing at all is given, where data is small enough. They seldom win, but
they err in other ways, so that a blend gains by them."""

AUTOMATIC_FOR_SCORES = ("cp", "cp_means", "calibrated", "nort")
"""What it tries for a loss whose prediction is a score; of much data, the last two only."""

COMPARED = ("nort", "grow", "cp", "softimpute")
"""The methods that a comparison has by default."""

PENALTIES = {
    "nuclear": "penalties.elementwise:Nuclear",
    "capped_l1": "penalties.elementwise:CappedL1",
    "lsp": "penalties.elementwise:LSP",
    "tnn": "penalties.truncated:TNN",
    "scad": "penalties.elementwise:SCAD",
    "mcp": "penalties.elementwise:MCP",
}
"""The class of each penalty."""

LOSSES = {
    "square": "losses.smooth:Square",
    "huber": "losses.smooth:Huber",
    "logistic": "losses.smooth:Logistic",
    "poisson": "losses.smooth:Poisson",
}
"""The class of each smooth loss."""

ROBUST = {"l1": PENALTIES["nuclear"]} | {name: PENALTIES[name] for name in ("capped_l1", "lsp", "mcp", "scad")}
"""The class of the penalty whose kappa makes a robust loss, by the name of the loss."""


STAGES = {
    "scale": "choosing.stages.scale:Scale",
    "present": "choosing.stages.present_slices:PresentSlices",
    "laplacian": "choosing.stages.graphs:Graphs",
    "merge": "choosing.stages.merge:Merge",
    "fold": "choosing.stages.fold:Fold",
    "centre": "choosing.stages.centre:Centre",
    "whiten": "choosing.stages.whiten:Whiten",
    "refine": "choosing.stages.polish:Polish",
    "smooth": "choosing.stages.smooth_field:SmoothField",
    "fill": "choosing.stages.empty_slices:EmptySlices",
}
"""The class of each stage around a method, in the order in which they are done."""


class Format(NamedTuple):
    """A file format.

    Parameters
    ----------
    summary
        What it is, in a few words.
    extensions
        Its file endings.
    read, write
        From a `Source` to `Labelled`, and from a path and `Content` to a file; further keywords are its options.
    check
        Raises an error if the format cannot hold the shape, the type or the labels of a tensor, if there are such.
    modules
        The optional modules that it needs.
    extra
        The extra of tensorfill that installs them.
    """

    summary: str
    extensions: tuple[str, ...]
    read: str
    write: str
    check: str | None = None
    modules: tuple[str, ...] = ()
    extra: str = "files"


FORMATS = {
    "tns": Format("FROSTT, sparse", (".tns", ".tns.gz"), "io.frostt:read", "io.frostt:write"),
    "npz": Format(
        "numpy arrays, or sparse", (".npz",), "io.arrays:read_npz", "io.arrays:write_npz", "io.arrays:check_npz"
    ),
    "npy": Format("numpy array", (".npy",), "io.arrays:read_npy", "io.arrays:write_npy"),
    "mat": Format("MATLAB up to v7", (".mat",), "io.matlab:read", "io.matlab:write", "io.matlab:check"),
    "netcdf": Format(
        "NetCDF", (".nc", ".nc4", ".cdf"), "io.netcdf:read", "io.netcdf:write", "io.netcdf:check",
        ("xarray", "netCDF4"), "files",
    ),
    "csv": Format(
        "table, long or wide", (".csv", ".csv.gz"), "io.tables:read_csv", "io.table_writing:write_csv",
        "io.table_writing:check_table", ("pandas",), "files",
    ),
    "tsv": Format(
        "table, long or wide", (".tsv", ".tsv.gz"), "io.tables:read_tsv", "io.table_writing:write_tsv",
        "io.table_writing:check_table", ("pandas",), "files",
    ),
    "parquet": Format(
        "table, long or wide", (".parquet", ".pq"), "io.tables:read_parquet", "io.table_writing:write_parquet",
        "io.table_writing:check_parquet", ("pandas", "pyarrow"), "files",
    ),
    "picture": Format(
        "picture", (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"), "io.pictures:read", "io.pictures:write",
        "io.pictures:check", ("PIL.Image",), "images",
    ),
    "movie": Format(
        "movie", (".mp4", ".avi"), "io.movies:read", "io.movies:write", "io.movies:check", ("av",), "movies"
    ),
    "gif": Format(
        "movie of 256 colours", (".gif",), "io.movies:read", "io.movies:write", "io.movies:check", ("PIL.Image",),
        "images",
    ),
    "triples": Format("head<TAB>relation<TAB>tail", (), "io.triples:read", "io.triples:write", "io.triples:check"),
}  # fmt: skip
"""Every file format."""

ADAPTERS = {
    "observations": "adapters.arrays:OBSERVATIONS",
    "xarray.DataArray": "adapters.xarrays:DATA_ARRAY",
    "xarray.Dataset": "adapters.xarrays:DATASET",
    "table": "adapters.frames:TABLE",
    "other table": "adapters.frames:OTHER_TABLE",
    "scipy.sparse": "adapters.sparse_arrays:SCIPY",
    "sparse": "adapters.sparse_arrays:SPARSE",
    # numpy makes an array of anything else, or refuses it.
    "array": "adapters.arrays:ARRAY",
}
"""The kinds of data; the first that accepts the data reads it."""

RESTORERS = {
    "xarray.DataArray": "adapters.xarrays:ToDataArray",
    "xarray.Dataset": "adapters.xarrays:ToDataset",
    "table": "adapters.tables:ToTable",
    "wide table": "adapters.wide_tables:ToWideTable",
}
"""The classes that turn an array back into the kind of object that was given, by their name in a file."""
