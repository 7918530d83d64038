//! Exporters of run records: terminal, JSON, CSV, HTML.
