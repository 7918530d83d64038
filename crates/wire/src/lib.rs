//! Frame formats, one file per protocol, as checked views.
